"""The Lambda function `indexer`."""

from lamina.runtime.indexer import indexer

handler = indexer()
