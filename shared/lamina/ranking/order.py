"""Decides the order of documents for a query, and how much of the query each of them holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lamina.index.bm25 import Contribution, ScopeStatistics, add_up
from lamina.index.postings import Postings
from lamina.ranking.evidence import Evidence, completed, evidence_of, unknown_spelling
from lamina.ranking.match import Match, signal_of
from lamina.ranking.phrases import holding
from lamina.ranking.query import Query, read
from lamina.ranking.snippet import Needles, needles_of

SCORE_STEPS: Final = 1_000_000
"""Scores are rounded to six decimals before sorting."""
LONGEST_REMEMBERED: Final = 200
"""Characters of a query that is not read anew each time."""
MOST_CORRECTED: Final = 8
"""Words of one query for which a near spelling is looked for."""


@dataclass(frozen=True)
class Ranked:
    """All matching documents, best first, ties by document number.

    `documents` and `scores` (above zero, six decimals) are parallel. `needles` are what a snippet looks for.
    `evidence` is what the scope of `count` documents holds of each word.
    """

    documents: NDArray[np.int32]
    scores: NDArray[np.float64]
    match: Match
    query: Query
    needles: Needles
    evidence: Sequence[Evidence]
    count: int

    @cached_property
    def coverage(self) -> NDArray[np.float64]:
        """The share of the query's IDF weight that each of the documents holds, 0 to 1; worked out when asked for."""
        found, shares = _coverage(self.evidence, self.count)
        return shares[np.searchsorted(found, self.documents)]


def rank(
    postings: Postings,
    statistics: ScopeStatistics,
    query: str,
    *,
    text_of: Callable[[int], str],
    prefix: bool = False,
) -> Ranked:
    """Ranks the documents of a scope as if the others did not exist.

    `text_of` gives a document's text; it is called only for quoted phrases, at most `phrases.MOST_TEXTS_READ` times.
    """
    question = _read(query, prefix, statistics)
    evidence = _evidence(question, postings, statistics)
    contributions = [given for each in evidence for given in each.scores()]
    documents, scores = add_up(contributions, postings.count)
    documents, scores = _ordered(documents, scores)
    if question.phrases:
        held = holding(question.phrases, documents, postings, text_of)
        documents, scores = documents[held], scores[held]
    match = _match(int(documents[0]) if len(documents) else None, evidence)
    return Ranked(documents, scores, match, question, needles_of(evidence), evidence, postings.count)


def _read(text: str, prefix: bool, statistics: ScopeStatistics) -> Query:
    """The query as read; short ones are remembered with the scope, since people and pages ask again."""
    if len(text) > LONGEST_REMEMBERED:
        return read(text, prefix=prefix)
    key = f"\0{int(prefix)}{text}"
    known: Query | None = statistics.memory.get(key)
    if known is None:
        known = read(text, prefix=prefix)
        statistics.memory.keep(key, known, len(text))
    return known


def _evidence(question: Query, postings: Postings, statistics: ScopeStatistics) -> list[Evidence]:
    evidence = [evidence_of(word, postings, statistics) for word in question.words]
    if question.unfinished is not None:
        others = [each for each in evidence if each.word.whole != question.unfinished.whole]
        last = evidence_of(question.unfinished, postings, statistics)
        evidence = [*others, completed(last, postings, statistics)]
    tried = 0
    for number, each in enumerate(evidence):
        if not each.found and not each.synonyms and tried < MOST_CORRECTED:
            tried += 1
            evidence[number] = unknown_spelling(each, postings, statistics)
    return evidence


def _match(best: int | None, evidence: Sequence[Evidence]) -> Match:
    """The match of the best document alone, whose share is worked out without everybody else's."""
    share = 0.0
    if best is not None:
        asked = sum(each.weight for each in evidence)
        share = round(min(sum(each.held_by(best) for each in evidence) / asked, 1.0), 6)
    unmatched = tuple(each.word.surface for each in evidence if not each.found)
    return Match(signal_of(share), share, unmatched)


def _coverage(evidence: Sequence[Evidence], count: int) -> Contribution:
    """The share of the query's weight that each matching document holds, by ascending document.

    A document that scores holds a stem, so these are the documents that score.
    """
    asked = sum(each.weight for each in evidence)
    documents, weights = add_up([each.held(count) for each in evidence], count)
    return documents, np.minimum(weights / asked, 1.0) if len(weights) else weights


def _ordered(
    documents: NDArray[np.int32], scores: NDArray[np.float64]
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Best first. Score and place share one integer, so that one plain sort settles ties as well."""
    steps = np.maximum(np.rint(scores * SCORE_STEPS), 1).astype(np.int64)
    bits = max(len(documents), 1).bit_length()
    keys = ((int(steps.max(initial=0)) - steps) << bits) | np.arange(len(documents), dtype=np.int64)
    keys.sort()
    order = keys & ((1 << bits) - 1)
    return documents[order], steps[order] / SCORE_STEPS
