"""The Lambda function `knowledge`."""

from lamina.index.collector import collector_resting

with collector_resting(stays=True):
    from lamina.runtime.knowledge import knowledge

handler = knowledge()
