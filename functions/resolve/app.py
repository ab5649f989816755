"""The Lambda function `resolve`."""

from lamina.actions.resolve import ACTION
from lamina.runtime.adapter import adapt

handler = adapt(ACTION)
