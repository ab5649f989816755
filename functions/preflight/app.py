"""The Lambda function `preflight`."""

from lamina.actions.preflight import ACTION
from lamina.runtime.adapter import adapt

handler = adapt(ACTION)
