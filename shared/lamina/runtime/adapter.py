"""One action as a Lambda handler: API Gateway events and direct invocations, answered by the same dispatch."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lamina.actions.action import Action, Cached
from lamina.contract.envelope import compact, failure
from lamina.contract.errors import LaminaError
from lamina.contract.ports import StoreUnavailable
from lamina.runtime.awake import awaken
from lamina.runtime.dispatch import Reply, dispatch
from lamina.runtime.entry import guarded
from lamina.runtime.event import HttpRequest, HttpResponse, arguments_of, preflight, with_etag
from lamina.runtime.limits import caller_id
from lamina.runtime.logs import Handler
from lamina.runtime.observed import observed
from lamina.runtime.recorder import Caller
from lamina.runtime.signing import InsecureKey
from lamina.runtime.wiring import Runtime, wire

logger = logging.getLogger(__name__)

_CACHE_CONTROL: Mapping[Cached, str] = {
    Cached.BY_ALL: "public, max-age=300, stale-while-revalidate=3600",
    Cached.BY_THE_CALLER: "private, no-cache",
}


def adapt(action: Action) -> Handler:
    """The handler of an action. An event without `httpMethod` is a direct invocation: arguments in, envelope out."""

    def handler(event: Mapping[str, Any], context: object) -> dict[str, Any]:
        runtime = wire()
        if not isinstance(event, Mapping) or "httpMethod" not in event:
            return dispatch(action, lambda: arguments_of(event), Caller(has_key=True), runtime).envelope
        return respond(action, HttpRequest.of(event), runtime).event()

    awaken(lambda runtime, title: dispatch(action, lambda: _rehearsal(action, title), Caller(has_key=True), runtime))
    return guarded(handler)


def _rehearsal(action: Action, title: str) -> dict[str, Any]:
    """Arguments that the action may be asked with."""
    return {} if action.request.main is None else {action.request.main: title}


def respond(action: Action, request: HttpRequest, runtime: Runtime) -> HttpResponse:
    """One HTTP request to an action."""
    if request.method == "OPTIONS":
        return observed(action.name, request, runtime, lambda: preflight(action.methods))

    def arguments() -> Mapping[str, Any]:
        if request.method not in action.methods:
            raise method_not_allowed(request, action.methods)
        return request.arguments()

    caller = caller_of(request, runtime)
    reply = dispatch(action, arguments, caller, runtime, bytes_in=len(request.body))
    headers = {"Allow": ", ".join((*action.methods, "OPTIONS"))} if reply.status == 405 else {}
    response = HttpResponse(reply.status, reply.text, headers=headers, retry_after=reply.retry_after)
    kept = _cache_control(action, request, reply)
    return response if kept is None else with_etag(request, replace(response, cache_control=kept))


def caller_of(request: HttpRequest, runtime: Runtime) -> Caller:
    """Who calls; on one's own machine no key is needed, nor does anyone check one."""
    local = runtime.settings.data is not None
    return Caller(
        header=request.headers.get("x-oddkit-client"),
        user_agent=request.headers.get("user-agent"),
        has_key=request.api_key is not None or local,
        caller_id=_caller_id(None if local else request.api_key, request.source_ip, runtime),
    )


def _caller_id(checked_key: str | None, address: str, runtime: Runtime) -> str | None:
    """The name that the body limit counts by. A key that nobody checked would let a caller choose a new one."""
    try:
        return caller_id(runtime.warm.signing_key(), checked_key, address, runtime.wall_clock())
    except (StoreUnavailable, InsecureKey) as error:
        logger.warning("the body limit has no key to name callers by: %s", error)
        return None


def method_not_allowed(request: HttpRequest, methods: tuple[str, ...]) -> LaminaError:
    """The error of a route asked by a method that it does not take."""
    return LaminaError(
        "METHOD_NOT_ALLOWED",
        f"{request.method[:16]} is not allowed on {request.path[:200]}. Use {' or '.join(methods)}.",
        methods=list(methods),
    )


def failed(error: LaminaError, action: str | None = None) -> HttpResponse:
    """An error before or outside any action, as its envelope."""
    headers = {"Allow": ", ".join((*error.details["methods"], "OPTIONS"))} if error.kind.http_status == 405 else {}
    text = compact(failure(error, action))
    return HttpResponse(error.kind.http_status, text, headers=headers, retry_after=error.retry_after)


def _cache_control(action: Action, request: HttpRequest, reply: Reply) -> str | None:
    """How a 200 to GET may be kept; None for what may not."""
    if request.method != "GET" or reply.status != 200 or reply.private:
        return None
    return _CACHE_CONTROL.get(action.cached(reply.envelope))
