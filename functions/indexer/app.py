"""The Lambda function `indexer`."""

from lamina.index.collector import collector_resting

with collector_resting():
    from lamina.runtime.indexer import indexer

handler = indexer()
