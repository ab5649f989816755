"""MCP frames over HTTP: both eras, and for every odd frame what the protocol says of it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.conftest import Corpus
from tests.mcp.post import Frame, post, request, stateless
from tests.transports import exchange, handler_of, stand_before

from lamina.contract.request import MAX_BATCH, MAX_BODY_BYTES
from lamina.local.stdio import Session
from lamina.mcp.endpoint import accepts, is_allowed_origin
from lamina.mcp.frames import CAPABILITIES_KEY, HANDSHAKE, STATELESS, VERSION_KEY, VERSIONS
from lamina.runtime.settings import Settings

Address = tuple[str, int]

PING = request("ping")
NOTICE = {"jsonrpc": "2.0", "method": "notifications/initialized"}
DEEP = b"[" * 10_000 + b"]" * 10_000
DEEP_INSIDE = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b'{"a":' * 10_000 + b"1" + b"}" * 10_001


# What is posted, under which headers, and the status and JSON-RPC error code that it gets; None is no error.
ODD: dict[str, tuple[Any, dict[str, str], int, int | None]] = {
    "a notification": (NOTICE, {}, 202, None),
    "a notification of a call": ({k: v for k, v in PING.items() if k != "id"}, {}, 202, None),
    "a notification of an unknown revision": (NOTICE, {"mcp_protocol_version": "1999-01-01"}, 400, -32022),
    "a response": ({"jsonrpc": "2.0", "id": 1, "result": {}}, {}, 202, None),
    "an error response": ({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "x"}}, {}, 202, None),
    "no JSON": (b"{", {}, 400, -32700),
    "nothing": (b"", {}, 400, -32700),
    "no UTF-8": (b'{"jsonrpc":"\xff"}', {}, 400, -32700),
    "NaN": (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":NaN}}', {}, 400, -32700),
    "a number of 10,000 digits": (b'{"jsonrpc":"2.0","id":' + b"9" * 10_000 + b"}", {}, 400, -32700),
    "nesting 10,000 deep": (DEEP, {}, 400, -32700),
    "params 10,000 deep": (DEEP_INSIDE, {}, 400, -32700),
    "a string": ("ping", {}, 400, -32600),
    "null": (None, {}, 400, -32600),
    "an empty object": ({}, {}, 400, -32600),
    "no jsonrpc": ({"id": 1, "method": "ping"}, {}, 400, -32600),
    "another jsonrpc": ({"jsonrpc": "1.0", "id": 1, "method": "ping"}, {}, 400, -32600),
    "a method that is no text": ({**PING, "method": 7}, {}, 400, -32600),
    "an id that is null": ({**PING, "id": None}, {}, 400, -32600),
    "an id that is a list": ({**PING, "id": [1]}, {}, 400, -32600),
    "an id that is a boolean": ({**PING, "id": True}, {}, 400, -32600),
    "an id with a fraction": ({**PING, "id": 1.5}, {}, 400, -32600),
    "params that are a list": ({**PING, "params": [1]}, {}, 200, -32602),
    "params that are null": ({**PING, "params": None}, {}, 200, None),
    "_meta that is a list": ({**PING, "params": {"_meta": [1]}}, {}, 200, None),
    "an unknown method": (request("no/such"), {}, 200, -32601),
    "a method that is not served": (request("roots/list"), {}, 200, -32601),
    "an unknown revision": (PING, {"mcp_protocol_version": "1999-01-01"}, 400, -32022),
    "a revision with a handshake": (PING, {"mcp_protocol_version": "2025-06-18"}, 200, None),
    "a call without a name": (request("tools/call", arguments={}), {}, 200, -32602),
    "a call by a number": (request("tools/call", name=1), {}, 200, -32602),
    "arguments that are a list": (request("tools/call", name="oddkit_search", arguments=[]), {}, 200, -32602),
    "arguments that are null": (request("tools/call", name="oddkit_catalog", arguments=None), {}, 200, None),
    "a cursor that is none": (request("tools/list", cursor="abc"), {}, 200, -32602),
    "initialize without a version": (request("initialize"), {}, 200, -32602),
    "a batch": ([PING], {"mcp_protocol_version": "2025-03-26"}, 200, None),
    "a batch without a revision": ([PING], {}, 200, None),
    "a batch of a later revision": ([PING], {"mcp_protocol_version": "2025-06-18"}, 400, -32600),
    "a batch of the stateless revision": ([PING], {"mcp_protocol_version": STATELESS}, 400, -32600),
    "an empty batch": ([], {}, 400, -32600),
    "a batch of too many": ([PING] * (MAX_BATCH + 1), {}, 400, -32600),
    "a batch of notifications": ([NOTICE, NOTICE], {}, 202, None),
    "a body over the limit": (b'{"a":"' + b"x" * MAX_BODY_BYTES + b'"}', {}, 413, -32600),
    "a form": (PING, {"content_type": "application/x-www-form-urlencoded"}, 415, -32600),
    "text": (PING, {"content_type": "text/plain"}, 415, -32600),
    "JSON with a character set": (PING, {"content_type": "Application/JSON; charset=utf-8"}, 200, None),
    "an Accept that rules JSON out": (PING, {"accept": "application/json;q=0, */*"}, 406, -32600),
    "an Accept of both": (PING, {"accept": "application/json, text/event-stream"}, 200, None),
    "an Accept of anything": (PING, {"accept": "*/*"}, 200, None),
    "an Accept that is empty": (PING, {"accept": ""}, 200, None),
    "a foreign origin": (PING, {"origin": "https://example.com"}, 403, -32600),
    "a rebound origin": (PING, {"origin": "http://rebound.example:8787"}, 403, -32600),
    "an opaque origin": (PING, {"origin": "null"}, 403, -32600),
    "an origin that is none": (PING, {"origin": "http://["}, 403, -32600),
    "a local origin": (PING, {"origin": "http://localhost:6274"}, 200, None),
    "a local origin by number": (PING, {"origin": "http://127.0.0.1:8787"}, 200, None),
    "a session that nobody gave": (PING, {"mcp_session_id": "abc", "last_event_id": "1"}, 200, None),
    "a call of lone surrogates": (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":'
        b'{"name":"oddkit_search","arguments":{"\\ud800":"\\ud800","query":"\\udfff"}}}',
        {},
        200,
        None,
    ),
    "a document of lone surrogates": (
        b'{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"kb://\\ud800"}}',
        {},
        200,
        -32002,
    ),
    "lone surrogates": (b'{"jsonrpc":"2.0","id":"\\ud800","method":"\\udfff"}', {}, 200, -32601),
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_frame_gets_what_the_protocol_says(name: str, sample: Corpus, gateway: Address) -> None:
    frame, headers, status, code = ODD[name]
    reply = post(gateway, sample.deployed, frame, **headers)
    assert status == reply.status, reply.text
    if status == 202:
        assert reply.text == ""
    elif code is None:
        assert reply.headers["content-type"].startswith("application/json")
        for entry in reply.envelope if isinstance(reply.envelope, list) else [reply.envelope]:
            assert "result" in entry and entry["jsonrpc"] == "2.0"
    else:
        assert code == reply.envelope["error"]["code"]
        assert reply.envelope["error"]["message"]


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "PATCH"])
def test_only_post_is_taken(method: str, sample: Corpus, gateway: Address) -> None:
    reply = exchange(gateway, sample.deployed, method, "/mcp", accept="text/event-stream")
    assert reply.status == 405
    assert reply.headers["allow"] == "POST, OPTIONS"
    assert reply.envelope["error_code"] == "METHOD_NOT_ALLOWED"


def test_a_body_without_a_type_is_taken_for_json(sample: Corpus, gateway: Address) -> None:
    reply = post(gateway, sample.deployed, PING, content_type="")
    assert reply.envelope == {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_a_batch_is_answered_frame_by_frame_in_order(sample: Corpus, gateway: Address) -> None:
    handshake = {**request("initialize", protocolVersion="2025-03-26"), "id": "c"}
    frames = [{**PING, "id": "a"}, NOTICE, {**request("no/such"), "id": 2}, 7, handshake]
    reply = post(gateway, sample.deployed, frames)
    answers: Any = reply.envelope
    told = [(entry["id"], entry.get("error", {}).get("code")) for entry in answers]
    assert told == [("a", None), (2, -32601), (None, -32600), ("c", -32600)]


def test_browsers_may_send_and_read_the_headers_of_mcp(sample: Corpus, gateway: Address) -> None:
    asked = exchange(gateway, sample.deployed, "OPTIONS", "/mcp", origin="http://localhost:6274")
    answered = post(gateway, sample.deployed, PING, origin="http://localhost:6274")
    for name in ("Mcp-Protocol-Version", "Mcp-Session-Id", "Mcp-Method", "Mcp-Name"):
        assert name in asked.headers["access-control-allow-headers"]
        assert name in answered.headers["access-control-expose-headers"]
    assert asked.status == 204
    assert "POST" in asked.headers["access-control-allow-methods"]
    assert answered.headers["access-control-allow-origin"] == "*"
    assert exchange(gateway, sample.deployed, "OPTIONS", "/mcp", origin="https://example.com").status == 403


@pytest.mark.parametrize(
    ("origin", "on_aws", "named", "local"),
    [
        ("http://localhost:3000", True, True, True),
        ("https://[::1]:3000", True, True, True),
        ("https://app.example.com", True, True, False),
        ("https://other.example.com", True, False, False),
        ("http://app.example.com", False, False, False),
        ("https://localhost.example.com", True, False, False),
        ("file://", False, False, False),
        ("null", False, False, False),
        ("", False, False, False),
    ],
)
def test_origins_are_held_to_the_setting(origin: str, on_aws: bool, named: bool, local: bool) -> None:
    by = {
        "on AWS": Settings.of({"LAMINA_BUCKET": "b"}),
        "named": Settings.of({"LAMINA_MCP_ORIGINS": "https://first.example, https://App.example.com"}),
        "local": Settings.of({"LAMINA_DATA": "/nowhere"}),
    }
    told = {name: is_allowed_origin(origin, setting) for name, setting in by.items()}
    assert told == {"on AWS": on_aws, "named": named, "local": local}


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", True),
        ("*/*", True),
        ("application/*", True),
        ("application/json", True),
        ("text/html, application/json;q=0.1", True),
        ("application/json;q=0", False),
        ("application/*;q=0, */*", False),
        ("application/json, */*;q=0", True),
        ("text/event-stream", False),
        ("application/json;q=nonsense", True),
    ],
)
def test_the_most_particular_range_of_accept_decides(accept: str, expected: bool) -> None:
    assert accepts(accept, "application/json") is expected


@pytest.mark.parametrize("frame", [PING, request("tools/list"), {"jsonrpc": "2.0", "id": 1, "method": "no-such"}])
def test_who_reads_event_streams_alone_gets_one_event(frame: Frame, sample: Corpus) -> None:
    stand_before(sample.deployed)
    handler = handler_of("mcp")
    event = {"httpMethod": "POST", "path": "/mcp", "body": json.dumps(frame)}
    streamed = handler({**event, "headers": {"accept": "text/event-stream"}}, None)
    plain = handler({**event, "headers": {"accept": "application/json, text/event-stream"}}, None)
    assert streamed["headers"]["Content-Type"] == "text/event-stream"
    assert streamed["body"] == f"event: message\ndata: {plain['body']}\n\n"
    assert streamed["statusCode"] == plain["statusCode"]


# The revisions with a handshake.


@pytest.mark.parametrize("version", HANDSHAKE)
def test_a_handshake_agrees_on_the_revision_that_was_asked_for(version: str, sample: Corpus, gateway: Address) -> None:
    frame = request("initialize", protocolVersion=version, capabilities={}, clientInfo={"name": "c", "version": "1"})
    reply = post(gateway, sample.deployed, frame)
    result = reply.envelope["result"]
    assert version == result["protocolVersion"]
    assert {"tools", "resources", "prompts", "completions"} == set(result["capabilities"])
    assert result["serverInfo"]["name"] == "lamina"
    assert "mcp-session-id" not in reply.headers


@pytest.mark.parametrize("version", ["2024-10-07", "2099-01-01", STATELESS, "x"])
def test_a_handshake_offers_the_newest_for_a_revision_without_one(
    version: str, sample: Corpus, gateway: Address
) -> None:
    reply = post(gateway, sample.deployed, request("initialize", protocolVersion=version))
    assert reply.envelope["result"]["protocolVersion"] == HANDSHAKE[0]


def test_results_of_older_revisions_hold_nothing_of_the_stateless_one(sample: Corpus, gateway: Address) -> None:
    for method in ("tools/list", "resources/list", "resources/templates/list"):
        result = post(gateway, sample.deployed, request(method)).envelope["result"]
        assert not {"resultType", "ttlMs", "cacheScope", "_meta"} & set(result)


def test_the_server_tells_the_model_how_to_work_with_the_tools_that_there_are(sample: Corpus, gateway: Address) -> None:
    reply = post(gateway, sample.deployed, request("initialize", protocolVersion="2025-11-25"))
    told = reply.envelope["result"]["instructions"]
    listed = post(gateway, sample.deployed, request("tools/list")).envelope["result"]["tools"]
    assert set(re.findall(r"oddkit_\w+", told)) <= {tool["name"] for tool in listed}
    assert not any(word in told.lower() for word in ("must", "should", "always", "never", "you"))


# The stateless revision.


def test_discovery_names_the_revisions_and_may_be_kept(sample: Corpus, gateway: Address) -> None:
    frame, headers = stateless("server/discover")
    result = post(gateway, sample.deployed, frame, **headers).envelope["result"]
    assert list(VERSIONS) == result["supportedVersions"]
    assert {"tools", "resources", "prompts", "completions"} == set(result["capabilities"])
    assert (result["resultType"], result["cacheScope"]) == ("complete", "public")
    assert result["ttlMs"] > 0
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "lamina"


@pytest.mark.parametrize("method", ["tools/list", "resources/list", "resources/templates/list"])
def test_lists_say_how_long_they_may_be_kept(method: str, sample: Corpus, gateway: Address) -> None:
    frame, headers = stateless(method)
    result = post(gateway, sample.deployed, frame, **headers).envelope["result"]
    assert result["resultType"] == "complete"
    assert result["ttlMs"] > 0 and result["cacheScope"] == "public"


def test_a_call_is_complete_in_itself(sample: Corpus, gateway: Address) -> None:
    frame, headers = stateless("tools/call", name="oddkit_search", arguments={"query": "gauge"})
    result = post(gateway, sample.deployed, frame, **headers).envelope["result"]
    assert result["resultType"] == "complete"
    assert result["structuredContent"]["result"]["status"] == "FOUND"
    assert "ttlMs" not in result


def _changed(**changes: str | None) -> tuple[Frame, dict[str, str]]:
    frame, headers = stateless("tools/call", name="oddkit_search", arguments={"query": "gauge"})
    headers = {name: changes.get(name, value) for name, value in headers.items()}  # type: ignore[misc]
    return frame, {name: value for name, value in headers.items() if value is not None}


def _meta_without(key: str, **changes: Any) -> tuple[Frame, dict[str, str]]:
    frame, headers = stateless("tools/list")
    meta = {name: value for name, value in frame["params"]["_meta"].items() if name != key}
    return {**frame, "params": {"_meta": {**meta, **changes}}}, headers


def _of_version(version: Any) -> tuple[Frame, dict[str, str]]:
    frame, headers = _meta_without("", **{VERSION_KEY: version})
    return frame, {**headers, "mcp_protocol_version": str(version)}


STATELESS_ODD: dict[str, tuple[tuple[Frame, dict[str, str]], int, int | None]] = {
    "as it should be": (_changed(), 200, None),
    "no version header": (_changed(mcp_protocol_version=None), 400, -32020),
    "another version header": (_changed(mcp_protocol_version="2025-11-25"), 400, -32020),
    "no method header": (_changed(mcp_method=None), 400, -32020),
    "another method header": (_changed(mcp_method="tools/list"), 400, -32020),
    "a method header in other case": (_changed(mcp_method="Tools/Call"), 400, -32020),
    "no name header": (_changed(mcp_name=None), 400, -32020),
    "another name header": (_changed(mcp_name="oddkit_get"), 400, -32020),
    "a name header in Base64": (_changed(mcp_name="=?base64?b2Rka2l0X3NlYXJjaA==?="), 200, None),
    "a name header in no Base64": (_changed(mcp_name="=?base64?!!?="), 400, -32020),
    "no version in the body": (_meta_without(VERSION_KEY), 400, -32602),
    "no capabilities": (_meta_without(CAPABILITIES_KEY), 400, -32602),
    "an unknown version": (_of_version("2099-01-01"), 400, -32022),
    "a version with a handshake": (_of_version("2025-11-25"), 400, -32022),
    "a version that is no text": (_of_version(7), 400, -32020),
    "an unknown method": (stateless("no/such"), 404, -32601),
    "a ping, which is no more": (stateless("ping"), 404, -32601),
    "a handshake, which is no more": (stateless("initialize"), 404, -32601),
    "an unknown tool": (stateless("tools/call", name="no_such"), 400, -32602),
    "an unknown document": (stateless("resources/read", uri="kb://no/such"), 400, -32602),
    "a discovery that says nothing of itself": ((request("server/discover"), {}), 400, -32602),
    "a response": (({"jsonrpc": "2.0", "id": 1, "result": {}}, {"mcp_protocol_version": STATELESS}), 400, -32600),
    "a notification": ((NOTICE, {"mcp_protocol_version": STATELESS}), 202, None),
}


@pytest.mark.parametrize("name", STATELESS_ODD)
def test_the_stateless_revision_holds_headers_to_the_body(name: str, sample: Corpus, gateway: Address) -> None:
    (frame, headers), status, code = STATELESS_ODD[name]
    reply = post(gateway, sample.deployed, frame, **headers)
    assert status == reply.status, reply.text
    assert code == reply.envelope.get("error", {}).get("code")
    if code == -32022:
        assert list(VERSIONS) == reply.envelope["error"]["data"]["supported"]


# Whatever comes.

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_METHODS = st.sampled_from(
    ["initialize", "server/discover", "tools/list", "tools/call", "resources/list", "resources/read", "ping", "x"]
)
_FRAMES = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0") | _JSON, "method": _METHODS | _JSON},
    optional={
        "id": st.integers() | st.text(max_size=4) | _JSON,
        "params": _JSON
        | st.fixed_dictionaries(
            {},
            optional={
                "name": st.sampled_from(["oddkit_search", "oddkit_get", "oddkit"]) | _JSON,
                "arguments": _JSON
                | st.dictionaries(st.sampled_from(["query", "uri", "action", "input", "limit", "cursor"]), _JSON),
                "uri": _JSON,
                "cursor": _JSON,
                "protocolVersion": _JSON,
                "clientInfo": _JSON,
                "_meta": _JSON | st.dictionaries(st.sampled_from([VERSION_KEY, CAPABILITIES_KEY]), _JSON),
            },
        ),
    },
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(frame=_FRAMES | _JSON | st.lists(_FRAMES, max_size=3))
def test_any_json_is_answered_by_frames(frame: Any, sample: Corpus) -> None:
    session = Session(sample.deployed.runtime(), version="2025-03-26")
    replies = session.reply(json.dumps(frame).encode())
    for reply in replies if isinstance(replies, list) else [replies]:
        assert reply is None or ("result" in reply) != ("error" in reply)


@given(st.binary(max_size=64))
def test_any_bytes_are_answered_by_a_frame_or_nothing(content: bytes) -> None:
    session = Session(None)  # type: ignore[arg-type]
    reply = session.reply(content)
    assert reply is None or isinstance(reply, dict)
