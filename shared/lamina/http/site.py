"""What is asked of the deployment itself: the explorer, its description, its health, and unknown paths."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lamina.contract.envelope import compact
from lamina.contract.errors import LaminaError
from lamina.contract.request import SearchScope
from lamina.http.explorer.pages import asset, read_page
from lamina.http.openapi import document, text
from lamina.index.snapshot import Snapshot
from lamina.runtime.adapter import caller_of, failed, method_not_allowed
from lamina.runtime.catalogue import index_name
from lamina.runtime.entry import guarded
from lamina.runtime.event import HttpRequest, HttpResponse, preflight, with_etag
from lamina.runtime.logs import Handler
from lamina.runtime.observed import observed_once
from lamina.runtime.wiring import Runtime, wire

_KEPT = "public, max-age=300"
_METHODS = ("GET",)
_MOST_COSTS = 100
_TIERS = ("floor", "blockquote", "metadata", "summary", "body")

Page = Callable[[HttpRequest, Runtime], HttpResponse]


def site() -> Handler:
    """The handler of `/`, `/openapi.json`, `/health`, the explorer, and every path that no other function has."""

    def handler(event: Mapping[str, Any], context: object) -> dict[str, Any]:
        request = HttpRequest.of(event)
        return observed_once("site", request, wire(), lambda runtime: respond(request, runtime)).event()

    return guarded(handler)


def respond(request: HttpRequest, runtime: Runtime) -> HttpResponse:
    """One request to the site."""
    page = PAGES.get(request.path)
    if page is None:
        paths = [*PAGES, *(path for path in document(runtime.settings)["paths"] if path not in PAGES)]
        return failed(
            LaminaError("UNKNOWN_PATH", f"no such path: {request.path[:200]}. See /openapi.json.", paths=paths)
        )
    if request.method == "OPTIONS":
        return preflight(_METHODS)
    if request.method not in _METHODS:
        return failed(method_not_allowed(request, _METHODS))
    try:
        return page(request, runtime)
    except LaminaError as error:
        return failed(error)


def _asset(name: str) -> Page:
    return lambda request, runtime: with_etag(request, asset(name))


def _openapi(request: HttpRequest, runtime: Runtime) -> HttpResponse:
    return with_etag(request, HttpResponse(200, text(runtime.settings), cache_control=_KEPT))


def _health(request: HttpRequest, runtime: Runtime) -> HttpResponse:
    served = runtime.warm.current(index_name(None))
    health = {
        "status": "ok",
        "version": runtime.settings.version,
        "revision": str(served.scopes.snapshot.revision),
        "meaning": _meaning(served.scopes.snapshot),
        "stale": served.stale,
        "tool_prefix": runtime.settings.tool_prefix,
        "knowledge_bases": [base.name for base in runtime.allow.named if not base.private],
    }
    return HttpResponse(200, compact(health))


def _meaning(snapshot: Snapshot) -> str:
    """Whether pages are found in other words: `none`, `following` until the index has its vectors, then `ready`."""
    if snapshot.encoder is None:
        return "none"
    return "following" if snapshot.revision.vectors is None else "ready"


def _costs(request: HttpRequest, runtime: Runtime) -> HttpResponse:
    """Tokens of each tier of the documents named by `uri`: what the explorer shows before a tier is bought."""
    named = request.query.get("knowledge_base_url", (None,))[-1]
    caller = caller_of(request, runtime)
    knowledge_base = runtime.allowed(named, has_key=caller.has_key)
    name = index_name(None if knowledge_base is None else knowledge_base.name)
    runtime.note_address(name, knowledge_base)
    scopes = runtime.warm.current(name).scopes
    snapshot, searched = scopes.snapshot, scopes[SearchScope.MERGED].searched
    costs = {}
    for uri in request.query.get("uri", ())[:_MOST_COSTS]:
        found = snapshot.find(uri, searched) if "://" in uri else None
        if found is not None:
            costs[uri] = dict(zip(_TIERS, map(int, snapshot.tokens[found]), strict=True))
    return HttpResponse(200, compact({"costs": costs, "revision": str(snapshot.revision)}))


PAGES: Mapping[str, Page] = {
    "/": _asset("index.html"),
    "/explorer.css": _asset("explorer.css"),
    "/explorer.js": _asset("explorer.js"),
    "/read": read_page,
    "/costs": _costs,
    "/openapi.json": _openapi,
    "/health": _health,
}
