"""search: the documents that match a query, best first, and whether the matter is known at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field

from lamina.actions.action import Action, QueryContext
from lamina.actions.entry import Entry
from lamina.actions.legacy import legacy_tokens, search_fields
from lamina.actions.page import Page, Row, cached_by_all, page_answer
from lamina.actions.parameters import RankedRequest
from lamina.actions.ranked import (
    FILTERED_OUT,
    MATCH,
    SCORE,
    SNIPPET,
    applied,
    grouped,
    grouped_fields,
    ranked_documents,
)
from lamina.contract.coercion import Text
from lamina.contract.envelope import Answer, Envelope


class SearchRequest(RankedRequest):
    """The parameters of search."""

    action: ClassVar[str] = "search"
    main: ClassVar[str | None] = "query"

    query: Text = Field("", description='A question, words or an identifier. Words in "quotes" stand together.')
    input: Text = Field(
        "", description="The same as query, under its older name.", json_schema_extra={"deprecated": True}
    )


def search(request: SearchRequest, context: QueryContext) -> Answer:
    """Ranks the scope by the query, then filters, groups and pages what matched."""
    snapshot, filters = context.snapshot, request.filters()
    found = ranked_documents(request.query, filters, request, context, prefix=request.prefix)
    scope = found.scope
    rows = [
        Row(hit.document, {"score": hit.score, "snippet": hit.snippet})
        for hit in found.hits(request.limit, request.offset)
    ]

    def native(shown: Sequence[Row], entries: list[Entry]) -> Envelope:
        fields: Envelope = {"match": found.match, "filtered_out": found.filtered_out}
        return fields | grouped(request.grouping, snapshot, [row.document for row in shown])

    def legacy(entries: list[Entry]) -> Envelope:
        return search_fields(entries, scope.overlay_count + scope.baseline_count)

    envelope = Page(context, request, rows, len(found), applied(request, filters), native, legacy).envelope()
    return Answer(envelope, snapshot.revision, found.facts(legacy_tokens(snapshot, [row.document for row in rows])))


ACTION = Action(
    SearchRequest.action,
    "Ranked full-text search. Answers URI, title, score and snippet; buy more by disclosure flags.",
    SearchRequest,
    search,
    page_answer(SearchRequest, (SCORE, SNIPPET), FILTERED_OUT, *grouped_fields("data"), MATCH),
    cached=cached_by_all,
    encodes_queries=True,
)
