"""The Lambda function `receipts`."""

from lamina.index.collector import collector_resting

with collector_resting():
    from lamina.runtime.receipts import receipts

handler = receipts()
