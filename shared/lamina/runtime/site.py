"""What is asked of the deployment itself: its description, its health, and the answer to unknown paths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lamina.contract.envelope import compact
from lamina.contract.errors import LaminaError
from lamina.runtime.adapter import Handler, failed, method_not_allowed
from lamina.runtime.catalogue import index_name
from lamina.runtime.http_event import HttpRequest, HttpResponse, preflight, with_etag
from lamina.runtime.openapi import document
from lamina.runtime.wiring import Runtime, wire

_KEPT = "public, max-age=300"
_METHODS = ("GET",)


def site() -> Handler:
    """The handler of `/`, `/openapi.json`, `/health` and every path that no other function has."""

    def handler(event: Mapping[str, Any], context: object) -> dict[str, Any]:
        request = HttpRequest.of(event)
        return respond(request, wire()).event()

    return handler


def respond(request: HttpRequest, runtime: Runtime) -> HttpResponse:
    """One request to the site."""
    pages = {"/": _index, "/openapi.json": _openapi, "/health": _health}
    page = pages.get(request.path)
    if page is None:
        paths = [*pages, *(path for path in document(runtime.settings)["paths"] if path not in pages)]
        return failed(
            LaminaError(
                "UNKNOWN_PATH", f"no such path: {request.path[:200]}. See /openapi.json.", paths=paths
            )
        )
    if request.method == "OPTIONS":
        return preflight(_METHODS)
    if request.method not in _METHODS:
        return failed(method_not_allowed(request, _METHODS))
    return page(request, runtime)


def _index(request: HttpRequest, runtime: Runtime) -> HttpResponse:
    paths = list(document(runtime.settings)["paths"])
    text = compact({"name": "lamina", "version": runtime.settings.version, "paths": paths})
    return with_etag(request, HttpResponse(200, text, cache_control=_KEPT))


def _openapi(request: HttpRequest, runtime: Runtime) -> HttpResponse:
    return with_etag(request, HttpResponse(200, compact(document(runtime.settings)), cache_control=_KEPT))


def _health(request: HttpRequest, runtime: Runtime) -> HttpResponse:
    try:
        served = runtime.warm.current(index_name(None))
    except LaminaError as error:
        return failed(error)
    revision = str(served.scopes.snapshot.revision)
    return HttpResponse(200, compact({"status": "ok", "revision": revision, "stale": served.stale}))
