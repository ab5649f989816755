"""What a process client may say to a knowledge workspace and what it gets back: shapes, bounds, error words."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from lamina.contract.tokens import TOKENIZER_NAMES

REQUEST_SCHEMA = "synapse.knowledge-request/1"
RESPONSE_SCHEMA = "synapse.knowledge-response/1"
CONTEXT_SCHEMA = "synapse.knowledge-proposal-context/1"
LOCAL_OWNER = "local-owner"
OPERATIONS = ("describe", "query", "propose", "review", "accept", "reject")

MAX_REQUEST_BYTES = 256 * 1024
# An answer to a write must always fit, so that it is never formed in vain.
LEAST_OUTPUT_BYTES = 1024
# Beyond this a number is no budget but a mistake; also what every JSON reader keeps exactly.
HIGHEST_BUDGET = 2**53 - 1
MOST_PASSAGES = 1000
MOST_WAITING = 1000
LONGEST_TITLE = 200
LONGEST_WORD = 100
LONGEST_PATH = 1024
MOST_FACTS = 1000
MOST_SOURCES = 1000
MOST_TAGS = 64

_DIGEST = re.compile(r"[0-9a-f]{64}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class ErrorCode(StrEnum):
    """The words that `error.code` may be. None of them holds text of a request or a source."""

    INVALID_INPUT = "invalid_input"
    WRONG_ROOT = "wrong_root"
    WRONG_WORKSPACE = "wrong_workspace"
    UNSUPPORTED_SHARED_AUTHORITY = "unsupported_shared_authority"
    UNSUPPORTED_BUDGET = "unsupported_budget"
    BUDGET_EXCEEDED = "budget_exceeded"
    SOURCE_DRIFT = "source_drift"
    BASELINE_REQUIRED = "baseline_required"
    IDEMPOTENCY_CONFLICT = "idempotency_conflict"
    PENDING_LIMIT_REACHED = "pending_limit_reached"
    INVALID_PENDING_ID = "invalid_pending_id"
    INVALID_REVIEW_DIGEST = "invalid_review_digest"
    REVIEW_CHANGED = "review_changed"
    STALE_HEAD = "stale_head"
    STALE_MANIFEST = "stale_manifest"
    STALE_SOURCE = "stale_source"
    STALE_POLICY = "stale_policy"
    LOCAL_OPERATOR_ACCEPTANCE_REQUIRED = "local_operator_acceptance_required"
    LOCAL_OPERATOR_REJECTION_REQUIRED = "local_operator_rejection_required"
    UNAVAILABLE = "unavailable"
    INTERNAL_ERROR = "internal_error"


class Refusal(Exception):  # noqa: N818 - named for what happened
    """A request that the contract refuses; nothing was written."""

    def __init__(self, code: ErrorCode) -> None:
        super().__init__(str(code))
        self.code = code


def _encodable(text: str) -> str:
    """Lone surrogates have no bytes: they could be neither hashed nor stored."""
    text.encode("utf-8")
    return text


def _said(text: str) -> str:
    if not text.strip():
        raise ValueError("blank")
    return _encodable(text)


def _one_line(text: str) -> str:
    if _CONTROL.search(text):
        raise ValueError("control characters")
    return _said(text)


def _digest(text: str) -> str:
    if not is_digest(text):
        raise ValueError("no SHA-256")
    return text


Text = Annotated[str, AfterValidator(_encodable)]
Said = Annotated[str, AfterValidator(_said)]
Title = Annotated[str, Field(max_length=LONGEST_TITLE), AfterValidator(_one_line)]
Word = Annotated[str, Field(max_length=LONGEST_WORD), AfterValidator(_one_line)]
SourcePath = Annotated[str, Field(max_length=LONGEST_PATH), AfterValidator(_one_line)]
Digest = Annotated[str, AfterValidator(_digest)]


class _Exact(BaseModel):
    """Exactly these keys, of exactly these types."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class FactName(_Exact):
    """The typed identity of a document."""

    type: Text
    id: Text


class Scope(_Exact):
    """Which workspace a request means, and which of its facts."""

    root: Text
    knowledge_workspace: Text | None
    authority: Text
    facts: Annotated[tuple[FactName, ...], Field(strict=False, max_length=MOST_FACTS)] = ()


class Budget(_Exact):
    """Bytes of the encoded response, milliseconds of read work, cl100k_base tokens of passage text."""

    max_output_bytes: int
    max_latency_ms: int
    max_tokens: int | None = None
    tokenizer: Text | None = None

    def check(self) -> None:
        """Raises Refusal unsupported_budget for a budget that cannot be kept."""
        bounds = (self.max_latency_ms, self.max_output_bytes, 1 if self.max_tokens is None else self.max_tokens)
        supported = (
            self.max_output_bytes >= LEAST_OUTPUT_BYTES
            and all(1 <= bound <= HIGHEST_BUDGET for bound in bounds)
            and (self.max_tokens is None) == (self.tokenizer is None)
            and self.tokenizer in (None, *TOKENIZER_NAMES)
        )
        if not supported:
            raise Refusal(ErrorCode.UNSUPPORTED_BUDGET)


class Describe(_Exact):
    """Says what this workspace is and can."""

    op: Literal["describe"]


class Query(_Exact):
    """Asks for passages; `type` None means facts of any type."""

    op: Literal["query"]
    query: Said
    type: Text | None = None
    limit: Annotated[int, Field(ge=1, le=MOST_PASSAGES)] = 16


class Capture(_Exact):
    """The note that is proposed."""

    title: Title
    body: Said
    kind: Word
    tags: Annotated[tuple[Word, ...], Field(strict=False, max_length=MOST_TAGS)] = ()


class SourceRevision(_Exact):
    """A source that a proposal rests on, as it was read."""

    path: SourcePath
    sha256: Digest


class ProposalContext(_Exact):
    """What a proposal was made against."""

    context_schema: Literal["synapse.knowledge-proposal-context/1"] = Field(alias="schema")
    knowledge_workspace: Text | None
    idempotency_key: Annotated[str, Field(max_length=LONGEST_TITLE), AfterValidator(_one_line)]
    run_id: Annotated[str, Field(max_length=LONGEST_TITLE), AfterValidator(_one_line)]
    context_sha256: Digest
    expected_head: Digest
    source_manifest_sha256: Digest
    policy_sha256: Digest
    sources: Annotated[tuple[SourceRevision, ...], Field(strict=False, max_length=MOST_SOURCES)]


class Propose(_Exact):
    """Queues a note."""

    op: Literal["propose"]
    capture: Capture
    reason: Said
    context: ProposalContext

    def payload(self) -> str:
        """What is kept and reviewed, as canonical JSON."""
        kept = self.model_dump(by_alias=True, exclude={"op"}, mode="json")
        return canonical(kept).decode()


class Review(_Exact):
    """Asks for a queued proposal."""

    op: Literal["review"]
    pending_id: Any


class Accept(_Exact):
    """Publishes a reviewed proposal."""

    op: Literal["accept"]
    pending_id: Any
    review_sha256: Any


class Reject(_Exact):
    """Discards a reviewed proposal."""

    op: Literal["reject"]
    pending_id: Any
    review_sha256: Any


Operation = Describe | Query | Propose | Review | Accept | Reject


class Request(_Exact):
    """One request. `scope` and `budget` may be missing from a describe alone."""

    request_schema: Literal["synapse.knowledge-request/1"] = Field(alias="schema")
    scope: Scope | None = None
    budget: Budget | None = None
    operation: Annotated[Operation, Field(discriminator="op")]


@dataclass(frozen=True, slots=True)
class Response:
    """What goes back; exactly one of `result` and `code` is set."""

    result: dict[str, Any] | None = None
    code: ErrorCode | None = None

    @property
    def ok(self) -> bool:
        """Whether the operation did what was asked."""
        return self.code is None

    def value(self) -> dict[str, Any]:
        """The response as a JSON object."""
        return {
            "schema": RESPONSE_SCHEMA,
            "ok": self.ok,
            "result": self.result,
            "error": None if self.code is None else {"code": str(self.code)},
        }

    def text(self) -> str:
        """The encoded response, which `max_output_bytes` counts."""
        return encoded(self.value())


def read_request(value: Any) -> Request:
    """The request that a JSON value spells. Raises Refusal invalid_input for every other value."""
    try:
        request = Request.model_validate(value)
    except (ValidationError, RecursionError) as error:
        raise Refusal(ErrorCode.INVALID_INPUT) from error
    if not isinstance(request.operation, Describe) and (request.scope is None or request.budget is None):
        raise Refusal(ErrorCode.INVALID_INPUT)
    return request


def pending_number(value: Any) -> int:
    """The number of a queued row. Raises Refusal invalid_pending_id."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= HIGHEST_BUDGET:
        raise Refusal(ErrorCode.INVALID_PENDING_ID)
    return value


def review_digest_of(value: Any) -> str:
    """A review's digest as it was sent. Raises Refusal invalid_review_digest."""
    if not isinstance(value, str) or not is_digest(value):
        raise Refusal(ErrorCode.INVALID_REVIEW_DIGEST)
    return value


def is_digest(text: str) -> bool:
    """Whether the text is a SHA-256 in lower-case hexadecimal digits."""
    return _DIGEST.fullmatch(text) is not None


def canonical(value: Any) -> bytes:
    """The one spelling of a JSON value that digests are taken of: keys sorted, no white space, UTF-8."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def encoded(value: Any) -> str:
    """The wire form of a JSON value."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
