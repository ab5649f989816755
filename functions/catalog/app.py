"""The Lambda function `catalog`."""

from lamina.actions.catalog import ACTION
from lamina.runtime.adapter import adapt

handler = adapt(ACTION)
