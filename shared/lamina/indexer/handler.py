"""The indexer as a Lambda handler: on a schedule, on a push to GitHub, and when an index is asked for."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

from lamina.contract.envelope import ERROR, FOUND, compact
from lamina.contract.errors import LaminaError
from lamina.contract.ports import AlreadyExists, SourceUnavailable, StoreUnavailable
from lamina.index.signed import SnapshotRefused
from lamina.indexer.builds import Builder
from lamina.indexer.indexing import Built
from lamina.indexer.wiring import IndexerRuntime, wire_indexer
from lamina.runtime.adapter import failed, method_not_allowed
from lamina.runtime.entry import guarded
from lamina.runtime.event import HttpRequest, HttpResponse, checked_event, parse_json
from lamina.runtime.logs import Handler
from lamina.runtime.observed import observed
from lamina.runtime.recorder import Outcome, record_task
from lamina.runtime.wiring import wire
from lamina.sources.address import AllowedKnowledgeBase, GitHubAddress

logger = logging.getLogger(__name__)

_METHODS = ("POST",)
_PROGRESS_STEP = 500
# Long enough for any build, short enough for the function that waits.
_WAIT_SECONDS, _WAITS = 5.0, 60
# GitHub's own bound on a webhook payload.
MAX_PUSH_BYTES = 25 * 1024 * 1024


def indexer() -> Handler:
    """The handler: an event with `httpMethod` is a webhook, one with `task: build` names an index, else all."""

    def handler(event: Mapping[str, Any], context: object) -> dict[str, Any]:
        asked = checked_event(event)
        runtime = wire_indexer()
        if "httpMethod" in asked:
            request = HttpRequest.of(event)
            return observed("indexer", request, wire(), lambda: webhook(request, runtime)).event()
        started = wire().clock()
        results: list[dict[str, Any]] = []
        if asked.get("task") == "build":
            waits = _WAITS if asked.get("patient") is True else 0
            results.append(_build(runtime.builder, asked.get("knowledge_base_url"), waits))
        else:
            runtime.builder.refresh(lambda name, built, failure: results.append(_result(name, built, failure)))
        for result in results:
            if result["failure"]:
                runtime.on_failure()
        failed_builds = any(result["failure"] for result in results)
        record_task(wire(), started, Outcome("indexer", ERROR if failed_builds else FOUND))
        return {"built": results}

    return guarded(handler)


def webhook(request: HttpRequest, runtime: IndexerRuntime) -> HttpResponse:
    """A push event of GitHub: checks its signature over the raw body, and asks for the builds that it touches."""
    if request.method not in _METHODS:
        return failed(method_not_allowed(request, _METHODS))
    try:
        _check_signature(request, runtime.webhook_secret)
        if request.headers.get("x-github-event") == "ping":
            return _accepted([])
        push = parse_json(request.body)
    except LaminaError as error:
        return failed(error)
    touched = _touched(push, runtime.builder) if request.headers.get("x-github-event") == "push" else []
    for entry in touched:
        runtime.queue.ask(None if entry is None else entry.url)
    return _accepted([entry.name if entry else "baseline" for entry in touched])


def _check_signature(request: HttpRequest, secret: Callable[[], bytes | None]) -> None:
    """Raises LaminaError unless the body carries its HMAC-SHA256 under the shared secret."""
    if len(request.body) > MAX_PUSH_BYTES:
        raise LaminaError("REQUEST_TOO_LARGE", "the payload is too large.", max_bytes=MAX_PUSH_BYTES)
    key = secret()
    given = request.headers.get("x-hub-signature-256", "")
    expected = "" if not key else "sha256=" + hmac.new(key, request.body, hashlib.sha256).hexdigest()
    if not key or not hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode()):
        logger.warning("a webhook's signature does not verify")
        raise LaminaError("API_KEY_REQUIRED", "the webhook's signature does not verify. Check the shared secret.")


def _touched(push: Any, builder: Builder) -> list[AllowedKnowledgeBase | None]:
    """What a push may change: the overlays of that repository and branch, or everything if it is the baseline's."""
    repository = push.get("repository") if isinstance(push, dict) else None
    if not isinstance(repository, dict):
        return []
    full_name = str(repository.get("full_name", "")).lower()
    branch = str(push.get("ref", "")).removeprefix("refs/heads/")
    default = str(repository.get("default_branch", ""))

    def is_pushed(address: object) -> bool:
        return (
            isinstance(address, GitHubAddress)
            and f"{address.owner}/{address.repository}".lower() == full_name
            and branch == (address.ref or default)
        )

    if is_pushed(builder.baseline):
        return [None, *builder.allow.named]
    return [entry for entry in builder.allow.named if is_pushed(entry.address)]


def _build(builder: Builder, address: str | None, waits: int = 0) -> dict[str, Any]:
    """Brings one index up to date; where another build of it runs, waits up to so many times for its end."""
    name = address or "baseline"
    try:
        wanted = builder.named(address)
        built = builder.build(wanted, _progress(name))
        while built is None and waits > 0:
            waits -= 1
            time.sleep(_WAIT_SECONDS)
            built = builder.build(wanted, _progress(name))
        return _result(wanted.name if wanted else "baseline", built, None)
    except LaminaError as error:
        return _result(name, None, error.kind.code)
    except SourceUnavailable as error:
        return _result(name, None, error.reason)
    except (AlreadyExists, SnapshotRefused, StoreUnavailable) as error:
        return _result(name, None, str(error))


def _progress(name: str) -> Callable[[int, int], None]:
    def report(done: int, total: int) -> None:
        if done % _PROGRESS_STEP == 0 or done == total:
            logger.info("%s: %d of %d files", name, done, total)

    return report


def _result(name: str, built: Built | None, failure: str | None) -> dict[str, Any]:
    """One line of the job's answer, which is its log line as well."""
    result: dict[str, Any] = {
        "name": name,
        "revision": built.revision if built else None,
        "documents": built.documents if built else None,
        "unchanged": built.unchanged if built else None,
        "skipped": [[entry.path, entry.reason] for entry in built.skipped[:50]] if built else [],
        "failure": failure,
    }
    (logger.error if failure else logger.info)("build %s", json.dumps(result))
    return result


def _accepted(names: list[str]) -> HttpResponse:
    return HttpResponse(202, compact({"status": "ACCEPTED", "building": names}))
