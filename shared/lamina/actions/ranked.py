"""What search and brief share: the documents of a scope that match a question and pass the filters, in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamina.actions.reading import Reading
from lamina.contract.envelope import Envelope
from lamina.contract.filters import Filters
from lamina.contract.request import GroupedRequest, Grouping
from lamina.index.snapshot import Snapshot
from lamina.ranking.grouping import arranged
from lamina.ranking.match import has_evidence
from lamina.ranking.order import Ranked, rank
from lamina.ranking.scope import Scope
from lamina.ranking.slice import check_values, passing
from lamina.ranking.snippet import Needles, snippet

# Characters of a word that are told back; a word may be as long as the query.
_LONGEST_TOLD = 64


@dataclass(frozen=True, slots=True)
class Hit:
    """A document that matched: its number, its score (six decimals), and the passage that shows why."""

    document: int
    score: float
    snippet: str


@dataclass(frozen=True, slots=True)
class Matches:
    """Every document that matches and passes, as the grouping orders them; `documents` and `scores` are parallel.

    `match` is the envelope's, `filtered_out` how many matches the filters removed.
    """

    snapshot: Snapshot
    scope: Scope
    documents: NDArray[np.int32]
    scores: NDArray[np.float64]
    needles: Needles
    match: Envelope
    filtered_out: int

    def __len__(self) -> int:
        return len(self.documents)

    def hits(self, limit: int, offset: int = 0) -> list[Hit]:
        """At most `limit` hits from the offset on."""
        page = slice(offset, offset + limit)
        return [
            Hit(int(number), float(score), snippet(self.snapshot.body(int(number)), self.needles))
            for number, score in zip(self.documents[page], self.scores[page], strict=True)
        ]


def ranked_documents(
    question: str, filters: Filters, request: GroupedRequest, reading: Reading, *, prefix: bool = False
) -> Matches:
    """Ranks the scope by the question, then filters and groups what matched. Raises INVALID_FILTER_VALUE."""
    snapshot = reading.snapshot
    check_values(filters, snapshot)
    scope = reading.scopes[request.scope]
    ranked = rank(snapshot.postings, scope.statistics, question, text_of=snapshot.text, prefix=prefix)
    kept = np.flatnonzero(passing(filters, snapshot)[ranked.documents])
    order = in_order(request.grouping, ranked, scope, kept)
    match: dict[str, Any] = {
        "signal": ranked.match.signal,
        "coverage": ranked.match.coverage,
        "unmatched_terms": [term[:_LONGEST_TOLD] for term in ranked.match.unmatched_terms],
    }
    if request.knowledge_base_url is not None:
        by_overlay = rank(snapshot.postings, scope.overlay_statistics, question, text_of=snapshot.text, prefix=prefix)
        match["overlay_signal"] = by_overlay.match.signal
    return Matches(
        snapshot,
        scope,
        ranked.documents[order],
        ranked.scores[order],
        ranked.needles,
        match,
        filtered_out=len(ranked.documents) - len(order),
    )


def in_order(grouping: Grouping, ranked: Ranked, scope: Scope, kept: NDArray[np.int64]) -> NDArray[np.int64]:
    """The kept positions among the ranked hits, best score first, as the grouping orders them."""
    of_overlay = scope.overlay[ranked.documents[kept]]

    def known() -> NDArray[np.bool_]:
        return has_evidence(ranked.coverage[kept], ranked.scores[kept], ~of_overlay)

    return kept[arranged(grouping, of_overlay, known)]


def applied(request: GroupedRequest, filters: Filters) -> dict[str, Any]:
    """`filters_applied`, with scope and grouping where there is a knowledge base."""
    echo: dict[str, Any] = dict(filters.echo())
    if request.knowledge_base_url is not None:
        echo["search_scope"] = str(request.scope)
        echo["result_grouping"] = str(request.grouping)
    return echo
