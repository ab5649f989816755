"""The JSON that goes back: success, absence and failure, in one stable order of keys and one compact form."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from lamina.contract.coercion import encodable
from lamina.contract.errors import LaminaError
from lamina.contract.ids import Revision

Envelope = dict[str, Any]

FOUND = "FOUND"
NOT_FOUND = "NOT_FOUND"
CIRCULAR_SUPERSESSION = "CIRCULAR_SUPERSESSION"
ERROR = "ERROR"


@dataclass(frozen=True, slots=True)
class CallFacts:
    """What an answer says of itself for telemetry: counts and names, never text."""

    index_size: int | None = None
    overlay_documents: int | None = None
    baseline_documents: int | None = None
    overlay_hits: int | None = None
    baseline_hits: int | None = None
    overlay_hits_in_top_5: int | None = None
    baseline_hits_in_top_5: int | None = None
    tokens_legacy_equivalent: int | None = None
    document_uri: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What an action gives back."""

    envelope: Envelope
    revision: Revision
    facts: CallFacts = field(default_factory=CallFacts)


def compact(value: Any) -> str:
    """The wire form of an envelope: no white space, text as it is, what UTF-8 cannot carry replaced."""
    return encodable(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False))


def failure(error: LaminaError, action: str | None) -> Envelope:
    """The envelope of an error."""
    return {
        "status": ERROR,
        "error_code": error.kind.code,
        "error_message": error.message,
        **error.details,
        "action": action,
    }
