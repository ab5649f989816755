"""The same call over every transport of the product: HTTP by GET and by POST, and direct invocation of the functions.

A new transport is a class with `call` and a line in TRANSPORTS.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.client import HTTPConnection
from typing import Any, Protocol
from urllib.parse import urlencode

import jsonschema_rs
from tests.corpora import CHECKOUT, Deployed

from lamina.actions.registry import ACTIONS
from lamina.contract.envelope import ERROR, compact
from lamina.contract.schema import error_schema
from lamina.local.gateway import Gateway, Handler, load_handler
from lamina.local.server import Server
from lamina.local.template import routes
from lamina.runtime.wiring import wire


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. `status` is None where the transport has no HTTP status; header names are lower case."""

    envelope: dict[str, Any]
    text: str
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def uris(self) -> list[str]:
        """The URIs of a listing."""
        return [entry["uri"] for entry in self.envelope["data"]]


class Unsendable(Exception):  # noqa: N818
    """Arguments that the transport cannot carry: a query string has no nested values, numbers or lone surrogates."""


class Transport(Protocol):
    """One way in."""

    def call(self, deployed: Deployed, action: str, arguments: Mapping[str, Any]) -> Reply:
        """Calls an action of a deployment. Raises Unsendable."""


@dataclass(frozen=True, slots=True)
class HttpGet:
    """GET with a query string; lists are repeated keys."""

    address: tuple[str, int]

    def call(self, deployed: Deployed, action: str, arguments: Mapping[str, Any]) -> Reply:
        return exchange(self.address, deployed, "GET", f"/v1/{action}?{_query(arguments)}")


@dataclass(frozen=True, slots=True)
class HttpPost:
    """POST with a JSON body."""

    address: tuple[str, int]

    def call(self, deployed: Deployed, action: str, arguments: Mapping[str, Any]) -> Reply:
        body = json.dumps(arguments).encode()
        return exchange(self.address, deployed, "POST", f"/v1/{action}", body)


@dataclass(frozen=True, slots=True)
class Mcp:
    """A tool call over MCP; its `result` is the envelope. What is no tool cannot be asked here."""

    address: tuple[str, int]

    def call(self, deployed: Deployed, action: str, arguments: Mapping[str, Any]) -> Reply:
        if not ACTIONS[action].is_tool:
            raise Unsendable(f"{action} is no tool")
        # A brief is all of it over the other transports.
        whole = {"detail": "full"} if action == "brief" else {}
        tool = {"name": ACTIONS[action].tool("oddkit_"), "arguments": {**whole, **arguments}}
        frame = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": tool}
        answer = exchange(self.address, deployed, "POST", "/mcp", json.dumps(frame).encode()).envelope
        result = answer["result"]
        wrapper = result.get("structuredContent") or json.loads(result["content"][0]["text"])
        return Reply(wrapper["result"], compact(wrapper["result"]))


@dataclass(frozen=True, slots=True)
class Direct:
    """The function's handler with the arguments as its event, as Lambda's Invoke gives them."""

    address: tuple[str, int]

    def call(self, deployed: Deployed, action: str, arguments: Mapping[str, Any]) -> Reply:
        stand_before(deployed)
        envelope = handler_of(action)(dict(arguments), None)
        return Reply(envelope, compact(envelope))


# By name, each made with the address of the running gateway.
TRANSPORTS: Mapping[str, Callable[[tuple[str, int]], Transport]] = {
    "http-get": HttpGet,
    "http-post": HttpPost,
    "mcp": Mcp,
    "direct": Direct,
}


def as_described(action: str, reply: Reply) -> Reply:
    """The reply, once it holds what the published schema of its action, or of errors, says and nothing else."""
    _described(action if reply.envelope["status"] != ERROR else None).validate(reply.envelope)
    return reply


@cache
def _described(action: str | None) -> Any:
    return jsonschema_rs.Draft202012Validator(error_schema() if action is None else ACTIONS[action].answer)


@cache
def handler_of(function: str) -> Handler:
    """The handler in `functions/{function}/app.py`."""
    return load_handler(CHECKOUT / "functions" / function.replace("-", "_"), "app.handler")


def stand_before(deployed: Deployed) -> None:
    """Makes the functions of this process answer from a deployment, as a fresh process under its variables would."""
    if os.environ.get("LAMINA_DATA") == str(deployed.data) and wire().settings.data == deployed.data:
        return
    for name in [name for name in os.environ if name.startswith("LAMINA_")]:
        del os.environ[name]
    os.environ.update(deployed.environment())
    wire.cache_clear()


@contextmanager
def running_gateway() -> Iterator[tuple[str, int]]:
    """The local gateway over the real template, on a free loopback port; its address."""
    with Server(("127.0.0.1", 0), Gateway(routes(CHECKOUT / "template.yaml"))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield ("127.0.0.1", server.port)
        server.stop()
        thread.join()


def exchange(
    address: tuple[str, int],
    deployed: Deployed,
    method: str,
    path: str,
    body: bytes | None = None,
    **headers: str,
) -> Reply:
    """One HTTP exchange, as it is; `content_type` becomes `content-type`. A body is JSON unless it says otherwise."""
    stand_before(deployed)
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    if body is not None:
        sent.setdefault("content-type", "application/json")
    connection = HTTPConnection(*address, timeout=30)
    try:
        connection.request(method, path, body, sent)
        response = connection.getresponse()
        text = response.read().decode()
    finally:
        connection.close()
    received = {name.lower(): value for name, value in response.getheaders()}
    return Reply(json.loads(text) if text else {}, text, response.status, received)


def _query(arguments: Mapping[str, Any]) -> str:
    pairs = [(name, _text(value)) for name, item in arguments.items() for value in _each(item)]
    try:
        return urlencode(pairs)
    except UnicodeEncodeError as error:
        raise Unsendable("no UTF-8") from error


def _each(value: Any) -> list[Any]:
    # An empty list has no repeated form; its empty text means the same.
    return (value or [""]) if isinstance(value, list) else [value]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None or isinstance(value, dict | list):
        raise Unsendable(type(value).__name__)
    return str(value)
