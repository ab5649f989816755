"""The one place where a call's record is made and written: what the call was, what came of it, what it cost."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from lamina.contract.envelope import CallFacts
from lamina.contract.errors import LaminaError
from lamina.contract.ids import Revision
from lamina.contract.request import Request
from lamina.contract.tokens import BYTES_PER_TOKEN, count_each, counting_is_free
from lamina.runtime.warm import Served
from lamina.runtime.wiring import Runtime
from lamina.sources.address import AllowedKnowledgeBase
from lamina.telemetry.record import NOT_ALLOWED, Record, consumer_of

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls: what it says of itself, and whether API Gateway knows its key.

    `label` is the name that it gives itself in the query, `caller_id` the one that the body limit counts by; a
    caller without it is not limited.
    """

    header: str | None = None
    mcp_client: str | None = None
    user_agent: str | None = None
    has_key: bool = False
    caller_id: str | None = None
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a call: the action that answered, its status, and the error's code where there is one."""

    action: str
    status: str
    error_code: str | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True)
class Exchange:
    """What went over the wire: texts whose tokens are counted, and bytes where they are no such text."""

    sent: str = ""
    text: str = ""
    bytes_in: int = 0
    bytes_out: int = 0


@dataclass(slots=True)
class CallDetails:
    """What becomes known of a call on its way. A call can end before any of it is known.

    `parameters` are the names of the parameters given, where no request tells them.
    """

    arguments: Mapping[str, Any] = field(default_factory=dict)
    request: Request | None = None
    knowledge_base: AllowedKnowledgeBase | None = None
    served: Served | None = None
    revision: Revision | None = None
    facts: CallFacts = field(default_factory=CallFacts)
    parameters: tuple[str, ...] = ()


def record_call(
    runtime: Runtime,
    started: float,
    outcome: Outcome,
    exchange: Exchange,
    *,
    caller: Caller,
    details: CallDetails,
) -> None:
    """Writes the record of a call that began at `started` on the runtime's clock; a sink that fails is logged."""
    request, facts, revision = details.request, details.facts, details.revision
    knowledge_base, private = _named(details, caller, runtime)
    consumer = consumer_of(caller.label, caller.header, caller.mcp_client, caller.user_agent)
    sizes = len(exchange.sent.encode("utf-8", "replace")), len(exchange.text.encode("utf-8", "replace"))
    # The vocabulary takes 0.15 s to load, which no caller waits for on account of a record.
    estimated = not counting_is_free()
    tokens_in, tokens_out = (
        _estimated(sizes, details) if estimated else tuple(count_each([exchange.sent, exchange.text]))
    )
    record = Record(
        timestamp=datetime.fromtimestamp(runtime.wall_clock(), UTC).isoformat(timespec="milliseconds"),
        action=outcome.action,
        status=outcome.status,
        error_code=outcome.error_code,
        knowledge_base_url=knowledge_base,
        kb_sha=None if revision is None else revision.overlay,
        baseline_sha=None if revision is None else revision.baseline,
        search_scope=None if request is None or request.scope is None else str(request.scope),
        result_grouping=None if request is None or request.grouping is None else str(request.grouping),
        disclosure=() if request is None else tuple(map(str, request.flags)),
        limit=getattr(request, "limit", None),
        parameters=details.parameters if request is None else tuple(sorted(request.model_fields_set)),
        index_size_at_query=facts.index_size,
        overlay_doc_count=facts.overlay_documents,
        baseline_doc_count=facts.baseline_documents,
        overlay_hits=facts.overlay_hits,
        baseline_hits=facts.baseline_hits,
        overlay_hits_in_top_5=facts.overlay_hits_in_top_5,
        baseline_hits_in_top_5=facts.baseline_hits_in_top_5,
        total=outcome.total,
        duration_ms=round((runtime.clock() - started) * 1000, 3),
        cold_start=runtime.take_cold_start(),
        bytes_in=exchange.bytes_in or sizes[0],
        bytes_out=exchange.bytes_out or sizes[1],
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        tokens_legacy_equivalent=facts.tokens_legacy_equivalent,
        tokens_estimated=estimated,
        cache_hits=int(details.served is not None and details.served.cached),
        cache_lookups=int(details.served is not None),
        consumer_label=consumer.label,
        consumer_source=consumer.source,
        function_version=runtime.settings.version,
        document_uri=facts.document_uri,
        private=private,
    )
    try:
        runtime.sink.write(record)
    except OSError as error:
        logger.error("telemetry is not written: %s", type(error).__name__)


def _estimated(sizes: tuple[int, int], details: CallDetails) -> tuple[int, int]:
    """Tokens sent and answered, from their bytes by the corpus' own mean: a page is floors, a document its body."""
    if details.served is None:
        bytes_per_token = BYTES_PER_TOKEN
    else:
        density = details.served.scopes.snapshot.density
        bytes_per_token = density.floor if hasattr(details.request, "limit") else density.body
    sent, answered = (round(size / bytes_per_token) for size in sizes)
    return sent, answered


def record_task(runtime: Runtime, started: float, outcome: Outcome) -> None:
    """Writes the record of what a schedule started: nobody called, and nothing went over the wire."""
    record_call(runtime, started, outcome, Exchange(), caller=Caller(), details=CallDetails())


def _named(details: CallDetails, caller: Caller, runtime: Runtime) -> tuple[str | None, bool]:
    """The knowledge base that a call named as the allow list has it, also where the rest was wrong; is it private."""
    given = details.arguments.get("knowledge_base_url")
    known = details.knowledge_base
    if known is None and given in (None, ""):
        return None, False
    try:
        known = known or runtime.allowed(str(given), has_key=caller.has_key)
    except LaminaError:
        return NOT_ALLOWED, False
    return (NOT_ALLOWED, False) if known is None else (known.name, known.private)
