"""The Lambda function `mcp`."""

from lamina.index.collector import collector_resting

with collector_resting():
    from lamina.runtime.mcp import mcp

handler = mcp()
