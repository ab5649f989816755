"""MCP frames, and posting them to the local gateway as a client would."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.corpora import Deployed
from tests.transports import Reply, exchange

from lamina.mcp.frames import CAPABILITIES_KEY, CLIENT_KEY, STATELESS, VERSION_KEY

Frame = dict[str, Any]
_NAMED_BY = {"tools/call": "name", "resources/read": "uri"}


def request(method: str, **params: Any) -> Frame:
    """A request of the revisions with a handshake."""
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def stateless(method: str, **params: Any) -> tuple[Frame, dict[str, str]]:
    """A request of the stateless revision, and the headers that go with it."""
    meta = {VERSION_KEY: STATELESS, CAPABILITIES_KEY: {}, CLIENT_KEY: {"name": "a-client", "version": "1"}}
    headers = {"mcp_protocol_version": STATELESS, "mcp_method": method}
    if method in _NAMED_BY:
        headers["mcp_name"] = params[_NAMED_BY[method]]
    return request(method, **params, _meta=meta), headers


def post(address: tuple[str, int], deployed: Deployed, frame: Any, **headers: str) -> Reply:
    """Posts a frame; bytes go as they are. `Reply.envelope` is the frame that came back."""
    body = frame if isinstance(frame, bytes) else json.dumps(frame).encode()
    return exchange(address, deployed, "POST", "/mcp", body, **headers)


def call(address: tuple[str, int], deployed: Deployed, tool: str, arguments: Mapping[str, Any]) -> Frame:
    """The result of a tool."""
    reply = post(address, deployed, request("tools/call", name=tool, arguments=dict(arguments)))
    assert reply.status == 200
    result: Frame = reply.envelope["result"]
    return result
