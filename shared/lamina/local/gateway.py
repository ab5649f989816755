"""The local API: each HTTP request becomes the proxy event that the deployed function would get."""

from __future__ import annotations

import base64
import importlib.util
import io
import logging
import socket
import sys
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from lamina.contract.envelope import compact, failure
from lamina.contract.errors import LaminaError
from lamina.contract.request import MAX_BODY_BYTES
from lamina.local.template import Route
from lamina.runtime.event import JSON_TYPE

# What API Gateway itself accepts; the functions' own bound is lower, and it is what a caller is told.
MAX_PAYLOAD_BYTES = 10 * 1024 * 1024
_IDLE_SECONDS = 30
# A request has to be here whole by then, however slowly and however often its bytes come.
_REQUEST_SECONDS = 60.0
# For so long, what follows a request that could not be read is read away.
_LINGER_SECONDS = 1.0
_MOST_CONNECTIONS = 1024
_MOST_READ_AWAY = 64 * 1024 * 1024

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

logger = logging.getLogger(__name__)

Handler = Callable[[dict[str, Any], object], dict[str, Any]]


class Gateway(ThreadingHTTPServer):
    """An HTTP server over the routes of a template."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], routes: Sequence[Route]) -> None:
        self.routes = tuple(routes)
        self._handlers: dict[Path, Handler] = {}
        self._free = threading.BoundedSemaphore(_MOST_CONNECTIONS)
        for route in self.routes:
            if route.code not in self._handlers:
                self._handlers[route.code] = load_handler(route.code, route.handler)
        super().__init__(address, _Exchange)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Takes a connection up in a thread of its own, or closes it where too many are open."""
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """One connection from its first request to its last."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A caller that went away is no fault of ours."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            logger.error("a connection failed", exc_info=True)

    def find(self, path: str, method: str) -> tuple[Route, Handler, dict[str, str]] | None:
        """The route of a path, its handler and the path's parameters."""
        for route in self.routes:
            parameters = route.match(path)
            if parameters is not None and route.method in ("ANY", method):
                return route, self._handlers[route.code], parameters
        return None


def load_handler(folder: Path, name: str) -> Handler:
    """The function that `module.function` names in a folder."""
    module_name, function = name.rsplit(".", 1)
    spec = importlib.util.spec_from_file_location(f"functions_{folder.name}", folder / f"{module_name}.py")
    if spec is None or spec.loader is None:
        raise FileNotFoundError(f"no handler {name} in {folder}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    handler: Handler = getattr(module, function)
    return handler


def proxy_event(
    exchange: BaseHTTPRequestHandler, route: Route, parameters: dict[str, str], body: bytes
) -> dict[str, Any]:
    """The REST API proxy event of a request; the path stays percent-encoded, as API Gateway leaves it."""
    path, _, query = exchange.path.partition("?")
    many: dict[str, list[str]] = {}
    for name, value in parse_qsl(query, keep_blank_values=True, errors="replace"):
        many.setdefault(name, []).append(value)
    headers: dict[str, list[str]] = {}
    for name, value in exchange.headers.items():
        headers.setdefault(name, []).append(value)
    return {
        "resource": route.path,
        "path": path,
        "httpMethod": exchange.command,
        "headers": {name: values[-1] for name, values in headers.items()},
        "multiValueHeaders": headers,
        "queryStringParameters": {name: values[-1] for name, values in many.items()} or None,
        "multiValueQueryStringParameters": many or None,
        "pathParameters": parameters or None,
        "stageVariables": None,
        "requestContext": {
            "requestId": str(uuid.uuid4()),
            "resourcePath": route.path,
            "httpMethod": exchange.command,
            "stage": "local",
            "identity": {
                "sourceIp": exchange.client_address[0],
                "userAgent": exchange.headers.get("user-agent"),
                "apiKey": exchange.headers.get("x-api-key"),
            },
        },
        **_event_body(body),
    }


def _event_body(body: bytes) -> dict[str, Any]:
    """Text as it is, what is no UTF-8 in base64."""
    try:
        return {"body": body.decode() or None, "isBase64Encoded": False}
    except UnicodeDecodeError:
        return {"body": base64.b64encode(body).decode(), "isBase64Encoded": True}


class _Incoming(io.RawIOBase):
    """What a caller sends, until `ends`: a time-out by itself would be renewed by every byte."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__()
        self._connection = connection
        self.ends = 0.0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        left = self.ends - time.monotonic()
        if left <= 0:
            raise TimeoutError("the request took too long to arrive")
        self._connection.settimeout(min(left, _IDLE_SECONDS))
        return self._connection.recv_into(buffer)


class _Exchange(BaseHTTPRequestHandler):
    """One connection."""

    server: Gateway
    protocol_version = "HTTP/1.1"
    server_version = "lamina"
    sys_version = ""
    timeout = _IDLE_SECONDS

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._incoming = _Incoming(self.connection)
        self.rfile.close()
        self.rfile = io.BufferedReader(self._incoming)

    def handle_one_request(self) -> None:
        """The next request of a connection."""
        self._incoming.ends = time.monotonic() + _REQUEST_SECONDS
        super().handle_one_request()

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not logged: a line would hold the query."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What cannot be read as a request gets an envelope instead of the base class's page."""
        self.close_connection = True
        # Set before anything was parsed, so that the status line is written in any case.
        self.request_version = self.protocol_version
        if code == HTTPStatus.NOT_IMPLEMENTED:
            refusal = self._refusal("METHOD_NOT_ALLOWED", "no such method. Use GET or POST.", methods=["GET", "POST"])
            refusal["headers"]["Allow"] = "GET, POST, OPTIONS"
        elif code in (HTTPStatus.REQUEST_URI_TOO_LONG, HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE):
            refusal = self._refusal(
                "REQUEST_TOO_LARGE", "the URL or a header is over 65536 bytes. Use POST.", max_bytes=65536
            )
        else:
            refusal = self._refusal("INVALID_PARAMETER", "this is no HTTP/1.1 request.")
        self._write(refusal)
        self._incoming.ends = time.monotonic() + _LINGER_SECONDS
        self._read_away(MAX_PAYLOAD_BYTES)

    def answer(self) -> None:
        """Any method: find the function, call it, write what it says."""
        body = self._body()
        if body is None:
            return
        found = self.server.find(self.path.partition("?")[0], self.command)
        if found is None:
            self._write(self._refusal("UNKNOWN_PATH", "no such path. See /openapi.json."))
            return
        route, handler, parameters = found
        try:
            response = handler(proxy_event(self, route, parameters, body), None)
        except Exception:
            # As API Gateway does for a function that fails.
            logger.error("a handler failed: %s", route.path, exc_info=True)
            response = self._refusal("INTERNAL_ERROR", "Something failed that should not. Try again later.")
        self._write(response)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_HEAD = answer  # noqa: N815

    def _body(self) -> bytes | None:
        """The request's body; None where it was refused and answered."""
        lengths = {text.strip() for text in self.headers.get_all("content-length", ["0"])}
        text = lengths.pop() if len(lengths) == 1 else ""
        length = int(text) if text.isascii() and text.isdecimal() and len(text) < 18 else -1
        if length < 0 or self.headers.get("transfer-encoding"):
            self.close_connection = True
            self._write(self._refusal("INVALID_PARAMETER", "send the body with its content-length."))
            return None
        if length > MAX_PAYLOAD_BYTES:
            self.close_connection = True
            self._write(
                self._refusal(
                    "REQUEST_TOO_LARGE", f"the body is over {MAX_BODY_BYTES} bytes.", max_bytes=MAX_BODY_BYTES
                )
            )
            self._read_away(length)
            return None
        body = self.rfile.read(length)
        if len(body) < length:
            self.close_connection = True
            return None
        return body

    def _read_away(self, length: int) -> None:
        """Reads what a caller goes on sending, within bounds: closing at once would reset the answer on its way."""
        self.wfile.flush()
        left = min(length, _MOST_READ_AWAY)
        with suppress(OSError):
            while left > 0 and (read := len(self.rfile.read(min(left, 65536)))):
                left -= read

    def _refusal(self, code: str, message: str, **details: Any) -> dict[str, Any]:
        error = LaminaError(code, message, **details)
        headers = {"Content-Type": JSON_TYPE, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
        return {
            "statusCode": error.kind.http_status,
            "headers": {**headers, "Access-Control-Allow-Origin": "*"},
            "body": compact(failure(error, None)),
        }

    def _write(self, response: dict[str, Any]) -> None:
        content = response.get("body", "").encode()
        status = response["statusCode"]
        self.connection.settimeout(_IDLE_SECONDS)
        self.send_response(status)
        for name, value in response.get("headers", {}).items():
            self.send_header(name, value)
        for name, values in response.get("multiValueHeaders", {}).items():
            for value in values:
                self.send_header(name, value)
        if status not in (204, 304):
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD" and status not in (204, 304):
            self.wfile.write(content)
