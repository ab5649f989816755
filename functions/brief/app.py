"""The Lambda function `brief`."""

from lamina.actions.brief import ACTION
from lamina.runtime.adapter import adapt

handler = adapt(ACTION)
