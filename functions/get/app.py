"""The Lambda function `get`."""

from lamina.actions.get import ACTION
from lamina.runtime.adapter import adapt

handler = adapt(ACTION)
