"""What is no proper call at all: broken JSON, wrong methods, types and paths, and what is hardly HTTP."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest
from tests.actions.wrong import WRONG, Wrong, check
from tests.conftest import Corpus
from tests.transports import exchange, handler_of, stand_before

NOT_JSON = {
    "broken": b'{"query": "gauge"',
    "empty array": b"[]",
    "a string": b'"gauge"',
    "null": b"null",
    "not UTF-8": b'{"query": "\xff\xfe"}',
    "UTF-16": '{"query": "gauge"}'.encode("utf-16"),
    "NaN": b'{"query": "gauge", "limit": NaN}',
    "infinity": b'{"query": "gauge", "limit": -Infinity}',
    "deep arrays": b'{"query": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep objects": b'{"query": ' + b'{"a":' * 1_000 + b"1" + b"}" * 1_000 + b"}",
    "an integer of 5,000 digits": b'{"query": "gauge", "limit": ' + b"9" * 5_000 + b"}",
    "form data": b"query=gauge&limit=3",
    "two objects": b'{"query": "gauge"} {"query": "gauge"}',
}


@pytest.mark.parametrize("name", NOT_JSON)
def test_a_body_that_is_no_json_object_is_refused_as_such(sample: Corpus, gateway: tuple[str, int], name: str) -> None:
    reply = exchange(gateway, sample.deployed, "POST", "/v1/search", NOT_JSON[name])
    check(reply, Wrong("search", {}, "INVALID_JSON", ""))
    assert reply.status == 400


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("event", [None, [], "query", 5, {"query": nested(70)}, {"query": nested(100_000)}])
def test_a_direct_event_that_is_no_flat_json_object_is_refused_as_such(sample: Corpus, event: Any) -> None:
    stand_before(sample.deployed)
    assert handler_of("search")(event, None)["error_code"] == "INVALID_JSON"


def test_a_number_past_every_float_is_no_limit(sample: Corpus, gateway: tuple[str, int]) -> None:
    reply = exchange(gateway, sample.deployed, "POST", "/v1/catalog", b'{"limit": 1e400}')
    check(reply, WRONG["limit 1e400"])


def test_a_body_of_another_type_is_refused(sample: Corpus, gateway: tuple[str, int]) -> None:
    for media_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        body = b'{"query": "gauge"}'
        reply = exchange(gateway, sample.deployed, "POST", "/v1/search", body, content_type=media_type)
        check(reply, Wrong("search", {}, "UNSUPPORTED_MEDIA_TYPE", "application/json"))
        assert reply.status == 415


@pytest.mark.parametrize(
    "media_type", ["application/json; charset=utf-8", "APPLICATION/JSON", "application/vnd.x+json"]
)
def test_every_way_to_say_json_is_understood(sample: Corpus, gateway: tuple[str, int], media_type: str) -> None:
    body = b'{"query": "gauge"}'
    reply = exchange(gateway, sample.deployed, "POST", "/v1/search", body, content_type=media_type)
    assert reply.status == 200


def test_a_body_over_its_bound_is_refused(sample: Corpus, gateway: tuple[str, int]) -> None:
    body = json.dumps({"query": "a" * 300_000}).encode()
    reply = exchange(gateway, sample.deployed, "POST", "/v1/search", body)
    check(reply, Wrong("search", {}, "REQUEST_TOO_LARGE", "262144 bytes", {"max_bytes": 262144}))
    assert reply.status == 413


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("action", ["search", "catalog", "preflight", "get", "resolve"])
def test_a_wrong_method_is_told_the_right_ones(
    sample: Corpus, gateway: tuple[str, int], action: str, method: str
) -> None:
    reply = exchange(gateway, sample.deployed, method, f"/v1/{action}")
    assert reply.status == 405
    assert reply.headers["allow"] == "GET, POST, OPTIONS"
    check(reply, Wrong(action, {}, "METHOD_NOT_ALLOWED", "GET or POST", {"methods": ["GET", "POST"]}))


@pytest.mark.parametrize("path", ["/v1/catalog", "/v1/search?query=gauge", "/v1/search", "/v1/nowhere"])
def test_a_head_has_the_headers_of_its_get_and_no_body(sample: Corpus, gateway: tuple[str, int], path: str) -> None:
    got = exchange(gateway, sample.deployed, "GET", path)
    head = exchange(gateway, sample.deployed, "HEAD", path)
    kept = ("content-type", "content-length", "cache-control", "etag")
    assert head.text == ""
    assert head.status == got.status
    assert [head.headers.get(name) for name in kept] == [got.headers.get(name) for name in kept]


@pytest.mark.parametrize(
    "path", ["/nowhere", "/v1", "/v1/", "/v1/searches", "/v1/search/more", "/v1/%2e%2e/search", "/v2/search"]
)
def test_an_unknown_path_is_told_the_known_ones(sample: Corpus, gateway: tuple[str, int], path: str) -> None:
    reply = exchange(gateway, sample.deployed, "GET", path)
    assert reply.status == 404
    assert reply.envelope["error_code"] == "UNKNOWN_PATH"
    assert reply.envelope["action"] is None
    assert "/openapi.json" in reply.envelope["error_message"]
    assert reply.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        (b"BREW /v1/search HTTP/1.1\r\nhost: x\r\n\r\n", 405, "METHOD_NOT_ALLOWED"),
        (b"GET /v1/search?query=" + b"a" * 70_000 + b" HTTP/1.1\r\nhost: x\r\n\r\n", 413, "REQUEST_TOO_LARGE"),
        (b"GET / HTTP/1.1\r\nx: " + b"a" * 70_000 + b"\r\n\r\n", 413, "REQUEST_TOO_LARGE"),
        (b"nonsense\r\n\r\n", 400, "INVALID_PARAMETER"),
        (b"GET / HTTP/9.1\r\n\r\n", 400, "INVALID_PARAMETER"),
        (b"POST /v1/search HTTP/1.1\r\ncontent-length: many\r\n\r\n", 400, "INVALID_PARAMETER"),
        (b"POST /v1/search HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", 400, "INVALID_PARAMETER"),
        (b"POST /v1/search HTTP/1.1\r\ncontent-length: 99999999\r\n\r\n", 413, "REQUEST_TOO_LARGE"),
    ],
)
def test_what_is_hardly_http_gets_an_envelope_too(
    sample: Corpus, gateway: tuple[str, int], sent: bytes, status: int, code: str
) -> None:
    stand_before(sample.deployed)
    with socket.create_connection(gateway, timeout=10) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        received = b"".join(iter(lambda: connection.recv(65_536), b""))
    head, _, body = received.partition(b"\r\n\r\n")
    assert head.split()[1] == str(status).encode()
    assert json.loads(body)["error_code"] == code


def test_a_body_of_many_megabytes_is_answered_and_not_cut_off(sample: Corpus, gateway: tuple[str, int]) -> None:
    reply = exchange(gateway, sample.deployed, "POST", "/v1/search", b" " * (11 * 1024 * 1024))
    assert (reply.status, reply.envelope["error_code"]) == (413, "REQUEST_TOO_LARGE")
    assert reply.envelope["max_bytes"] == 262144


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("POST", "/health", "GET, OPTIONS"),
        ("POST", "/v1/telemetry", "GET, OPTIONS"),
        ("GET", "/v1/webhook/github", "POST, OPTIONS"),
        ("GET", "/mcp", "POST, OPTIONS"),
        ("POST", "/v1/baseline-check", "GET, OPTIONS"),
    ],
)
def test_every_405_says_in_its_header_what_is_allowed(
    sample: Corpus, gateway: tuple[str, int], method: str, path: str, allowed: str
) -> None:
    reply = exchange(gateway, sample.deployed, method, path)
    assert (reply.status, reply.headers.get("allow")) == (405, allowed)
