"""One call from start to end: raw arguments → validated request → action → envelope, and one record of it."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from lamina.actions.action import Action, QueryContext
from lamina.contract.envelope import (
    CIRCULAR_SUPERSESSION,
    ERROR,
    NOT_FOUND,
    Answer,
    CallFacts,
    Envelope,
    compact,
    failure,
)
from lamina.contract.errors import LaminaError
from lamina.contract.ids import Revision
from lamina.contract.request import Request
from lamina.contract.tokens import count_each
from lamina.runtime.catalogue import index_name
from lamina.runtime.limits import bodies_of
from lamina.runtime.warm import Served
from lamina.runtime.wiring import Runtime
from lamina.sources.address import AllowedKnowledgeBase
from lamina.telemetry.record import NOT_ALLOWED, Record, consumer_of

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls: what it says of itself, and whether API Gateway knows its key.

    `caller_id` is the name that the body limit counts by; None is not limited.
    """

    header: str | None = None
    mcp_client: str | None = None
    user_agent: str | None = None
    has_key: bool = False
    caller_id: str | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes back: the envelope, its compact JSON, and what HTTP makes of it.

    `private` says that it came from a knowledge base that only callers with a key may read.
    """

    status: int
    envelope: Envelope
    text: str
    retry_after: int | None = None
    private: bool = False


@dataclass(slots=True)
class _Course:
    """What becomes known of a call on its way, for the record."""

    arguments: Mapping[str, Any] = field(default_factory=dict)
    request: Request | None = None
    knowledge_base: AllowedKnowledgeBase | None = None
    served: Served | None = None
    revision: Revision | None = None
    facts: CallFacts = field(default_factory=CallFacts)


def dispatch(
    action: Action,
    arguments: Callable[[], Mapping[str, Any]],
    caller: Caller,
    runtime: Runtime,
    *,
    bytes_in: int = 0,
) -> Reply:
    """Answers one call. Whatever goes wrong, also in reading the arguments, comes back as an envelope."""
    started = runtime.clock()
    course = _Course()
    retry_after = None
    try:
        course.arguments = arguments()
        answer = _answer(action, caller, runtime, course)
        envelope, status = answer.envelope, _status(answer.envelope)
    except LaminaError as error:
        instead = action.without_index(error)
        envelope, status = instead or failure(error, action.name), 200 if instead else error.kind.http_status
        retry_after = error.retry_after
        if error.kind.is_server_fault:
            logger.error("%s on %s", error.kind.code, action.name)
    except Exception:
        # The message of an unforeseen exception may quote the request, so only the place is logged.
        logger.error("INTERNAL_ERROR on %s", action.name, exc_info=runtime.log_tracebacks)
        fault = LaminaError("INTERNAL_ERROR", "Something failed that should not. Try again later.")
        envelope, status = failure(fault, action.name), fault.kind.http_status
    text = compact(envelope)
    record = _record(action, caller, runtime, course, envelope, text, started, bytes_in)
    try:
        runtime.sink.write(record)
    except OSError as error:
        logger.error("telemetry is not written: %s", type(error).__name__)
    private = course.knowledge_base is not None and course.knowledge_base.private
    return Reply(status, envelope, text, retry_after, private)


def _answer(action: Action, caller: Caller, runtime: Runtime, course: _Course) -> Answer:
    request = action.request.of(course.arguments)
    course.request = request
    course.knowledge_base = runtime.allowed(request.knowledge_base_url, has_key=caller.has_key)
    if request.wants_receipt and not caller.has_key:
        raise LaminaError(
            "API_KEY_REQUIRED",
            "a receipt is kept for good, so minting one needs a key: send it in x-api-key, or ask without receipt.",
            parameter="receipt",
        )
    runtime.body_limit.spend(caller.caller_id, bodies_of(request))
    knowledge_base = None if course.knowledge_base is None else course.knowledge_base.name
    name = index_name(knowledge_base)
    pinned = None if request.revision is None else Revision.parse(request.revision)
    runtime.note_address(name, course.knowledge_base)
    course.served = runtime.warm.current(name) if pinned is None else runtime.warm.pinned(name, pinned)
    answer = action.run(request, QueryContext(course.served.scopes, knowledge_base, course.served.stale))
    course.revision, course.facts = answer.revision, answer.facts
    envelope = {**answer.envelope, "stale": True} if course.served.stale else answer.envelope
    if request.wants_receipt:
        private = course.knowledge_base is not None and course.knowledge_base.private
        envelope = runtime.minting().with_receipt(request, envelope, course.served.scopes, index=name, private=private)
    return replace(answer, envelope=envelope)


def _status(envelope: Envelope) -> int:
    if envelope["status"] == NOT_FOUND and envelope["data"] is None:
        return 404
    return 409 if envelope["status"] == CIRCULAR_SUPERSESSION else 200


def _named(course: _Course, caller: Caller, runtime: Runtime) -> tuple[str | None, bool]:
    """The knowledge base that a call named as the allow list has it, also where the rest was wrong; is it private."""
    given = course.arguments.get("knowledge_base_url")
    known = course.knowledge_base
    if known is None and given in (None, ""):
        return None, False
    try:
        known = known or runtime.allowed(str(given), has_key=caller.has_key)
    except LaminaError:
        return NOT_ALLOWED, False
    return (NOT_ALLOWED, False) if known is None else (known.name, known.private)


def _record(
    action: Action,
    caller: Caller,
    runtime: Runtime,
    course: _Course,
    envelope: Envelope,
    text: str,
    started: float,
    bytes_in: int,
) -> Record:
    request, facts, revision = course.request, course.facts, course.revision
    knowledge_base, private = _named(course, caller, runtime)
    sent = json.dumps(course.arguments, ensure_ascii=False, default=str)
    label = course.arguments.get("consumer")
    consumer = consumer_of(
        label if isinstance(label, str) else None, caller.header, caller.mcp_client, caller.user_agent
    )
    tokens_in, tokens_out = count_each([sent, text])
    return Record(
        timestamp=datetime.fromtimestamp(runtime.wall_clock(), UTC).isoformat(timespec="milliseconds"),
        action=action.name,
        status=envelope["status"],
        error_code=envelope["error_code"] if envelope["status"] == ERROR else None,
        knowledge_base_url=knowledge_base,
        kb_sha=None if revision is None else revision.overlay,
        baseline_sha=None if revision is None else revision.baseline,
        search_scope=str(request.scope) if request is not None and request.scope is not None else None,
        result_grouping=str(request.grouping) if request is not None and request.grouping is not None else None,
        disclosure=tuple(map(str, request.flags)) if request is not None else (),
        limit=getattr(request, "limit", None),
        parameters=tuple(sorted(request.model_fields_set)) if request is not None else (),
        index_size_at_query=facts.index_size,
        overlay_doc_count=facts.overlay_documents,
        baseline_doc_count=facts.baseline_documents,
        overlay_hits=facts.overlay_hits,
        baseline_hits=facts.baseline_hits,
        overlay_hits_in_top_5=facts.overlay_hits_in_top_5,
        baseline_hits_in_top_5=facts.baseline_hits_in_top_5,
        total=envelope.get("total"),
        duration_ms=round((runtime.clock() - started) * 1000, 3),
        cold_start=runtime.take_cold_start(),
        bytes_in=bytes_in or len(sent.encode("utf-8", "replace")),
        bytes_out=len(text.encode()),
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        tokens_legacy_equivalent=facts.tokens_legacy_equivalent,
        cache_hits=int(course.served is not None and course.served.cached),
        cache_lookups=int(course.served is not None),
        consumer_label=consumer.label,
        consumer_source=consumer.source,
        function_version=runtime.settings.version,
        document_uri=facts.document_uri,
        private=private,
    )
