"""The knowledge contract over HTTP and MCP: who calls with which authority, and what the transport itself refuses."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from lamina.contract.envelope import ERROR, FOUND, compact, failure
from lamina.contract.errors import LaminaError
from lamina.contract.ids import sha256_hex
from lamina.knowledge.protocol import MAX_REQUEST_BYTES, OPERATIONS, REQUEST_SCHEMA, Response
from lamina.knowledge.service import Authority, KnowledgeCaller, KnowledgeService
from lamina.runtime.adapter import caller_of, failed, method_not_allowed
from lamina.runtime.entry import guarded
from lamina.runtime.event import HttpRequest, HttpResponse, parse_json, preflight
from lamina.runtime.knowledge_wiring import wire_knowledge
from lamina.runtime.logs import Handler
from lamina.runtime.observed import observed_once
from lamina.runtime.recorder import CallDetails, Caller, Exchange, Outcome, record_call
from lamina.runtime.wiring import Runtime, wire

logger = logging.getLogger(__name__)

ACTION = "knowledge"
OPERATOR_RESOURCE = "/v1/operator/knowledge"
METHODS = ("POST",)
_LOCAL_OWNER, _DIRECT_OWNER = "local", "direct"
_DESCRIBE: Mapping[str, Any] = {"schema": REQUEST_SCHEMA, "operation": {"op": "describe"}}

TOOL_PURPOSE = (
    "Cite a knowledge workspace by exact bytes, and propose notes that a person accepts. Start with describe."
)
TOOL_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "scope": {
            "type": "object",
            "description": "root, knowledge_workspace (as describe tells them), authority "
            '"local-owner", facts [{"type", "id"}]; not for describe',
        },
        "budget": {
            "type": "object",
            "description": "max_output_bytes (from 1024), max_latency_ms, max_tokens and tokenizer or null; "
            "not for describe",
        },
        "operation": {
            "type": "object",
            "description": "op: describe, query (query, type, limit), propose (capture, reason, context), "
            "review (pending_id)",
            "default": {"op": "describe"},
        },
    },
}


def knowledge() -> Handler:
    """The handler of both routes. An event without `httpMethod` is a direct invocation with agent authority."""

    def handler(event: Mapping[str, Any], context: object) -> dict[str, Any]:
        if not isinstance(event, Mapping) or "httpMethod" not in event:
            caller = KnowledgeCaller(Authority.AGENT, owner=_DIRECT_OWNER, sees_all=False)
            return _answer(event, caller, Caller(has_key=True), wire(), wire_knowledge()).value()
        request = HttpRequest.of(event)
        answered = observed_once(ACTION, request, wire(), lambda runtime: respond(event, runtime, wire_knowledge()))
        return answered.event()

    return guarded(handler)


def respond(event: Mapping[str, Any], runtime: Runtime, service: KnowledgeService) -> HttpResponse:
    """One HTTP request. Both routes reach this function; API Gateway has let only signed ones through to the second."""
    request = HttpRequest.of(event)
    # `resource` is the route that API Gateway matched, which no spelling of the path can forge.
    is_operator = event.get("resource") == OPERATOR_RESOURCE
    if request.method == "OPTIONS" and not is_operator:
        return preflight(METHODS)
    if request.method not in METHODS:
        return failed(method_not_allowed(request, METHODS))
    who = caller_of(request, runtime)
    try:
        if is_operator:
            _refuse_pages(request)
        caller = _operator(event) if is_operator else _agent(who, runtime, request.api_key)
        value = _value(request)
    except LaminaError as error:
        _record(None, None, error, who, runtime, len(request.body))
        return failed(error)
    try:
        response_of = _answer(value, caller, who, runtime, service, bytes_in=len(request.body))
    except LaminaError as error:
        return failed(error)
    return HttpResponse(200, response_of.text())


def knowledge_tool(
    arguments: Mapping[str, Any], who: Caller, runtime: Runtime, service: KnowledgeService | None = None
) -> dict[str, Any]:
    """The MCP tool `knowledge`, with agent authority: the response as a JSON object.

    No arguments describe. Objects may come as JSON text. Raises LaminaError API_KEY_REQUIRED, RATE_LIMITED,
    REQUEST_TOO_LARGE.
    """
    value = {name: _object(given) for name, given in (arguments or _DESCRIBE).items() if given is not None}
    value.setdefault("schema", REQUEST_SCHEMA)
    value.setdefault("operation", _DESCRIBE["operation"])
    size = len(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    if size > MAX_REQUEST_BYTES:
        raise _too_large()
    return _answer(value, _agent(who, runtime), who, runtime, service or wire_knowledge(), bytes_in=size).value()


def _answer(
    value: Any,
    caller: KnowledgeCaller,
    who: Caller,
    runtime: Runtime,
    service: KnowledgeService,
    *,
    bytes_in: int = 0,
) -> Response:
    """Answers and records one request. Raises LaminaError for what the transport tells."""
    started = runtime.clock()
    try:
        response = service.answer(value, caller)
    except LaminaError as error:
        _record(value, None, error, who, runtime, bytes_in, started)
        raise
    _record(value, response, None, who, runtime, bytes_in, started)
    return response


def _operator(event: Mapping[str, Any]) -> KnowledgeCaller:
    """An operator, under the name that IAM knows; on one's own machine, whoever runs it."""
    identity: Mapping[str, Any] = (event.get("requestContext") or {}).get("identity") or {}
    name = str(identity.get("userArn") or _LOCAL_OWNER)
    return KnowledgeCaller(Authority.OPERATOR, owner=f"operator:{name}", name=name)


def _agent(who: Caller, runtime: Runtime, claimed_key: str | None = None) -> KnowledgeCaller:
    """An agent, whose proposals are known by a hash of its key; the key itself is kept nowhere.

    On one's own machine nobody checks a key, so it only keeps apart those who send different ones.
    """
    if runtime.settings.data is not None:
        hashed = None if claimed_key is None else sha256_hex(claimed_key.encode("utf-8", "replace"))[:32]
        owner = _LOCAL_OWNER if hashed is None else f"key:{hashed}"
    elif who.has_key and who.caller_id is None:
        raise LaminaError("STORE_UNAVAILABLE", "Callers cannot be told apart just now. Try again in a few seconds.")
    else:
        owner = f"key:{who.caller_id}"
    return KnowledgeCaller(
        Authority.AGENT,
        owner=owner,
        sees_all=False,
        describe_only=not who.has_key,
        spend=lambda passages: runtime.body_limit.spend(who.caller_id, passages),
    )


def _refuse_pages(request: HttpRequest) -> None:
    """A page in a browser must not decide in its reader's name: on one's own machine nothing else would stop it."""
    if "origin" in request.headers:
        raise LaminaError(
            "INVALID_PARAMETER", "this route is not for pages in a browser: send no Origin.", parameter="Origin"
        )


def _value(request: HttpRequest) -> Any:
    """The JSON value of a body. Raises REQUEST_TOO_LARGE, INVALID_JSON, UNSUPPORTED_MEDIA_TYPE."""
    if len(request.body) > MAX_REQUEST_BYTES:
        raise _too_large()
    media_type = request.headers.get("content-type", "application/json").split(";")[0].strip().lower()
    if media_type != "application/json" and not media_type.endswith("+json"):
        raise LaminaError("UNSUPPORTED_MEDIA_TYPE", "the body must be JSON: send content-type: application/json.")
    return parse_json(request.body)


def _too_large() -> LaminaError:
    return LaminaError(
        "REQUEST_TOO_LARGE", f"the request is over {MAX_REQUEST_BYTES} bytes.", max_bytes=MAX_REQUEST_BYTES
    )


def _object(given: Any) -> Any:
    """An argument that a client sent as JSON text where an object is meant."""
    if not isinstance(given, str) or not given.lstrip().startswith("{"):
        return given
    try:
        return parse_json(given.encode("utf-8", "replace"))
    except LaminaError:
        return given


def _record(
    value: Any,
    response: Response | None,
    error: LaminaError | None,
    who: Caller,
    runtime: Runtime,
    bytes_in: int,
    started: float | None = None,
) -> None:
    """Writes the record of one call: which operation and what came of it, none of its text."""
    code = error.kind.code if error is not None else None
    if response is not None and response.code is not None:
        code = str(response.code)
    sent = json.dumps(value, ensure_ascii=False, default=str)
    text = compact(failure(error, ACTION)) if error is not None else ("" if response is None else response.text())
    record_call(
        runtime,
        runtime.clock() if started is None else started,
        Outcome(ACTION, FOUND if code is None else ERROR, code),
        Exchange(sent, text, bytes_in),
        caller=who,
        details=CallDetails(parameters=_operation(value)),
    )


def _operation(value: Any) -> tuple[str, ...]:
    """The operation's name where it is one of the six, so that nothing else of a request is recorded."""
    operation = value.get("operation") if isinstance(value, dict) else None
    name = operation.get("op") if isinstance(operation, dict) else None
    return (f"op:{name}",) if isinstance(name, str) and name in OPERATIONS else ()
