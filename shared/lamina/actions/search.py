"""search: the documents that match a query, best first, and whether the matter is known at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from lamina.actions.action import Action
from lamina.actions.legacy import search_fields
from lamina.actions.page import Entry, Page, Row
from lamina.actions.reading import Reading
from lamina.actions.report import legacy_tokens, scope_facts
from lamina.contract.coercion import Text
from lamina.contract.envelope import FOUND, NOT_FOUND, Answer, Envelope
from lamina.contract.request import Grouping, RankedRequest
from lamina.index.snapshot import Origin
from lamina.ranking.grouping import arranged
from lamina.ranking.match import has_evidence
from lamina.ranking.order import rank
from lamina.ranking.slice import check_values, passing
from lamina.ranking.snippet import snippet


class SearchRequest(RankedRequest):
    """The parameters of search."""

    action: ClassVar[str] = "search"
    main: ClassVar[str | None] = "query"

    query: Text = Field("", description='What to look for. Words in "quotes" must stand together.')
    input: Text = Field("", description="The same as query, under its older name.")


def search(request: SearchRequest, reading: Reading) -> Answer:
    """Ranks the scope by the query, then filters, groups and pages what matched."""
    snapshot, filters = reading.snapshot, request.filters()
    check_values(filters, snapshot)
    scope = reading.scopes[request.scope]
    ranked = rank(
        snapshot.postings, scope.statistics, request.query, text_of=snapshot.body, prefix=request.prefix
    )
    kept = np.flatnonzero(passing(filters, snapshot)[ranked.documents])
    known = has_evidence(ranked.coverage[kept])
    of_overlay = scope.overlay[ranked.documents[kept]]
    order = kept[arranged(request.grouping, of_overlay, known)]
    rows = [
        Row(int(ranked.documents[at]), {"score": float(ranked.scores[at])})
        for at in order[request.offset : request.offset + request.limit]
    ]
    rows = [
        Row(row.document, {**row.native, "snippet": snippet(snapshot.body(row.document), ranked.needles)})
        for row in rows
    ]
    match: dict[str, Any] = {
        "signal": ranked.match.signal,
        "coverage": ranked.match.coverage,
        "unmatched_terms": list(ranked.match.unmatched_terms),
    }
    if request.knowledge_base_url is not None:
        match["overlay_signal"] = rank(
            snapshot.postings,
            scope.overlay_statistics,
            request.query,
            text_of=snapshot.body,
            prefix=request.prefix,
        ).match.signal
    searched = scope.overlay_count + scope.baseline_count

    def assemble(shown: Sequence[Row], entries: list[Entry]) -> Envelope:
        envelope: Envelope = {
            "status": FOUND if len(order) else NOT_FOUND,
            "action": "search",
            "data": entries,
            "total": len(order),
            "limit": request.limit,
            "offset": request.offset,
            "disclosure_applied": [str(flag) for flag in request.flags],
            "filters_applied": applied(request),
            "match": match,
            "filtered_out": len(ranked.documents) - len(order),
        }
        if request.grouping == Grouping.GROUPED:
            envelope.update(grouped(shown, entries, reading))
        envelope["revision"] = str(snapshot.revision)
        if request.include_legacy_envelope:
            envelope["legacy"] = search_fields(entries, searched)
        return envelope

    envelope = Page(snapshot, request, rows, len(order), assemble).envelope()
    return Answer(
        envelope,
        snapshot.revision,
        scope_facts(
            scope,
            hits=scope.overlay[ranked.documents[order]],
            legacy=legacy_tokens(snapshot, [row.document for row in rows]),
        ),
    )


def applied(request: RankedRequest) -> dict[str, Any]:
    """`filters_applied`, with scope and grouping where there is a knowledge base."""
    echo: dict[str, Any] = dict(request.filters().echo())
    if request.knowledge_base_url is not None:
        echo["search_scope"] = str(request.scope)
        echo["result_grouping"] = str(request.grouping)
    return echo


def grouped(shown: Sequence[Row], entries: list[Entry], reading: Reading) -> Envelope:
    """URIs into `data` by origin."""
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
