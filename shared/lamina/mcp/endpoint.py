"""MCP over HTTP: one endpoint, stateless, JSON answers; what HTTP itself refuses, before any frame is looked at."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from lamina.contract.coercion import encodable
from lamina.contract.envelope import compact, failure
from lamina.contract.errors import LaminaError
from lamina.contract.request import MAX_BATCH, MAX_BODY_BYTES
from lamina.mcp.frames import (
    BATCHING,
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    Outcome,
    ProtocolError,
    Visit,
    error_frame,
)
from lamina.mcp.protocol import answer
from lamina.runtime.adapter import caller_of, failed, method_not_allowed
from lamina.runtime.awake import awaken
from lamina.runtime.entry import guarded
from lamina.runtime.event import HttpRequest, HttpResponse, is_carried, parse_json, too_large
from lamina.runtime.logs import Handler
from lamina.runtime.observed import observed_once
from lamina.runtime.settings import Settings
from lamina.runtime.wiring import Runtime, wire

METHODS = ("POST",)

_HEADERS = "Mcp-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name"
_EXPOSED = {"Access-Control-Expose-Headers": f"Retry-After, {_HEADERS}"}
_JSON, _EVENTS = "application/json", "text/event-stream"
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def mcp() -> Handler:
    """The handler of `/mcp`."""

    def handler(event: Mapping[str, Any], context: object) -> dict[str, Any]:
        request = HttpRequest.of(event)
        response = observed_once("mcp", request, wire(), lambda runtime: respond(request, runtime))
        return replace(response, headers={**_EXPOSED, **response.headers}).event()

    awaken(_rehearse)
    return guarded(handler)


def _rehearse(runtime: Runtime, title: str) -> None:
    """A list of the tools and a search, as an older client sends them."""
    calls: tuple[tuple[str, dict[str, Any]], ...] = (
        ("tools/list", {}),
        ("tools/call", {"name": "oddkit", "arguments": {"action": "search", "input": title}}),
    )
    for number, (method, params) in enumerate(calls):
        frame = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        event = {"httpMethod": "POST", "path": "/mcp", "body": json.dumps(frame)}
        respond(HttpRequest.of(event), runtime)


def respond(request: HttpRequest, runtime: Runtime) -> HttpResponse:
    """One HTTP request to the endpoint."""
    origin = request.headers.get("origin")
    if origin is not None and not is_allowed_origin(origin, runtime.settings):
        return _error(403, ProtocolError(INVALID_REQUEST, "this origin is not allowed"))
    if request.method == "OPTIONS":
        return _preflight()
    if request.method not in METHODS:
        return failed(method_not_allowed(request, METHODS))
    accept = request.headers.get("accept", "")
    if not accepts(accept, _JSON):
        if _EVENTS in accept.lower() and accepts(accept, _EVENTS):
            return _as_event(_answered(request, runtime))
        refused = f"the answer is {_JSON} or one event of {_EVENTS}, and accept excludes both"
        return _error(406, ProtocolError(INVALID_REQUEST, refused))
    return _answered(request, runtime)


def _answered(request: HttpRequest, runtime: Runtime) -> HttpResponse:
    """The answer to the frames of a request, as JSON."""
    try:
        frame = _body(request)
    except LaminaError as error:
        code = PARSE_ERROR if error.kind.code == "INVALID_JSON" else INVALID_REQUEST
        told = ProtocolError(code, error.message, failure(error, None))
        return _error(error.kind.http_status, told)
    visit = Visit(
        runtime,
        caller_of(request, runtime),
        knowledge_base=_first(request, "knowledge_base_url"),
        consumer=_first(request, "consumer"),
        headers=request.headers,
        bytes_in=len(request.body),
    )
    if isinstance(frame, list):
        return _batch(frame, visit)
    return _response(answer(frame, visit))


def is_allowed_origin(origin: str, settings: Settings) -> bool:
    """Whether pages of an origin may call.

    Loopback pages always may. Beyond them: those that the setting names; without a setting every https origin
    of a public deployment, and none on one's own machine, which a rebound name could else reach.
    """
    given = origin.strip().lower()
    try:
        parts = urlsplit(given)
        host = parts.hostname
    except ValueError:
        return False
    if parts.scheme in ("http", "https") and host in _LOOPBACK:
        return True
    if settings.mcp_origins:
        return given in [entry.strip().lower() for entry in settings.mcp_origins.split(",")]
    return settings.data is None and parts.scheme == "https" and bool(host)


def accepts(accept: str, wanted: str) -> bool:
    """Whether an Accept header lets a type through: its most particular range decides, a missing one is `*/*`."""
    if not accept.strip():
        return True
    ranges = ("*/*", f"{wanted.partition('/')[0]}/*", wanted)
    best, quality = -1, 0.0
    for entry in accept.split(","):
        media, *parameters = (part.strip().lower() for part in entry.split(";"))
        if media in ranges and ranges.index(media) > best:
            best, quality = ranges.index(media), _quality(parameters)
    return quality > 0


def _quality(parameters: list[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return float(value)
            except ValueError:
                return 1.0
    return 1.0


def _as_event(response: HttpResponse) -> HttpResponse:
    """The answer as the only event of a stream, for clients that read nothing else."""
    if not response.text:
        return response
    return replace(response, text=f"event: message\ndata: {response.text}\n\n", content_type=_EVENTS)


def _body(request: HttpRequest) -> Any:
    """The frame or batch. Raises REQUEST_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE, INVALID_JSON."""
    if len(request.body) > MAX_BODY_BYTES:
        raise LaminaError("REQUEST_TOO_LARGE", f"the body is over {MAX_BODY_BYTES} bytes.", max_bytes=MAX_BODY_BYTES)
    media_type = (request.headers.get("content-type") or "application/json").split(";")[0].strip().lower()
    if media_type != "application/json":
        raise LaminaError("UNSUPPORTED_MEDIA_TYPE", "the body must be JSON: send content-type: application/json.")
    return parse_json(request.body)


def _batch(frames: list[Any], visit: Visit) -> HttpResponse:
    """Several frames in one body, which one revision has; a request without a version is of that one."""
    version = (visit.headers or {}).get("mcp-protocol-version", BATCHING)
    if version != BATCHING:
        return _error(400, ProtocolError(INVALID_REQUEST, f"batches are of revision {BATCHING} alone"))
    if not 0 < len(frames) <= MAX_BATCH:
        return _error(400, ProtocolError(INVALID_REQUEST, f"a batch holds 1 to {MAX_BATCH} frames"))
    outcomes = [_of_batch(frame, visit) for frame in frames]
    answers = [outcome.frame for outcome in outcomes if outcome.frame is not None]
    if not answers:
        return HttpResponse(202, "")
    text = encodable(compact(answers))
    if not is_carried(text):
        return _error(400, ProtocolError(INVALID_REQUEST, "the answers are too large for one response: send fewer"))
    waits = [outcome.retry_after for outcome in outcomes if outcome.retry_after is not None]
    return HttpResponse(200, text, retry_after=max(waits, default=None))


def _of_batch(frame: Any, visit: Visit) -> Outcome:
    if isinstance(frame, dict) and frame.get("method") == "initialize":
        return answer({**frame, "method": None}, visit)  # a handshake is never part of a batch
    size = len(encodable(compact(frame)).encode()) if isinstance(frame, dict) else 0
    return answer(frame, replace(visit, bytes_in=size))


def _response(outcome: Outcome) -> HttpResponse:
    if outcome.frame is None:
        return HttpResponse(outcome.status, "")
    text = encodable(compact(outcome.frame))
    if not is_carried(text):
        error = too_large()
        frame = error_frame(ProtocolError(INVALID_PARAMS, error.message, failure(error, None)), outcome.frame["id"])
        return HttpResponse(outcome.status, compact(frame))
    return HttpResponse(outcome.status, text, retry_after=outcome.retry_after)


def _error(status: int, error: ProtocolError) -> HttpResponse:
    return HttpResponse(status, encodable(compact(error_frame(error, None))))


def _first(request: HttpRequest, name: str) -> str | None:
    values = request.query.get(name)
    return values[0] if values and values[0] else None


def _preflight() -> HttpResponse:
    allowed = f"Content-Type, Accept, Authorization, X-Api-Key, X-Oddkit-Client, Last-Event-Id, {_HEADERS}"
    return HttpResponse(
        204,
        "",
        headers={
            "Access-Control-Allow-Methods": "POST, OPTIONS",
            "Access-Control-Allow-Headers": allowed,
            "Access-Control-Max-Age": "86400",
        },
    )
