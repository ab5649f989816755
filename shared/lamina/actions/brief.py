"""brief: the documents for a question as text to hand to a run, with ids to cite and the record of what was shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, WithJsonSchema, field_validator

from lamina.actions.action import Action, QueryContext
from lamina.actions.entry import SOURCE
from lamina.actions.legacy import legacy_tokens
from lamina.actions.parameters import GroupedRequest, check_kinds, check_some_kind
from lamina.actions.ranked import (
    FILTERED_OUT,
    MATCH,
    SCORE,
    Hit,
    applied,
    grouped,
    grouped_fields,
    ranked_documents,
)
from lamina.contract.coercion import Boolean, Integer, Text, TextList
from lamina.contract.envelope import FOUND, NOT_FOUND, Answer, Envelope
from lamina.contract.filters import DEFAULT_INCLUDE, KINDS, Filters
from lamina.contract.schema import COUNT, REVISION, STALE, TEXT, TEXTS, AnswerField, Schema, list_of, object_of, opening
from lamina.index.snapshot import Snapshot
from lamina.ranking.configuration import ranking_configuration
from lamina.ranking.highlight import LONGEST_SNIPPET
from lamina.receipts.canonical import DIGEST_PATTERN, digest_of
from lamina.receipts.retrieval import LONGEST_NAME, RunIdentity

RETRIEVER_ID = "lamina-bm25"
DEFAULT_LIMIT, LARGEST_LIMIT = 5, 25

_READ_BY_MODELS = ("citation_ids", "text")
_NAME: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME}
_RUN_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": dict.fromkeys(RunIdentity.model_fields, _NAME),
    "required": ["run_id"],
    "additionalProperties": False,
}


class Detail(StrEnum):
    """How much of a brief is told."""

    TEXT = "text"
    FULL = "full"


class BriefRequest(GroupedRequest):
    """The parameters of brief."""

    action: ClassVar[str] = "brief"
    main: ClassVar[str | None] = "question"

    question: Text = Field("", description="What the run is about to work on.")
    input: Text = Field(
        "", description="The same as question, under its older name.", json_schema_extra={"deprecated": True}
    )
    limit: Integer = Field(DEFAULT_LIMIT, ge=1, le=LARGEST_LIMIT, description="Most documents.")
    exclude_invalidated: Boolean = Field(True, description="Leave out refuted and superseded ones.")
    tags: TextList = Field(default_factory=tuple, description="Carries all of them.")
    kinds: TextList = Field(
        DEFAULT_INCLUDE,
        description="Kinds to allow.",
        json_schema_extra={"items": {"type": "string", "enum": list(KINDS)}, "minItems": 1},
    )
    max_chars: Integer | None = Field(None, ge=0, description="Most characters of `text`.")
    receipt: Annotated[RunIdentity, BeforeValidator(RunIdentity.read), WithJsonSchema(_RUN_SCHEMA)] | None = Field(
        None,
        description="Keep a retrieval receipt for this run; needs an API key. Also as JSON text or `run_id=NAME`.",
    )

    detail: Detail = Field(Detail.FULL, description="text: `text` and `citation_ids`; full: hits and results too.")

    @property
    def wants_receipt(self) -> bool:
        """Whether a retrieval receipt is to be minted and kept."""
        return self.receipt is not None

    @property
    def is_full(self) -> bool:
        """Whether all is told: a receipt is of all that a run was shown."""
        return self.detail == Detail.FULL or self.wants_receipt

    def filters(self) -> Filters:
        """The filters as the ranking reads them."""
        return Filters(
            tags=self.tags,
            include=tuple(KINDS[name] for name in self.kinds),
            exclude_invalidated=self.exclude_invalidated,
        )

    @field_validator("kinds")
    @classmethod
    def _kinds_exist(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        check_kinds("kinds", value)
        check_some_kind("kinds", value)
        return value


@dataclass(frozen=True, slots=True)
class _Shown:
    """A document of the brief: its hit and its line of the text."""

    hit: Hit
    line: str


def brief(request: BriefRequest, context: QueryContext) -> Answer:
    """The best documents for a question. Pure: the same documents, question and options give the same bytes."""
    snapshot, filters = context.snapshot, request.filters()
    found = ranked_documents(request.question, filters, request, context)
    hits = found.hits(request.limit)
    shown = _fitting([_Shown(hit, _line(snapshot, hit)) for hit in hits], request.max_chars)
    documents = [entry.hit.document for entry in shown]
    data = {
        "question": request.question,
        "retriever_id": RETRIEVER_ID,
        "retriever_config_digest": digest_of(_configuration(request, context)),
        "hits": [_hit(snapshot, entry.hit) for entry in shown],
        "citation_ids": [snapshot.uris[document] for document in documents],
        "results": [_result(snapshot, rank, entry.hit) for rank, entry in enumerate(shown, start=1)],
        "text": "\n".join(entry.line for entry in shown),
    }
    envelope: Envelope = {
        "status": FOUND if len(found) else NOT_FOUND,
        "action": request.action,
        "data": data if request.is_full else {name: data[name] for name in _READ_BY_MODELS},
        "filters_applied": applied(request, filters),
        "match": found.match,
        **found.filtered_out(),
    }
    if request.max_chars is not None:
        envelope["omitted_by_budget"] = len(hits) - len(shown)
    envelope |= grouped(request.grouping, snapshot, documents)
    envelope["revision"] = str(snapshot.revision)
    facts = found.facts(legacy_tokens(snapshot, documents))
    return Answer(envelope, snapshot.revision, facts)


def _fitting(lines: Sequence[_Shown], max_chars: int | None) -> list[_Shown]:
    """The first lines that, joined by line ends, stay within the bound."""
    if max_chars is None:
        return list(lines)
    shown: list[_Shown] = []
    length = -1  # the first line has no line end before it
    for entry in lines:
        length += 1 + len(entry.line)
        if length > max_chars:
            break
        shown.append(entry)
    return shown


def _line(snapshot: Snapshot, hit: Hit) -> str:
    title, passage = _folded(snapshot.titles[hit.document]), _folded(hit.snippet)
    line = f"- [{snapshot.uris[hit.document]}] {title}"
    return f"{line} — {passage}" if passage else line


def _folded(text: str) -> str:
    return " ".join(text.split())


def _hit(snapshot: Snapshot, hit: Hit) -> dict[str, Any]:
    return {
        "uri": snapshot.uris[hit.document],
        "title": snapshot.titles[hit.document],
        "score": hit.score,
        "snippet": hit.snippet,
        "source": str(snapshot.origin[hit.document]),
    }


def _result(snapshot: Snapshot, rank: int, hit: Hit) -> dict[str, Any]:
    return {
        "rank": rank,
        "id": snapshot.uris[hit.document],
        "origin": str(snapshot.origin[hit.document]),
        "path": snapshot.paths[hit.document],
        "digest": snapshot.content_hash(hit.document),
        "score": hit.score,
        "snippet": hit.snippet,
        "evidence": [],
        "attributes": {},
    }


def _configuration(request: BriefRequest, context: QueryContext) -> dict[str, Any]:
    """What decided the ranking beside documents and question: settings, and the options in force.

    `max_chars` and `receipt` do not rank; `revision` chooses documents, which the receipt names by themselves.
    """
    filters = request.filters()
    return {
        "retriever": RETRIEVER_ID,
        "settings": _settings_digest(),
        "options": {
            "limit": request.limit,
            "exclude_invalidated": request.exclude_invalidated,
            "tags": sorted(filters.tags),
            "kinds": sorted(filters.kinds),
            "knowledge_base": context.knowledge_base,
            "search_scope": str(request.scope),
            "result_grouping": str(request.grouping),
        },
    }


@cache
def _settings_digest() -> str:
    return digest_of(ranking_configuration())


_DIGEST: Schema = {"type": "string", "pattern": DIGEST_PATTERN}
_SNIPPET: Schema = {"type": "string", "maxLength": LONGEST_SNIPPET}
_HIT_SCHEMA = object_of(
    AnswerField("uri", TEXT, "the document's address, for get"),
    AnswerField("title", TEXT, "its title"),
    SCORE,
    AnswerField("snippet", _SNIPPET, "why it matched: plain text"),
    AnswerField("source", SOURCE, "where it comes from"),
)
_RESULT_SCHEMA = object_of(
    AnswerField("rank", {"type": "integer", "minimum": 1}, "place, from 1"),
    AnswerField("id", TEXT, "the document's URI"),
    AnswerField("origin", SOURCE, "where it comes from"),
    AnswerField("path", TEXT, "its path in its repository"),
    AnswerField("digest", _DIGEST, "SHA-256 of the raw file"),
    AnswerField("score", {"type": "number"}, "as in `hits`"),
    AnswerField("snippet", _SNIPPET, "as in `hits`"),
    AnswerField("evidence", TEXTS, "references to evidence; the brief has none"),
    AnswerField("attributes", {"type": "object"}, "further scalars; the brief has none"),
)
_DATA_SCHEMA = object_of(
    AnswerField("question", TEXT, "in full: the question, exactly", always=False),
    AnswerField("retriever_id", TEXT, "in full: what ranked", always=False),
    AnswerField(
        "retriever_config_digest",
        _DIGEST,
        "in full: digest of its settings and of the options in force",
        always=False,
    ),
    AnswerField("hits", list_of(_HIT_SCHEMA), always=False),
    AnswerField("citation_ids", TEXTS, "the URIs to cite, in rank order"),
    AnswerField("results", list_of(_RESULT_SCHEMA), always=False),
    AnswerField("text", TEXT, "the brief as Markdown: `- [id] title — snippet`, one line a document"),
)

ACTION = Action(
    BriefRequest.action,
    "For a run that starts: the best documents for a question as text, with ids to cite.",
    BriefRequest,
    brief,
    object_of(
        *opening(BriefRequest.action, FOUND, NOT_FOUND),
        AnswerField("data", _DATA_SCHEMA),
        AnswerField(
            "filters_applied",
            {"type": "object"},
            "the filters in force as arrays; with a knowledge base also scope and grouping",
        ),
        MATCH,
        *FILTERED_OUT,
        AnswerField(
            "omitted_by_budget",
            COUNT,
            "with `max_chars`: documents within `limit` that did not fit",
            always=False,
        ),
        *grouped_fields("hits"),
        REVISION,
        STALE,
        AnswerField(
            "receipt",
            {"type": "object"},
            "with `receipt`: the retrieval receipt that was minted and kept",
            always=False,
        ),
    ),
    takes_prefix=False,
    tool_defaults={"detail": str(Detail.TEXT)},
    keeps_receipts=True,
    encodes_queries=True,
)
