"""One MCP frame in, one out: which era it is of, whether it is well formed, and which method answers it."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from lamina.mcp.completions import complete
from lamina.mcp.frames import (
    CAPABILITIES_KEY,
    CLIENT_KEY,
    HANDSHAKE,
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    SERVER_KEY,
    STATELESS,
    VERSION_KEY,
    VERSIONS,
    Fields,
    Outcome,
    ProtocolError,
    Result,
    Visit,
    client_name,
    error_frame,
    http_status,
    text_of,
    unsupported,
)
from lamina.mcp.prompts import get_prompt, list_prompts
from lamina.mcp.resources import list_resources, list_templates, read_resource
from lamina.mcp.tools import LIST_TTL_MS, call_tool, instructions, list_tools

Params = Mapping[str, Any]
Method = Callable[[Params, Visit], Result]

SERVER_NAME = "lamina"
_DISCOVER = "server/discover"
_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_SENTINEL_OPENS, _SENTINEL_CLOSES = "=?base64?", "?="


def answer(frame: Any, visit: Visit) -> Outcome:
    """Answers any JSON value that came as a frame; never raises."""
    if not isinstance(frame, dict):
        return _refused(ProtocolError(INVALID_REQUEST, "a frame must be one JSON object"), None)
    identifier = frame.get("id")
    identified = isinstance(identifier, str | int) and not isinstance(identifier, bool)
    visit = replace(visit, modern=_is_modern(frame, visit))
    try:
        if frame.get("jsonrpc") != "2.0":
            raise ProtocolError(INVALID_REQUEST, 'jsonrpc must be "2.0"')
        if "method" not in frame and ("result" in frame or "error" in frame) and not visit.modern:
            return Outcome(None, 202)
        method = frame.get("method")
        if not isinstance(method, str):
            raise ProtocolError(INVALID_REQUEST, "method must be text")
        if "id" not in frame:
            _check_version_header(visit)
            return Outcome(None, 202)
        if not identified:
            raise ProtocolError(INVALID_REQUEST, "id must be text or a whole number")
        params = frame.get("params")
        if params is not None and not isinstance(params, dict):
            raise ProtocolError(INVALID_PARAMS, "params must be an object")
        return _answered(identifier, method, params or {}, visit)
    except ProtocolError as error:
        return _refused(error, identifier if identified else None, modern=visit.modern)


def _answered(identifier: Any, method: str, params: Params, visit: Visit) -> Outcome:
    """The result of a well-formed request. Raises ProtocolError."""
    meta = _meta(params)
    if visit.modern:
        _check_stateless(method, params, visit)
    elif method != "initialize":
        _check_version_header(visit)
    known = _STATELESS_METHODS if visit.modern else _HANDSHAKE_METHODS
    if method not in known:
        raise ProtocolError(METHOD_NOT_FOUND, f"Method not found: {method[:64]}")
    told = params.get("clientInfo") if method == "initialize" else meta.get(CLIENT_KEY)
    name = client_name(told)
    if name is not None:
        visit = replace(visit, caller=replace(visit.caller, mcp_client=name))
    result = known[method](params, visit)
    fields = _stateless(result, visit) if visit.modern else result.fields
    return Outcome(
        {"jsonrpc": "2.0", "id": identifier, "result": fields},
        retry_after=result.retry_after,
        negotiated=fields["protocolVersion"] if method == "initialize" else None,
    )


def _is_modern(frame: Mapping[str, Any], visit: Visit) -> bool:
    """Whether a frame is of the stateless revision: it says so itself, or its header does."""
    params = frame.get("params")
    if VERSION_KEY in _meta(params if isinstance(params, dict) else {}):
        return True
    method = frame.get("method")
    if method == "initialize":
        return False
    header = None if visit.headers is None else visit.headers.get("mcp-protocol-version")
    return header == STATELESS or method == _DISCOVER


def _meta(params: Params) -> Mapping[str, Any]:
    meta = params.get("_meta")
    return meta if isinstance(meta, dict) else {}


def _check_version_header(visit: Visit) -> None:
    """A missing header is that of a revision without one. Raises UNSUPPORTED_VERSION."""
    header = None if visit.headers is None else visit.headers.get("mcp-protocol-version")
    if header is not None and header not in VERSIONS:
        raise unsupported(header)


def _check_stateless(method: str, params: Params, visit: Visit) -> None:
    """What the stateless revision asks of each request: its own description, the same in body and headers."""
    meta = _meta(params)
    missing = [key for key in (VERSION_KEY, CAPABILITIES_KEY) if key not in meta]
    if missing:
        raise ProtocolError(INVALID_PARAMS, f"params._meta lacks {', '.join(missing)}")
    version = meta[VERSION_KEY]
    if visit.headers is not None:
        _check_headers(method, params, version, visit.headers)
    if not isinstance(version, str):
        raise ProtocolError(INVALID_PARAMS, f"{VERSION_KEY} must be text")
    if version != STATELESS:
        raise unsupported(version)


def _check_headers(method: str, params: Params, version: Any, headers: Mapping[str, str]) -> None:
    expected = {"MCP-Protocol-Version": version, "Mcp-Method": method}
    named = params.get(_NAMED_BY[method]) if method in _NAMED_BY else None
    if named is not None:
        expected["Mcp-Name"] = named
    for name, value in expected.items():
        header = headers.get(name.lower())
        if header is None:
            raise ProtocolError(HEADER_MISMATCH, f"Header mismatch: {name} is missing")
        if (_decoded(header) if name == "Mcp-Name" else header) != value:
            raise ProtocolError(HEADER_MISMATCH, f"Header mismatch: {name} does not match the body")


def _decoded(header: str) -> str | None:
    """A header value out of its Base64 form; None where it claims that form and is not it."""
    if not (header.startswith(_SENTINEL_OPENS) and header.endswith(_SENTINEL_CLOSES)):
        return header
    encoded = header[len(_SENTINEL_OPENS) : -len(_SENTINEL_CLOSES)]
    try:
        return base64.b64decode(encoded, validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return None


def _stateless(result: Result, visit: Visit) -> Fields:
    """A result with what the stateless revision adds to it."""
    fields = {"resultType": "complete", **result.fields}
    if result.ttl_ms is not None:
        fields |= {"ttlMs": result.ttl_ms, "cacheScope": "public" if result.public else "private"}
    return {**fields, "_meta": {SERVER_KEY: _server(visit)}}


def _refused(error: ProtocolError, identifier: Any, *, modern: bool = False) -> Outcome:
    return Outcome(error_frame(error, identifier), http_status(error.code, modern=modern))


def _initialize(params: Params, visit: Visit) -> Result:
    asked = text_of(params, "protocolVersion")
    version = asked if asked in HANDSHAKE else HANDSHAKE[0]
    return Result({"protocolVersion": version, **_abilities(visit), "serverInfo": _server(visit)})


def _discover(params: Params, visit: Visit) -> Result:
    return Result({"supportedVersions": list(VERSIONS), **_abilities(visit)}, LIST_TTL_MS)


def _ping(params: Params, visit: Visit) -> Result:
    return Result({})


def _abilities(visit: Visit) -> Fields:
    capabilities: Fields = {"tools": {}, "resources": {}, "prompts": {}, "completions": {}}
    return {"capabilities": capabilities, "instructions": instructions(visit.runtime.settings)}


def _server(visit: Visit) -> Fields:
    return {"name": SERVER_NAME, "version": visit.runtime.settings.version}


_METHODS: Mapping[str, Method] = {
    "tools/list": list_tools,
    "tools/call": call_tool,
    "resources/list": list_resources,
    "resources/templates/list": list_templates,
    "resources/read": read_resource,
    "prompts/list": list_prompts,
    "prompts/get": get_prompt,
    "completion/complete": complete,
}
_STATELESS_METHODS: Mapping[str, Method] = {**_METHODS, _DISCOVER: _discover}
_HANDSHAKE_METHODS: Mapping[str, Method] = {**_METHODS, "initialize": _initialize, "ping": _ping}
