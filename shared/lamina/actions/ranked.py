"""What search and brief share: the documents of a scope that match a question and pass the filters, in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamina.actions.reading import Reading
from lamina.actions.report import MOST_TOP, ranked_facts
from lamina.contract.envelope import CallFacts, Envelope
from lamina.contract.filters import Filters
from lamina.contract.request import GroupedRequest
from lamina.index.snapshot import Snapshot
from lamina.ranking.highlight import snippet
from lamina.ranking.order import standing_first
from lamina.ranking.rank import Ranked, rank
from lamina.ranking.scope import Scope, check_values, passing

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
    """The documents that match, of which those of the mask `kept` pass.

    `first` are those that the grouping puts before the rest (None: score alone decides). `match` is the envelope's.
    """

    snapshot: Snapshot
    scope: Scope
    ranked: Ranked
    kept: NDArray[np.bool_]
    first: NDArray[np.bool_] | None
    match: Envelope

    def __len__(self) -> int:
        return int(np.count_nonzero(self.kept))

    @property
    def filtered_out(self) -> int:
        """How many matches the filters removed."""
        return len(self.kept) - len(self)

    def hits(self, limit: int, offset: int = 0) -> list[Hit]:
        """At most `limit` hits from the offset on."""
        places = self.ranked.best(offset + limit, self.kept, self.first)[offset:]
        documents, scores = self.ranked.found[places].tolist(), self.ranked.scores[places].tolist()
        return [Hit(number, score, self._snippet(number)) for number, score in zip(documents, scores, strict=True)]

    def _snippet(self, document: int) -> str:
        """Why it matched; the title stands beside it already."""
        snapshot, terms = self.snapshot, self.ranked.highlight_terms
        found = snippet(snapshot.body(document), terms, aside=lambda: snapshot.frontmatter(document))
        return found.removeprefix(f"{snapshot.titles[document]} — ")

    def facts(self, legacy: int) -> CallFacts:
        """What the telemetry record holds of them; `legacy` as in `CallFacts`."""
        best = self.ranked.best(MOST_TOP, self.kept, self.first)
        return ranked_facts(
            self.scope,
            hits=self.scope.overlay[self.ranked.found[self.kept]],
            top=self.scope.overlay[self.ranked.found[best]],
            legacy=legacy,
        )


def ranked_documents(
    question: str, filters: Filters, request: GroupedRequest, reading: Reading, *, prefix: bool = False
) -> Matches:
    """Ranks the scope by the question, then filters and groups what matched. Raises INVALID_FILTER_VALUE."""
    snapshot = reading.snapshot
    check_values(filters, snapshot)
    scope = reading.scopes[request.scope]
    ranked = rank(scope.postings, question, text_of=snapshot.text, prefix=prefix)
    kept = passing(filters, snapshot)[ranked.found]
    match: dict[str, Any] = {
        "signal": ranked.match.signal,
        "coverage": ranked.match.coverage,
        "unmatched_terms": [term[:_LONGEST_TOLD] for term in ranked.match.unmatched_terms],
    }
    if request.knowledge_base_url is not None:
        by_overlay = rank(reading.scopes.overlay_postings, question, text_of=snapshot.text, prefix=prefix)
        match["overlay_signal"] = by_overlay.match.signal
    first = standing_first(request.grouping, ranked, scope.overlay, kept)
    return Matches(snapshot, scope, ranked, kept, first, match)


def applied(request: GroupedRequest, filters: Filters) -> dict[str, Any]:
    """`filters_applied`, with scope and grouping where there is a knowledge base."""
    echo: dict[str, Any] = dict(filters.echo())
    if request.knowledge_base_url is not None:
        echo["search_scope"] = str(request.scope)
        echo["result_grouping"] = str(request.grouping)
    return echo
