"""The proxy event that a function gets from the local gateway is that of API Gateway."""

from __future__ import annotations

import base64
import json
import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from lamina.local.gateway import Gateway
from lamina.local.server import Server
from lamina.local.template import Route

ECHO = """
import json
def handler(event, context):
    many = {"X-Two": ["a", "b"]}
    return {"statusCode": 201, "headers": {"X-One": "c"}, "multiValueHeaders": many, "body": json.dumps(event)}
"""

ANSWER = '    return {"statusCode": 200, "body": ""}\n'

Send = Callable[[bytes], tuple[bytes, dict[str, Any]]]


@contextmanager
def serving(route: Route) -> Iterator[int]:
    """A server of one route; its port."""
    with Server(("127.0.0.1", 0), Gateway([route])) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.port
        finally:
            server.stop()
            thread.join()


@pytest.fixture
def send(tmp_path: Path) -> Iterator[Send]:
    """Sends bytes to a gateway whose only function answers with its event; the head and the event."""
    (tmp_path / "app.py").write_text(ECHO)
    with serving(Route("/echo/{name}/{rest+}", "ANY", tmp_path, "app.handler")) as port:

        def sent(content: bytes) -> tuple[bytes, dict[str, Any]]:
            with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
                connection.sendall(content)
                connection.shutdown(socket.SHUT_WR)
                received = b"".join(iter(lambda: connection.recv(65_536), b""))
            head, _, body = received.partition(b"\r\n\r\n")
            return head, json.loads(body)

        yield sent


def test_a_path_stays_percent_encoded_and_its_parameters_are_found(send: Send) -> None:
    _, event = send(b"GET /echo/a%2Fb/c%20d/%C3%A9?x=%2F HTTP/1.1\r\nhost: x\r\n\r\n")
    assert event["path"] == "/echo/a%2Fb/c%20d/%C3%A9"
    assert event["pathParameters"] == {"name": "a%2Fb", "rest": "c%20d/%C3%A9"}
    assert event["resource"] == "/echo/{name}/{rest+}"
    assert event["queryStringParameters"] == {"x": "/"}


def test_repeated_query_keys_and_headers_are_kept_beside_the_last_of_each(send: Send) -> None:
    request = b"GET /echo/a/b?k=1&k=2&e= HTTP/1.1\r\nHost: x\r\nX-One: 1\r\nX-One: 2, 3\r\nx_under: 4\r\n\r\n"
    _, event = send(request)
    assert event["multiValueQueryStringParameters"] == {"k": ["1", "2"], "e": [""]}
    assert event["queryStringParameters"] == {"k": "2", "e": ""}
    assert event["multiValueHeaders"] == {"Host": ["x"], "X-One": ["1", "2, 3"], "x_under": ["4"]}
    assert event["headers"] == {"Host": "x", "X-One": "2, 3", "x_under": "4"}


def test_a_body_is_text_or_where_it_is_no_utf_8_base64(send: Send) -> None:
    head = b"POST /echo/a/b HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n"
    text, other = "né".encode(), b"\xff\xfe\0"
    _, event = send(head % len(text) + text)
    assert (event["body"], event["isBase64Encoded"]) == ("né", False)
    _, event = send(head % len(other) + other)
    assert (base64.b64decode(event["body"]), event["isBase64Encoded"]) == (other, True)
    _, event = send(head % 0)
    assert (event["body"], event["isBase64Encoded"]) == (None, False)


def test_the_caller_is_named_by_address_agent_and_key(send: Send) -> None:
    _, event = send(b"PUT /echo/a/b HTTP/1.1\r\nhost: x\r\nUser-Agent: curl\r\nX-API-Key: k\r\n\r\n")
    assert event["requestContext"]["identity"] == {"sourceIp": "127.0.0.1", "userAgent": "curl", "apiKey": "k"}
    assert event["httpMethod"] == "PUT"


def test_a_function_s_status_and_repeated_headers_are_written(send: Send) -> None:
    head, _ = send(b"GET /echo/a/b HTTP/1.1\r\nhost: x\r\n\r\n")
    status, *lines = head.split(b"\r\n")
    assert status == b"HTTP/1.1 201 Created"
    assert [line for line in lines if line.lower().startswith(b"x-two")] == [b"X-Two: a", b"X-Two: b"]
    assert b"Server: lamina" in lines


@pytest.mark.parametrize("answer", ["{}", "None", '{"statusCode": 200, "headers": {"X": "a\\r\\nb"}, "body": ""}'])
def test_a_function_whose_answer_is_none_is_an_internal_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, answer: str
) -> None:
    caplog.set_level(logging.CRITICAL)
    (tmp_path / "app.py").write_text(f"def handler(event, context):\n    return {answer}\n")
    with serving(Route("/odd", "ANY", tmp_path, "app.handler")) as port:
        connection = HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request("GET", "/odd")
        response = connection.getresponse()
        assert (response.status, json.loads(response.read())["error_code"]) == (500, "INTERNAL_ERROR")
        connection.close()


def test_requests_that_wait_for_a_thread_are_answered_and_nothing_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "app.py").write_text("import time\ndef handler(event, context):\n    time.sleep(0.2)\n" + ANSWER)
    with serving(Route("/slow", "ANY", tmp_path, "app.handler")) as port, ExitStack() as opened:
        connections = [
            opened.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20)) for _ in range(12)
        ]
        for connection in connections:
            connection.sendall(b"GET /slow HTTP/1.1\r\nhost: x\r\n\r\n")
        assert [connection.recv(12) for connection in connections] == [b"HTTP/1.1 200"] * 12
    assert caplog.records == []
