"""The Lambda function `indexer`."""

from lamina.index.collector import collector_resting

with collector_resting(stays=True):
    from lamina.indexer.handler import indexer

handler = indexer()
