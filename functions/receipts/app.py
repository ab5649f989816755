"""The Lambda function `receipts`."""

from lamina.runtime.receipts import receipts

handler = receipts()
