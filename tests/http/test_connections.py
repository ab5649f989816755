"""Bytes on a connection as no browser sends them: an envelope or a closed line, and the next one is served."""

from __future__ import annotations

import json
import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from tests.conftest import Corpus
from tests.transports import exchange, running_gateway, stand_before

from lamina.local import gateway as gateways
from lamina.local import server as servers

PATHS = (
    "/v1/get/../search",
    "/v1/%2e%2e/%2e%2e/etc/passwd",
    "/..%2f..%2fetc%2fpasswd",
    "/v1/receipts/..%2f..%2fsigning.key",
    "/v1/receipts/%00",
    "/v1/receipts/%F0%9F%98%80",
    "/explorer.css/..%2f..%2fpages.py",
    "/read?uri=../../../../etc/passwd",
    "/%",
    "/%zz",
    "/\x7f",
    "/v1/search;query=x",
    "/v1//search?query=gauge",
    "//v1/search?query=gauge",
    "http://evil.example/v1/search?query=gauge",
    "*",
    "/?" + "&" * 5_000,
    "/v1/search?" + "&".join(f"query={n}" for n in range(2_000)),
    "/v1/search?query=%FF%FE",
    "/v1/search?query=a&query=b",
    "/v1/search?query=gauge&limit=1&limit=2",
    "/v1/search?query=gauge&=&==&%=%",
    "/v1/search?query[]=gauge",
    "/é".encode().decode("latin-1"),
)


def sent(address: tuple[str, int], content: bytes, *, shut: bool = True) -> bytes:
    """Everything that comes back until the other end closes."""
    with socket.create_connection(address, timeout=20) as connection:
        connection.sendall(content)
        if shut:
            connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65_536), b""))


def answers(received: bytes) -> list[tuple[int, dict[str, str], bytes]]:
    """The responses in a stream: status, headers in lower case, body."""
    found = []
    while received:
        head, _, received = received.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        length = int(headers.get("content-length", 0))
        found.append((int(first.split()[1]), headers, received[:length]))
        received = received[length:]
    return found


@contextmanager
def running(**patched: Any) -> Iterator[tuple[str, int]]:
    """A gateway of its own, made while the constants of the server's module are as given."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in patched.items():
            patch.setattr(servers, name, value)
        with running_gateway() as address:
            yield address


@pytest.mark.parametrize("path", PATHS, ids=range(len(PATHS)))
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS", "HEAD"])
def test_an_odd_path_gets_an_answer_and_never_a_file(
    sample: Corpus, gateway: tuple[str, int], path: str, method: str
) -> None:
    stand_before(sample.deployed)
    request = f"{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".encode("latin-1")
    status, headers, body = answers(sent(gateway, request))[0] if method != "HEAD" else heads(sent(gateway, request))
    assert status < 500
    assert headers["x-content-type-options"] == "nosniff"
    assert "cache-control" in headers
    assert b"root:" not in body
    assert b"PRIVATE" not in body


def heads(received: bytes) -> tuple[int, dict[str, str], bytes]:
    """The response to a HEAD, whose length is that of a body which is not there."""
    head, _, body = received.partition(b"\r\n\r\n")
    assert body == b""
    lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    return int(lines[0].split()[1]), headers, body


@pytest.mark.parametrize(
    "header",
    [
        "content-length: 1_0",
        "content-length: +5",
        "content-length: 5, 5",
        "content-length: -1",
        "content-length: ٥".encode().decode("latin-1"),
        "content-length: 5\r\ncontent-length: 6",
        "content-length: 99999999999999999999999",
        "content-length: 5\r\ntransfer-encoding: chunked",
        "transfer-encoding: identity",
    ],
)
def test_a_length_that_could_be_read_in_two_ways_is_refused_and_the_line_closed(
    sample: Corpus, gateway: tuple[str, int], header: str
) -> None:
    stand_before(sample.deployed)
    smuggled = b"12345GET /health HTTP/1.1\r\nhost: x\r\n\r\n"
    request = f"POST /v1/search HTTP/1.1\r\nhost: x\r\n{header}\r\n\r\n".encode("latin-1") + smuggled
    found = answers(sent(gateway, request))
    assert [status for status, _, _ in found] in ([400], [413])
    assert json.loads(found[0][2])["status"] == "ERROR"


@pytest.mark.parametrize(
    "framing",
    [
        b"%s\r\ncontent-length : 5",
        b"%s\r\ncontent-length 5",
        b"%s\r\ncontent-length",
        b"%s\r\n: 5",
        b"%s\r\nx\0y: 5",
        b"%s\r\nx: \0",
        b"%s\r\nx: y\r\n content-length: 5",
        b"%s\r\nx: y\r\n\tcontent-length: 5",
        b"%s\r\n content-length: 5",
        b"%s\r\ntransfer-encoding:\r\ncontent-length: 5",
        b"%s\r\ncontent-length: 5\r\nTransfer-Encoding:",
        b"%s\r\ntransfer-encoding: chunked\r\ncontent-length: 5",
        b"%s\r\ntransfer-encoding: \x0bchunked",
        b"%s\r\ntransfer-encoding : chunked",
        b"%s\r\nx: y\rcontent-length: 5",
        b"%s\r\nx: y\ncontent-length: 5",
        b"%s\r\r\ncontent-length: 5",
        b"%s \r\ncontent-length: 5",
        b" %s\r\ncontent-length: 5",
        b"\r\n\t%s\r\ncontent-length: 5",
        b"%s\r\ncontent-length: 0x5",
        b"%s\r\ncontent-length:",
        b"%s\r\ncontent-length: " + b"5" * 5_000,
        b"%.17s\r\ncontent-length: 5",
        b"%.17s HTTP/2.0\r\ncontent-length: 5",
        b"%.17s HTTP/1.1 x\r\ncontent-length: 5",
        b"%.17s\tHTTP/1.1\r\ncontent-length: 5",
        b"%.5shttp://[/v1/search HTTP/1.1\r\ncontent-length: 5",
    ],
)
def test_a_framing_that_two_servers_could_read_differently_is_refused_and_the_line_closed(
    sample: Corpus, gateway: tuple[str, int], framing: bytes
) -> None:
    stand_before(sample.deployed)
    smuggled = b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n"
    request = framing % b"POST /v1/catalog HTTP/1.1" + b"\r\nhost: x\r\n\r\n12345" + smuggled
    found = answers(sent(gateway, request, shut=False))
    assert [status for status, _, _ in found] in ([400], [413])
    assert json.loads(found[0][2])["status"] == "ERROR"
    assert found[0][1]["connection"] == "close"


def test_lines_that_end_in_a_line_feed_alone_are_no_request(sample: Corpus, gateway: tuple[str, int]) -> None:
    stand_before(sample.deployed)
    assert sent(gateway, b"GET /health HTTP/1.1\nhost: x\n\n") == b""


def test_a_refusal_arrives_whole_though_megabytes_follow_it(sample: Corpus, gateway: tuple[str, int]) -> None:
    stand_before(sample.deployed)
    found = answers(sent(gateway, b"nonsense\r\n\r\n" + b"x" * 4_000_000))
    assert [status for status, _, _ in found] == [400]


def test_a_client_that_waits_to_be_told_to_go_on_is_told_or_answered(sample: Corpus, gateway: tuple[str, int]) -> None:
    stand_before(sample.deployed)
    head = b"POST /v1/catalog HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: %d\r\n\r\n"
    with socket.create_connection(gateway, timeout=20) as connection:
        connection.sendall(head % 2)
        assert connection.recv(65_536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"{}")
        assert connection.recv(16).startswith(b"HTTP/1.1 200")
    with socket.create_connection(gateway, timeout=20) as connection:
        connection.sendall(head % 0)
        assert connection.recv(16).startswith(b"HTTP/1.1 200")


def test_an_answer_without_a_body_keeps_the_connection(sample: Corpus, gateway: tuple[str, int]) -> None:
    stand_before(sample.deployed)
    options = b"OPTIONS /v1/search HTTP/1.1\r\nhost: x\r\n\r\n"
    known = b"GET /v1/catalog HTTP/1.1\r\nhost: x\r\nif-none-match: *\r\n\r\n"
    found = answers(sent(gateway, options + known + options))
    assert [status for status, _, _ in found] == [204, 304, 204]


def test_a_body_that_breaks_off_reaches_no_function(sample: Corpus, gateway: tuple[str, int]) -> None:
    stand_before(sample.deployed)
    assert sent(gateway, b'POST /v1/search HTTP/1.1\r\nhost: x\r\ncontent-length: 99\r\n\r\n{"query": "gauge"}') == b""


def test_more_headers_than_any_client_sends_are_refused(sample: Corpus, gateway: tuple[str, int]) -> None:
    stand_before(sample.deployed)
    many = b"".join(b"x-%d: y\r\n" % number for number in range(5_000))
    status, _, body = answers(sent(gateway, b"GET /health HTTP/1.1\r\n" + many + b"\r\n"))[0]
    assert (status, json.loads(body)["error_code"]) == (413, "REQUEST_TOO_LARGE")


def test_pipelined_requests_are_answered_in_their_order_errors_among_them(
    sample: Corpus, gateway: tuple[str, int]
) -> None:
    stand_before(sample.deployed)
    get = b"GET %s HTTP/1.1\r\nhost: x\r\n\r\n"
    broken = b"POST /v1/search HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\n{{{{"
    wrong = get % b"/v1/catalog?limit=9999"
    last = b"GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
    requests = [get % b"/nowhere", broken, wrong, b"DELETE /v1/get HTTP/1.1\r\nhost: x\r\n\r\n", last]
    found = answers(sent(gateway, b"".join(requests)))
    assert [status for status, _, _ in found] == [404, 400, 400, 405, 200]


def test_a_body_that_is_no_text_is_refused_as_no_json(sample: Corpus, gateway: tuple[str, int]) -> None:
    reply = exchange(gateway, sample.deployed, "POST", "/v1/search", bytes(range(256)) * 40)
    assert (reply.status, reply.envelope["error_code"]) == (400, "INVALID_JSON")


@pytest.mark.parametrize("path", ["/v1/search", "/v1/knowledge", "/mcp"])
def test_json_ten_thousand_levels_deep_is_refused(sample: Corpus, gateway: tuple[str, int], path: str) -> None:
    for body in (b"[" * 10_000 + b"]" * 10_000, b'{"a":' * 10_000 + b"1" + b"}" * 10_000):
        assert exchange(gateway, sample.deployed, "POST", path, body).status == 400


def test_a_request_that_comes_a_byte_at_a_time_is_cut_off_and_others_go_on(sample: Corpus) -> None:
    stand_before(sample.deployed)
    with running(_REQUEST_SECONDS=0.6) as address, socket.create_connection(address, timeout=20) as slow:
        slow.sendall(b"GET /health HTTP/1.1\r\n")
        ended = threading.Event()

        def trickle() -> None:
            while not ended.wait(0.05):
                try:
                    slow.sendall(b"x: y\r\n")
                except OSError:
                    return

        thread = threading.Thread(target=trickle, daemon=True)
        thread.start()
        assert exchange(address, sample.deployed, "GET", "/health").status == 200
        try:
            assert slow.recv(1) == b""
        except ConnectionResetError:
            pass
        finally:
            ended.set()
            thread.join()


def test_connections_past_the_bound_wait_for_room(sample: Corpus) -> None:
    stand_before(sample.deployed)
    request = b"GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
    with running(_MAX_CONNECTIONS=3) as address:
        with ExitStack() as held:
            for _ in range(3):
                connection = held.enter_context(socket.create_connection(address, timeout=20))
                connection.sendall(b"GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n")
                assert connection.recv(16).startswith(b"HTTP/1.1 200")
            waiting = socket.create_connection(address, timeout=0.5)
            waiting.sendall(request)
            with pytest.raises(TimeoutError):
                waiting.recv(1)
        waiting.settimeout(20)
        with waiting:
            assert waiting.recv(16).startswith(b"HTTP/1.1 200")


def test_a_function_that_fails_is_an_envelope_and_the_connection_lives(
    sample: Corpus, gateway: tuple[str, int], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    stand_before(sample.deployed)

    def fail(*_: object) -> None:
        raise RuntimeError("secret-4711")

    caplog.set_level(logging.CRITICAL)
    monkeypatch.setattr(gateways, "proxy_event", fail)
    request = b"GET /v1/catalog HTTP/1.1\r\nhost: x\r\n\r\n"
    found = answers(sent(gateway, request * 2))
    assert [status for status, _, _ in found] == [500, 500]
    assert json.loads(found[0][2])["error_code"] == "INTERNAL_ERROR"
    assert b"4711" not in found[0][2]
