"""What a JSON-RPC frame of MCP is, which revisions there are, and what each failure is called on the wire."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lamina.runtime.recorder import Caller
from lamina.runtime.wiring import Runtime

STATELESS = "2026-07-28"
HANDSHAKE = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
BATCHING = "2025-03-26"
VERSIONS = (STATELESS, *HANDSHAKE)

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
RESOURCE_NOT_FOUND = -32002  # of the revisions with a handshake; later ones say INVALID_PARAMS
HEADER_MISMATCH = -32020
UNSUPPORTED_VERSION = -32022

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
CLIENT_KEY = "io.modelcontextprotocol/clientInfo"
SERVER_KEY = "io.modelcontextprotocol/serverInfo"

Fields = dict[str, Any]


class ProtocolError(Exception):
    """A frame that is answered by a JSON-RPC error; `data` is a JSON value for the caller."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


@dataclass(frozen=True, slots=True)
class Visit:
    """A frame's surroundings: who sends it over which transport, and what the endpoint's address adds to its calls.

    `knowledge_base` and `consumer` stand for the arguments that a call leaves out. `headers` are those of HTTP,
    None on stdio. `modern` says that the frame is of the stateless revision.
    """

    runtime: Runtime
    caller: Caller
    knowledge_base: str | None = None
    consumer: str | None = None
    headers: Mapping[str, str] | None = None
    modern: bool = False
    bytes_in: int = 0


@dataclass(frozen=True, slots=True)
class Result:
    """What a method answers. `ttl_ms` is how long a client may keep it, None for what is no list or document."""

    fields: Fields
    ttl_ms: int | None = None
    public: bool = True
    retry_after: int | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The frame that goes back, None where nothing does, and the HTTP status that it goes under."""

    frame: Fields | None
    status: int = 200
    retry_after: int | None = None
    negotiated: str | None = None


def error_frame(error: ProtocolError, identifier: str | int | None) -> Fields:
    """The JSON-RPC error; the id is null where the frame's own could not be read."""
    told: Fields = {"code": error.code, "message": error.message}
    if error.data is not None:
        told["data"] = error.data
    return {"jsonrpc": "2.0", "id": identifier, "error": told}


def http_status(code: int, *, modern: bool) -> int:
    """The status of an error: the stateless revision names one for most, before it only unreadable frames had one."""
    if code in (PARSE_ERROR, INVALID_REQUEST, HEADER_MISMATCH, UNSUPPORTED_VERSION):
        return 400
    if modern:
        return {METHOD_NOT_FOUND: 404, INVALID_PARAMS: 400}.get(code, 200)
    return 200


def unsupported(version: Any) -> ProtocolError:
    """The error that names the revisions there are."""
    asked = version[:64] if isinstance(version, str) else version
    return ProtocolError(
        UNSUPPORTED_VERSION, "Unsupported protocol version", {"supported": list(VERSIONS), "requested": asked}
    )


def text_of(params: Mapping[str, Any], name: str) -> str:
    """A parameter that has to be text. Raises INVALID_PARAMS."""
    value = params.get(name)
    if not isinstance(value, str) or not value:
        raise ProtocolError(INVALID_PARAMS, f"{name} must be given as text")
    return value


def client_name(info: Any) -> str | None:
    """The name that a client gives itself."""
    name = info.get("name") if isinstance(info, dict) else None
    return name if isinstance(name, str) else None
