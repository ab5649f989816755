"""MCP frames as no client should send them: each gets a JSON-RPC answer, or none where none is due, never a fault."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.conftest import Corpus
from tests.transports import handler_of, stand_before

from lamina.contract.envelope import compact
from lamina.local.stdio import Session
from lamina.mcp.frames import CAPABILITIES_KEY, CLIENT_KEY, VERSION_KEY, VERSIONS
from lamina.runtime.wiring import wire

METHODS = (
    "initialize",
    "ping",
    "server/discover",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "notifications/initialized",
    "prompts/get",
)
TOOLS = ("oddkit_search", "oddkit_catalog", "oddkit_preflight", "oddkit_get", "oddkit_resolve", "oddkit", "brief")

text = st.text(max_size=6) | st.sampled_from(["", "\ud800", "\x00", "rill://README", "gauge battery", "WzAsICJ4Il0="])
junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)
meta = st.fixed_dictionaries(
    {},
    optional={
        VERSION_KEY: st.sampled_from(VERSIONS) | junk,
        CAPABILITIES_KEY: st.just({}) | junk,
        CLIENT_KEY: st.just({"name": "a-client", "version": "1"}) | junk,
    },
)
parameters = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from([*TOOLS, "knowledge"]) | junk,
        "arguments": st.dictionaries(
            st.sampled_from(["query", "uri", "task", "action", "input", "limit", "schema", "operation"]) | text,
            junk | st.sampled_from(["search", "get", "gauge", 3]),
            max_size=3,
        )
        | junk,
        "uri": text | junk,
        "cursor": text | junk,
        "protocolVersion": st.sampled_from(VERSIONS) | junk,
        "clientInfo": junk,
        "_meta": meta | junk,
    },
)
frames = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | junk,
        "id": st.integers() | text | junk,
        "method": st.sampled_from(METHODS) | text | junk,
        "params": parameters | junk,
        "result": junk,
        "error": junk,
    },
)
calls = st.builds(
    lambda method, params: {"jsonrpc": "2.0", "id": 1, "method": method, "params": params},
    st.sampled_from(METHODS),
    parameters,
)
any_frame = frames | calls | junk
headers = st.fixed_dictionaries(
    {},
    optional={
        "mcp-protocol-version": st.sampled_from(VERSIONS) | st.text(max_size=5),
        "Mcp-Method": st.sampled_from(METHODS),
        "Mcp-Name": st.sampled_from([*TOOLS, "=?base64?b2Rka2l0?=", "=?base64?\xff?="]),
        "accept": st.sampled_from(["*/*", "application/json", "text/event-stream", "application/json;q=0", ";;,q=x"]),
        "origin": st.sampled_from(["http://localhost:3", "https://evil.example", "null", "http://[", ""]),
        "content-type": st.sampled_from(["application/json", "text/plain", "application/json; charset=utf-8", ";"]),
    },
)


def is_answer(frame: Any) -> bool:
    """Whether a value is one well-formed response."""
    if not isinstance(frame, dict) or frame["jsonrpc"] != "2.0" or "id" not in frame:
        return False
    if "result" in frame:
        return isinstance(frame["result"], dict)
    error = frame["error"]
    return isinstance(error["code"], int) and isinstance(error["message"], str) and error["code"] != -32603


@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
@given(frame=any_frame | st.lists(any_frame, max_size=3), sent=headers)
def test_any_frame_over_http_gets_a_json_rpc_answer(sample: Corpus, frame: Any, sent: dict[str, str]) -> None:
    stand_before(sample.deployed)
    event = {"httpMethod": "POST", "path": "/mcp", "headers": sent, "body": json.dumps(frame)}
    answer = handler_of("mcp")(event, None)
    assert answer["statusCode"] < 500
    assert answer["headers"]["X-Content-Type-Options"] == "nosniff"
    answer["body"].encode()
    if answer["statusCode"] == 202:
        assert answer["body"] == ""
        return
    told = json.loads(answer["body"].removeprefix("event: message\ndata: "))
    assert all(map(is_answer, told if isinstance(told, list) else [told])), told


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(lines=st.lists((any_frame | st.lists(any_frame, max_size=3)).map(json.dumps) | st.text(max_size=20), max_size=4))
def test_any_lines_over_stdio_get_answers_and_the_session_goes_on(sample: Corpus, lines: list[str]) -> None:
    stand_before(sample.deployed)
    session = Session(wire())
    for line in lines:
        told = session.reply(line.encode("utf-8", "replace"))
        if told is not None:
            compact(told)
            assert all(map(is_answer, told if isinstance(told, list) else [told])), told
    ping = session.reply(b'{"jsonrpc":"2.0","id":"last","method":"ping"}')
    assert ping == {"jsonrpc": "2.0", "id": "last", "result": {}}
