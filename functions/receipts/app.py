"""The Lambda function `receipts`."""

from lamina.index.collector import collector_resting

with collector_resting(stays=True):
    from lamina.http.receipts import receipts

handler = receipts()
