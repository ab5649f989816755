"""The Lambda function `baseline_check`."""

from lamina.actions.baseline_check import ACTION
from lamina.runtime.adapter import adapt

handler = adapt(ACTION)
