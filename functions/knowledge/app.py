"""The Lambda function `knowledge`."""

from lamina.runtime.knowledge import knowledge

handler = knowledge()
