"""The Lambda function `baseline_check`."""

from lamina.index.collector import collector_resting

with collector_resting(stays=True):
    from lamina.actions.baseline_check import ACTION
    from lamina.runtime.adapter import adapt

handler = adapt(ACTION)
