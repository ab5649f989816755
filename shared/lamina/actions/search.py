"""search: the documents that match a query, best first, and whether the matter is known at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field

from lamina.actions.action import Action
from lamina.actions.legacy import search_fields
from lamina.actions.page import Entry, Page, Row
from lamina.actions.ranked import applied, ranked_documents
from lamina.actions.reading import Reading
from lamina.actions.report import legacy_tokens
from lamina.contract.coercion import Text
from lamina.contract.envelope import Answer, Envelope
from lamina.contract.request import Grouping, RankedRequest
from lamina.index.snapshot import Origin


class SearchRequest(RankedRequest):
    """The parameters of search."""

    action: ClassVar[str] = "search"
    main: ClassVar[str | None] = "query"

    query: Text = Field("", description='What to look for. Words in "quotes" must stand together.')
    input: Text = Field("", description="The same as query, under its older name.")


def search(request: SearchRequest, reading: Reading) -> Answer:
    """Ranks the scope by the query, then filters, groups and pages what matched."""
    snapshot, filters = reading.snapshot, request.filters()
    found = ranked_documents(request.query, filters, request, reading, prefix=request.prefix)
    scope = found.scope
    rows = [
        Row(hit.document, {"score": hit.score, "snippet": hit.snippet})
        for hit in found.hits(request.limit, request.offset)
    ]

    def native(shown: Sequence[Row], entries: list[Entry]) -> Envelope:
        fields: Envelope = {"match": found.match, "filtered_out": found.filtered_out}
        return fields | grouped(request, shown, entries, reading)

    def legacy(entries: list[Entry]) -> Envelope:
        return search_fields(entries, scope.overlay_count + scope.baseline_count)

    envelope = Page(reading, request, rows, len(found), applied(request, filters), native, legacy).envelope()
    return Answer(envelope, snapshot.revision, found.facts(legacy_tokens(snapshot, [row.document for row in rows])))


def grouped(request: RankedRequest, shown: Sequence[Row], entries: list[Entry], reading: Reading) -> Envelope:
    """URIs into `data` by origin, where that grouping was asked for."""
    if request.grouping != Grouping.GROUPED:
        return {}
    by_origin: dict[bool, list[str]] = {True: [], False: []}
    for row, entry in zip(shown, entries, strict=True):
        by_origin[reading.snapshot.origin[row.document] == Origin.OVERLAY].append(entry["uri"])
    return {"overlay_hits": by_origin[True], "baseline_hits": by_origin[False]}


ACTION = Action(
    "search",
    "Ranked full-text search. Answers URI, title, score and snippet; buy more by disclosure flags.",
    SearchRequest,
    search,
)
