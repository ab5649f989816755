"""search: the documents that match a query, best first, and whether the matter is known at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from pydantic import Field

from lamina.actions.action import Action, Cached, QueryContext
from lamina.actions.entry import Entry
from lamina.actions.legacy import legacy_tokens, search_fields
from lamina.actions.page import Page, Row, page_answer
from lamina.actions.parameters import RankedRequest
from lamina.actions.parts import LINES, Body, lines_of, passage
from lamina.actions.ranked import (
    BODY_TOKENS,
    FILTERED_OUT,
    MATCH,
    SCORE,
    SECTION,
    SNIPPET,
    Hit,
    applied,
    grouped,
    grouped_fields,
    ranked_documents,
    sizes,
)
from lamina.contract.coercion import Boolean, Integer, Text
from lamina.contract.envelope import Answer, Envelope
from lamina.contract.schema import TEXT, AnswerField, nullable, object_of
from lamina.index.snapshot import Snapshot

MOST_PASSAGES: Final = 3
_LONGEST_PASSAGE: Final = 600
# What an answer and each of its hits cost beside the passages, roughly; a passage of fewer tokens says too little.
_ENVELOPE_TOKENS: Final = 200
_HIT_TOKENS: Final = 200
_SHORTEST_PASSAGE: Final = 40

_PASSAGE = AnswerField(
    "passage",
    object_of(
        AnswerField("heading", nullable(TEXT), "the heading of the section"),
        AnswerField("lines", LINES, "its first and last line in the file, from 1"),
        AnswerField("sha256", TEXT, "SHA-256 of the raw file"),
        AnswerField("text", TEXT, "its Markdown, whole or in whole blocks"),
    ),
    "with `passage`: the section that matched",
    always=False,
)


_HITS = AnswerField(
    "hits",
    {"type": "array", "items": {"type": "object"}, "deprecated": True},
    "only with `include_legacy_envelope`: the hits, with `path`, `tags` and `source`, where older callers read them",
    always=False,
)


class SearchRequest(RankedRequest):
    """The parameters of search."""

    action: ClassVar[str] = "search"
    main: ClassVar[str | None] = "query"

    query: Text = Field("", description='A question, words or an identifier. Words in "quotes" stand together.')
    input: Text = Field(
        "", description="The same as query, under its older name.", json_schema_extra={"deprecated": True}
    )
    passage: Integer = Field(
        0, ge=0, le=MOST_PASSAGES, description="Of so many first hits, the section that matched; each counts as a body."
    )
    snippet: Boolean = Field(True, description="Show why each hit matched.")

    @property
    def bodies(self) -> int:
        """How many texts of documents it asks for."""
        return self.passage


def search(request: SearchRequest, context: QueryContext) -> Answer:
    """Ranks the scope by the query, then filters, groups and pages what matched."""
    snapshot, filters = context.snapshot, request.filters()
    found = ranked_documents(request.query, filters, request, context, prefix=request.prefix)
    scope = found.scope
    hits = found.hits(request.limit, request.offset)
    longest = _longest_passage(request)
    rows = [
        Row(
            hit.document,
            {**_native(request, snapshot, hit), **_passage(snapshot, hit, longest if at < request.passage else 0)},
        )
        for at, hit in enumerate(hits)
    ]

    def native(shown: Sequence[Row], entries: list[Entry]) -> Envelope:
        fields: Envelope = {"match": found.match, **found.filtered_out()}
        return fields | grouped(request.grouping, snapshot, [row.document for row in shown])

    def legacy(entries: list[Entry]) -> Envelope:
        shown = [row.document for row in rows[: len(entries)]]
        return search_fields(snapshot, shown, entries, scope.overlay_count + scope.baseline_count)

    envelope = Page(context, request, rows, len(found), applied(request, filters), native, legacy).envelope()
    return Answer(envelope, snapshot.revision, found.facts(legacy_tokens(snapshot, [row.document for row in rows])))


def _native(request: SearchRequest, snapshot: Snapshot, hit: Hit) -> dict[str, Any]:
    """What a hit carries by nature."""
    shown = {"snippet": hit.snippet} if request.snippet else {}
    fields = {"score": hit.score, "section": _section(snapshot, hit)}
    return {**fields, **sizes(request, snapshot, hit.document), **shown}


def _section(snapshot: Snapshot, hit: Hit) -> str | None:
    """The slug of the section that matched."""
    if hit.position is None:
        return None
    structure = snapshot.structure(hit.document)
    number = structure.at(hit.position)
    return None if number is None else structure.sections[number].slug


def _longest_passage(request: SearchRequest) -> int:
    """Tokens of each passage, so that the hits that have one fit in the caller's budget; 0 where none would."""
    if request.max_tokens is None or not request.passage:
        return _LONGEST_PASSAGE
    count = min(request.passage, request.limit)
    each = (request.max_tokens - _ENVELOPE_TOKENS) // count - _HIT_TOKENS
    return min(each, _LONGEST_PASSAGE) if each >= _SHORTEST_PASSAGE else 0


def _passage(snapshot: Snapshot, hit: Hit, longest: int) -> dict[str, Any]:
    """The section that matched, where it is to be shown."""
    if not longest:
        return {}
    body = Body.of(snapshot, hit.document)
    span = passage(body, hit.position, longest)
    told = {
        "heading": None if span.section is None else span.section.heading,
        "lines": lines_of(body, span),
        "sha256": snapshot.content_hash(hit.document),
        "text": body.body[span.start : span.end],
    }
    return {"passage": told}


def _cached(envelope: Envelope) -> Cached:
    """A passage is counted, so its caller alone may keep it."""
    return Cached.BY_THE_CALLER if any("passage" in entry for entry in envelope["data"]) else Cached.BY_ALL


ACTION = Action(
    SearchRequest.action,
    "Ranked search: URI, title, score, section and snippet; disclosure flags add tiers.",
    SearchRequest,
    search,
    page_answer(
        SearchRequest,
        (SCORE, SECTION, BODY_TOKENS, SNIPPET, _PASSAGE),
        *FILTERED_OUT,
        *grouped_fields("data"),
        MATCH,
        _HITS,
    ),
    cached=_cached,
    encodes_queries=True,
)
