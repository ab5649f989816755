"""The Lambda function `mcp`."""

from lamina.index.collector import collector_resting

with collector_resting(stays=True):
    from lamina.mcp.endpoint import mcp

handler = mcp()
