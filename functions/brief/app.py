"""The Lambda function `brief`."""

from lamina.index.collector import collector_resting

with collector_resting(stays=True):
    from lamina.actions.brief import ACTION
    from lamina.runtime.adapter import adapt

handler = adapt(ACTION)
