"""brief: the documents for a question as text to hand to a run, with ids to cite and the record of what was shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, WithJsonSchema, field_validator

from lamina.actions.action import Action
from lamina.actions.brief_schema import RESULT_SCHEMA
from lamina.actions.ranked import Hit, applied, ranked_documents
from lamina.actions.reading import Reading
from lamina.actions.report import legacy_tokens
from lamina.contract.coercion import Boolean, Integer, Text, TextList
from lamina.contract.disclosure import Flag
from lamina.contract.envelope import FOUND, NOT_FOUND, Answer, Envelope
from lamina.contract.filters import KINDS, Filters
from lamina.contract.request import GroupedRequest, Grouping, check_kinds
from lamina.index.snapshot import Origin, Snapshot
from lamina.ranking.configuration import ranking_configuration
from lamina.receipts.canonical import digest_of
from lamina.receipts.retrieval import LONGEST_NAME, RunIdentity

RETRIEVER_ID = "lamina-bm25"
DEFAULT_LIMIT, LARGEST_LIMIT = 5, 25

_NAME: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME}
_RUN_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": dict.fromkeys(RunIdentity.model_fields, _NAME),
    "required": ["run_id"],
    "additionalProperties": False,
}


class BriefRequest(GroupedRequest):
    """The parameters of brief."""

    action: ClassVar[str] = "brief"
    main: ClassVar[str | None] = "question"
    permitted: ClassVar[tuple[Flag, ...]] = ()

    question: Text = Field("", description="What the run is about to work on.")
    input: Text = Field("", description="The same as question, under its older name.")
    limit: Integer = Field(DEFAULT_LIMIT, ge=1, le=LARGEST_LIMIT, description="Most documents in the brief.")
    exclude_invalidated: Boolean = Field(True, description="Leave out refuted and superseded documents.")
    tags: TextList = Field((), description="Only documents that carry all of these.")
    kinds: TextList = Field(
        (),
        description="Kinds to allow; without it canon, docs and essays.",
        json_schema_extra={"items": {"type": "string", "enum": list(KINDS)}},
    )
    max_chars: Integer | None = Field(
        None, ge=0, description="Most characters of `text`; the first document that does not fit ends the brief."
    )
    receipt: Annotated[RunIdentity, BeforeValidator(RunIdentity.read), WithJsonSchema(_RUN_SCHEMA)] | None = Field(
        None,
        description="Mint and keep a retrieval receipt for this run: `run_id`, and what else names it. "
        "Where an object cannot be sent, its JSON text or `run_id=NAME`. On a deployment this needs an API key.",
    )

    @property
    def wants_receipt(self) -> bool:
        """Whether a retrieval receipt is to be minted and kept."""
        return self.receipt is not None

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
        return value


@dataclass(frozen=True, slots=True)
class _Shown:
    """A document of the brief: its hit and its line of the text."""

    hit: Hit
    line: str


def brief(request: BriefRequest, reading: Reading) -> Answer:
    """The best documents for a question. Pure: the same documents, question and options give the same bytes."""
    snapshot, filters = reading.snapshot, request.filters()
    found = ranked_documents(request.question, filters, request, reading)
    hits = found.hits(request.limit)
    shown = _fitting([_Shown(hit, _line(snapshot, hit)) for hit in hits], request.max_chars)
    envelope: Envelope = {
        "status": FOUND if len(found) else NOT_FOUND,
        "action": request.action,
        "data": {
            "question": request.question,
            "retriever_id": RETRIEVER_ID,
            "retriever_config_digest": digest_of(_configuration(request, reading)),
            "hits": [_hit(snapshot, one.hit) for one in shown],
            "citation_ids": [snapshot.uris[one.hit.document] for one in shown],
            "results": [_result(snapshot, rank, one.hit) for rank, one in enumerate(shown, start=1)],
            "text": "\n".join(one.line for one in shown),
        },
        "filters_applied": applied(request, filters),
        "match": found.match,
        "filtered_out": found.filtered_out,
    }
    if request.max_chars is not None:
        envelope["omitted_by_budget"] = len(hits) - len(shown)
    if request.grouping == Grouping.GROUPED:
        envelope.update(_grouped(snapshot, shown))
    envelope["revision"] = str(snapshot.revision)
    facts = found.facts(legacy_tokens(snapshot, [one.hit.document for one in shown]))
    return Answer(envelope, snapshot.revision, facts)


def _fitting(lines: Sequence[_Shown], max_chars: int | None) -> list[_Shown]:
    """The first lines that, joined by line ends, stay within the bound."""
    if max_chars is None:
        return list(lines)
    shown: list[_Shown] = []
    length = -1  # the first line has no line end before it
    for one in lines:
        length += 1 + len(one.line)
        if length > max_chars:
            break
        shown.append(one)
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


def _grouped(snapshot: Snapshot, shown: Sequence[_Shown]) -> Envelope:
    """URIs of `hits` by origin."""
    by_origin: dict[bool, list[str]] = {True: [], False: []}
    for one in shown:
        of_overlay = snapshot.origin[one.hit.document] == Origin.OVERLAY
        by_origin[of_overlay].append(snapshot.uris[one.hit.document])
    return {"overlay_hits": by_origin[True], "baseline_hits": by_origin[False]}


def _configuration(request: BriefRequest, reading: Reading) -> dict[str, Any]:
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
            "knowledge_base": reading.knowledge_base,
            "search_scope": str(request.scope),
            "result_grouping": str(request.grouping),
        },
    }


@cache
def _settings_digest() -> str:
    return digest_of(ranking_configuration())


ACTION = Action(
    "brief",
    "Knowledge for a run before it starts: the best documents for a question as text, with the ids to cite.",
    BriefRequest,
    brief,
    result_schema=RESULT_SCHEMA,
)
