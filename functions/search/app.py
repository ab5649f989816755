"""The Lambda function `search`."""

from lamina.actions.search import ACTION
from lamina.runtime.adapter import adapt

handler = adapt(ACTION)
