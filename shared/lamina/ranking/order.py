"""Decides the order of documents for a query, and how much of the query each of them holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lamina.index.bm25 import ScopeStatistics, add_up
from lamina.index.postings import Postings
from lamina.ranking.evidence import Evidence, completed, evidence_of, unknown_spelling
from lamina.ranking.match import Match, signal_of
from lamina.ranking.phrases import holding
from lamina.ranking.query import Query, read
from lamina.ranking.snippet import Needles, needles_of

SCORE_STEPS: Final = 1_000_000
"""Scores are rounded to six decimals before sorting."""
MOST_CORRECTED: Final = 8
"""Words of one query for which a near spelling is looked for."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """All matching documents, best first, ties by document number.

    `documents`, `scores` (above zero, six decimals) and `coverage` (share of the query's IDF weight that the
    document holds, 0 to 1) are parallel. `needles` are what a snippet looks for.
    """

    documents: NDArray[np.int32]
    scores: NDArray[np.float64]
    coverage: NDArray[np.float64]
    match: Match
    query: Query
    needles: Needles


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
    question = read(query, prefix=prefix)
    evidence = _evidence(question, postings, statistics)
    contributions = [given for each in evidence for given in each.scores()]
    documents, scores = add_up(contributions, postings.count)
    coverage = _coverage(evidence, postings.count)
    documents, scores, coverage = _ordered(documents, scores, coverage)
    if question.phrases:
        held = holding(question.phrases, documents, postings, text_of)
        documents, scores, coverage = documents[held], scores[held], coverage[held]
    return Ranked(documents, scores, coverage, _match(coverage, evidence), question, needles_of(evidence))


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


def _match(coverage: NDArray[np.float64], evidence: Sequence[Evidence]) -> Match:
    best = round(float(coverage[0]), 6) if len(coverage) else 0.0
    unmatched = tuple(each.word.surface for each in evidence if not each.found)
    return Match(signal_of(best), best, unmatched)


def _coverage(evidence: Sequence[Evidence], count: int) -> NDArray[np.float64]:
    """The share of the query's weight that each matching document holds, by ascending document.

    A document that scores holds a stem, so these are the documents that score.
    """
    asked = sum(each.weight for each in evidence)
    _, weights = add_up([each.held(count) for each in evidence], count)
    return np.minimum(weights / asked, 1.0) if len(weights) else weights


def _ordered(
    documents: NDArray[np.int32], scores: NDArray[np.float64], coverage: NDArray[np.float64]
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
    """Best first. Score and place share one integer, so that one plain sort settles ties as well."""
    steps = np.maximum(np.rint(scores * SCORE_STEPS), 1).astype(np.int64)
    bits = max(len(documents), 1).bit_length()
    keys = ((int(steps.max(initial=0)) - steps) << bits) | np.arange(len(documents), dtype=np.int64)
    keys.sort()
    order = keys & ((1 << bits) - 1)
    return documents[order], steps[order] / SCORE_STEPS, coverage[order]
