"""The local API: each HTTP request becomes the proxy event that the deployed function would get."""

from __future__ import annotations

import base64
import importlib.util
import logging
import uuid
from collections.abc import Callable, Iterable, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl
from wsgiref.types import StartResponse, WSGIEnvironment

from lamina.contract.errors import LaminaError
from lamina.contract.request import MAX_BODY_BYTES
from lamina.local.server import FIELDS, MAX_HEAD_BYTES, MAX_HEADERS, REFUSED
from lamina.local.template import Route
from lamina.runtime.adapter import failed

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD")
_BODILESS = (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)

logger = logging.getLogger(__name__)

Handler = Callable[[dict[str, Any], object], dict[str, Any]]


class Gateway:
    """A WSGI application over the routes of a template; it decides nothing but what API Gateway would."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self._exact: dict[str, list[Route]] = {}
        self._patterns: list[Route] = []
        self._handlers: dict[Path, Handler] = {}
        for route in routes:
            same = self._patterns if "{" in route.path else self._exact.setdefault(route.path.strip("/"), [])
            same.append(route)
            if route.code not in self._handlers:
                self._handlers[route.code] = load_handler(route.code, route.handler)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answers any request: finds its function and calls it."""
        try:
            response = self._respond(environ)
        except LaminaError as error:
            response = failed(error).event()
        status, content = HTTPStatus(response["statusCode"]), response.get("body", "").encode()
        headers = list(response.get("headers", {}).items())
        headers += [(name, value) for name, many in response.get("multiValueHeaders", {}).items() for value in many]
        if status not in _BODILESS:
            headers.append(("Content-Length", str(len(content))))
        start_response(f"{status.value} {status.phrase}", headers)
        return [] if status in _BODILESS or environ["REQUEST_METHOD"] == "HEAD" else [content]

    def _respond(self, environ: WSGIEnvironment) -> dict[str, Any]:
        """The proxy response to a request. Raises LaminaError if no function answers it."""
        if REFUSED in environ:
            raise refusal(environ[REFUSED])
        method = environ["REQUEST_METHOD"]
        if method not in _METHODS:
            raise LaminaError("METHOD_NOT_ALLOWED", "no such method. Use GET or POST.", methods=["GET", "POST"])
        route, parameters = self._found(raw_path(environ), method)
        try:
            return self._handlers[route.code](proxy_event(environ, route, parameters), None)
        except Exception as error:
            # As API Gateway does for a function that fails.
            logger.error("a handler failed: %s", route.path, exc_info=True)
            raise refusal(HTTPStatus.INTERNAL_SERVER_ERROR) from error

    def _found(self, path: str, method: str) -> tuple[Route, dict[str, str]]:
        """The route of a path and the path's parameters. Raises UNKNOWN_PATH."""
        for route in (*self._exact.get(path.strip("/"), ()), *self._patterns):
            parameters = route.match(path) if route.method in ("ANY", method) else None
            if parameters is not None:
                return route, parameters
        raise LaminaError("UNKNOWN_PATH", "no such path. See /openapi.json.")


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


def refusal(status: int) -> LaminaError:
    """The error for a request that the server refused or that a function failed to answer, by its HTTP status."""
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return LaminaError("INTERNAL_ERROR", "Something failed that should not. Try again later.")
    if status == HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE:
        message = f"the URL and its headers are over {MAX_HEAD_BYTES} bytes, or over {MAX_HEADERS} headers. Use POST."
        return LaminaError("REQUEST_TOO_LARGE", message, max_bytes=MAX_HEAD_BYTES)
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        message = f"the body is over {MAX_BODY_BYTES} bytes."
        return LaminaError("REQUEST_TOO_LARGE", message, max_bytes=MAX_BODY_BYTES)
    return LaminaError("INVALID_PARAMETER", "this is no HTTP/1.1 request. Send the body with its content-length.")


def raw_path(environ: WSGIEnvironment) -> str:
    """The path as it was sent, percent-encoded and under one slash."""
    path: str = environ["REQUEST_URI"].partition("?")[0]
    return "/" + path.lstrip("/") if path.startswith("//") else path


def proxy_event(environ: WSGIEnvironment, route: Route, parameters: dict[str, str]) -> dict[str, Any]:
    """The REST API proxy event of a request; the path stays percent-encoded, as API Gateway leaves it."""
    query = environ["REQUEST_URI"].partition("?")[2]
    many = _grouped(parse_qsl(query, keep_blank_values=True, errors="replace"))
    headers = _grouped(environ[FIELDS])
    last = {name.lower(): values[-1] for name, values in headers.items()}
    return {
        "resource": route.path,
        "path": raw_path(environ),
        "httpMethod": environ["REQUEST_METHOD"],
        "headers": {name: values[-1] for name, values in headers.items()},
        "multiValueHeaders": headers,
        "queryStringParameters": {name: values[-1] for name, values in many.items()} or None,
        "multiValueQueryStringParameters": many or None,
        "pathParameters": parameters or None,
        "stageVariables": None,
        "requestContext": {
            "requestId": str(uuid.uuid4()),
            "resourcePath": route.path,
            "httpMethod": environ["REQUEST_METHOD"],
            "stage": "local",
            "identity": {
                "sourceIp": environ["REMOTE_ADDR"],
                "userAgent": last.get("user-agent"),
                "apiKey": last.get("x-api-key"),
            },
        },
        **_event_body(environ["wsgi.input"].read()),
    }


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The values of each name, in the order in which they came."""
    grouped: dict[str, list[str]] = {}
    for name, value in pairs:
        grouped.setdefault(name, []).append(value)
    return grouped


def _event_body(body: bytes) -> dict[str, Any]:
    """Text as it is, what is no UTF-8 in base64."""
    try:
        return {"body": body.decode() or None, "isBase64Encoded": False}
    except UnicodeDecodeError:
        return {"body": base64.b64encode(body).decode(), "isBase64Encoded": True}
