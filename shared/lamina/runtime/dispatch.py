"""One call from start to end: raw arguments → validated request → action → envelope, and one record of it."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from lamina.actions.action import Action, QueryContext
from lamina.contract.envelope import (
    CIRCULAR_SUPERSESSION,
    NOT_FOUND,
    Answer,
    Envelope,
    compact,
    failure,
)
from lamina.contract.errors import LaminaError
from lamina.contract.ids import Revision
from lamina.runtime.catalogue import index_name
from lamina.runtime.recorder import CallDetails, Caller, Exchange, Outcome, record_call
from lamina.runtime.wiring import Runtime

logger = logging.getLogger(__name__)


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
    details = CallDetails()
    retry_after = None
    try:
        details.arguments = arguments()
        answer = _answer(action, caller, runtime, details)
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
    label = details.arguments.get("consumer")
    record_call(
        runtime,
        started,
        Outcome(action.name, envelope["status"], envelope.get("error_code"), envelope.get("total")),
        Exchange(json.dumps(details.arguments, ensure_ascii=False, default=str), text, bytes_in),
        caller=replace(caller, label=label) if isinstance(label, str) else caller,
        details=details,
    )
    private = details.knowledge_base is not None and details.knowledge_base.private
    return Reply(status, envelope, text, retry_after, private)


def _answer(action: Action, caller: Caller, runtime: Runtime, details: CallDetails) -> Answer:
    request = action.request.of(details.arguments)
    details.request = request
    details.knowledge_base = runtime.allowed(request.knowledge_base_url, has_key=caller.has_key)
    if request.wants_receipt and not caller.has_key:
        raise LaminaError(
            "API_KEY_REQUIRED",
            "a receipt is kept for good, so minting one needs a key: send it in x-api-key, or ask without receipt.",
            parameter="receipt",
        )
    runtime.body_limit.spend(caller.caller_id, request.bodies)
    knowledge_base = None if details.knowledge_base is None else details.knowledge_base.name
    name = index_name(knowledge_base)
    pinned = None if request.revision is None else Revision.parse(request.revision)
    runtime.note_address(name, details.knowledge_base)
    details.served = runtime.warm.current(name) if pinned is None else runtime.warm.pinned(name, pinned)
    answer = action.run(
        request, QueryContext(details.served.scopes, knowledge_base, details.served.stale, runtime.query_vectors)
    )
    details.revision, details.facts = answer.revision, answer.facts
    envelope = {**answer.envelope, "stale": True} if details.served.stale else answer.envelope
    if request.wants_receipt:
        private = details.knowledge_base is not None and details.knowledge_base.private
        envelope = runtime.minting().with_receipt(request, envelope, details.served.scopes, index=name, private=private)
    return replace(answer, envelope=envelope)


def _status(envelope: Envelope) -> int:
    if envelope["status"] == NOT_FOUND and envelope["data"] is None:
        return 404
    return 409 if envelope["status"] == CIRCULAR_SUPERSESSION else 200
