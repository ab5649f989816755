"""The local API: each HTTP request becomes the proxy event that the deployed function would get."""

from __future__ import annotations

import base64
import importlib.util
import socket
import uuid
from collections.abc import Callable, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from lamina.contract.envelope import compact, failure
from lamina.contract.errors import LaminaError
from lamina.local.template import Route

# What API Gateway itself accepts; the functions' own bound is lower.
MAX_PAYLOAD_BYTES = 10 * 1024 * 1024
_IDLE_SECONDS = 30

Handler = Callable[[dict[str, Any], object], dict[str, Any]]


class Gateway(ThreadingHTTPServer):
    """An HTTP server over the routes of a template."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], routes: Sequence[Route]) -> None:
        self.routes = tuple(routes)
        self._handlers: dict[Path, Handler] = {}
        for route in self.routes:
            if route.code not in self._handlers:
                self._handlers[route.code] = load_handler(route.code, route.handler)
        super().__init__(address, _Exchange)

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

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not logged: a line would hold the query."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What cannot be read as a request gets an envelope instead of the base class's page."""
        self.close_connection = True
        # Set before anything was parsed, so that the status line is written in any case.
        self.request_version = self.protocol_version
        if code == HTTPStatus.NOT_IMPLEMENTED:
            refusal = self._refusal("METHOD_NOT_ALLOWED", "no such method. Use GET or POST.", methods=["GET", "POST"])
        elif code in (HTTPStatus.REQUEST_URI_TOO_LONG, HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE):
            refusal = self._refusal(
                "REQUEST_TOO_LARGE", "the URL or a header is over 65536 bytes. Use POST.", max_bytes=65536
            )
        else:
            refusal = self._refusal("INVALID_PARAMETER", "this is no HTTP/1.1 request.")
        self._write(refusal)

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
        self._write(handler(proxy_event(self, route, parameters, body), None))

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_HEAD = answer  # noqa: N815

    def _body(self) -> bytes | None:
        """The request's body; None where it was refused and answered."""
        try:
            length = int(self.headers.get("content-length") or 0)
        except ValueError:
            length = -1
        if length < 0 or self.headers.get("transfer-encoding"):
            self.close_connection = True
            self._write(self._refusal("INVALID_PARAMETER", "send the body with its content-length."))
            return None
        if length > MAX_PAYLOAD_BYTES:
            self.close_connection = True
            self._write(
                self._refusal("REQUEST_TOO_LARGE", "the body is over 262144 bytes.", max_bytes=262144)
            )
            return None
        return self.rfile.read(length)

    def _refusal(self, code: str, message: str, **details: Any) -> dict[str, Any]:
        error = LaminaError(code, message, **details)
        headers = {"Content-Type": "application/json", "Cache-Control": "no-store"}
        return {
            "statusCode": error.kind.http_status,
            "headers": {**headers, "Access-Control-Allow-Origin": "*"},
            "body": compact(failure(error, None)),
        }

    def _write(self, response: dict[str, Any]) -> None:
        content = response.get("body", "").encode()
        status = response["statusCode"]
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
