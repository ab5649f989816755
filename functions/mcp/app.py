"""The Lambda function `mcp`."""

from lamina.runtime.mcp import mcp

handler = mcp()
