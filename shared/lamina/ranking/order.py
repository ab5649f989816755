"""Decides the order of documents for a query, and how much of the query each of them holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lamina.index.bm25 import Contribution, add_up, best_places
from lamina.index.scope_postings import ScopePostings
from lamina.ranking.evidence import Evidence, completed, corrected, evidence_of
from lamina.ranking.match import Match, match_of
from lamina.ranking.phrases import holding
from lamina.ranking.query import Phrase, Query, read
from lamina.ranking.snippet import Needles, needles_of

SCORE_STEPS: Final = 1_000_000
"""Scores are rounded to six decimals before they are compared."""
LONGEST_REMEMBERED: Final = 200
"""Characters of a query that is not looked up anew each time."""
MOST_CORRECTED: Final = 8
"""Names of one query for which a near spelling is looked for."""


@dataclass(frozen=True)
class Ranked:
    """All documents that match a query, and in which order they answer it: best score first, ties by number.

    `found` are their numbers, ascending, `steps` their scores in millionths, at least one. `evidence` is what the
    scope of an index of `index_size` documents holds of each word. What a caller asks for is worked out then.
    """

    found: NDArray[np.int32]
    steps: NDArray[np.int64]
    evidence: Sequence[Evidence]
    index_size: int
    text_of: Callable[[int], str]

    def best(
        self, most: int, among: NDArray[np.bool_] | None = None, first: NDArray[np.bool_] | None = None
    ) -> NDArray[np.int64]:
        """Places in `found` of at most so many documents, in order, without sorting the others.

        `among` leaves out all others, `first` puts some before the rest; both have an entry a place.
        """
        if among is None:
            return best_places(self.steps, most, first)
        places = np.flatnonzero(among)
        return places[best_places(self.steps[among], most, None if first is None else first[among])]

    @cached_property
    def in_order(self) -> NDArray[np.int32]:
        """All matching documents, best first."""
        return self.found[self.best(len(self.found))]

    @cached_property
    def scores(self) -> NDArray[np.float64]:
        """The score of each document of `found`, above zero, to six decimals."""
        return self.steps / SCORE_STEPS

    @cached_property
    def coverage(self) -> NDArray[np.float64]:
        """The share of the query's IDF weight that each document of `found` holds, 0 to 1."""
        asked = sum(each.weight for each in self.evidence)
        documents, weights = add_up([each.held(self.index_size) for each in self.evidence], self.index_size)
        # A document that scores holds a stem, so these are the documents that score.
        shares = np.minimum(weights / asked, 1.0) if len(weights) else weights
        return shares[np.searchsorted(documents, self.found)]

    @cached_property
    def match(self) -> Match:
        """Whether the matter is known at all, by the best document."""
        best = int(self.found[self.steps.argmax()]) if len(self.found) else None
        return match_of(best, self.evidence, self.text_of)

    @cached_property
    def needles(self) -> Needles:
        """What a snippet looks for."""
        return needles_of(self.evidence)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A query looked up in a scope: its quoted phrases, what the scope holds of its words, and what that gives."""

    phrases: tuple[Phrase, ...]
    evidence: tuple[Evidence, ...]
    given: tuple[Contribution, ...]


def rank(scope: ScopePostings, query: str, *, text_of: Callable[[int], str], prefix: bool = False) -> Ranked:
    """Ranks the documents of a scope as if the others did not exist.

    `text_of` gives a document's text, which is read of the best one for the match, and for quoted phrases of
    `phrases.MOST_TEXTS_READ` at most.
    """
    asked = _asked(query, prefix, scope)
    found, scores = add_up(asked.given, scope.whole.count)
    steps = np.maximum(np.rint(scores * SCORE_STEPS), 1).astype(np.int64)
    if asked.phrases:
        order = best_places(steps, len(steps))
        held = np.sort(order[holding(asked.phrases, found[order], scope.whole, text_of)])
        found, steps = found[held], steps[held]
    return Ranked(found, steps, asked.evidence, scope.whole.count, text_of)


def _asked(text: str, prefix: bool, scope: ScopePostings) -> _Asked:
    """The query looked up; short ones are remembered with the scope, since people and pages ask again."""
    key = f"\0{text}"
    known: _Asked | None = None if prefix else scope.memory.get(key)
    if known is None:
        query = read(text, prefix=prefix)
        evidence = tuple(_evidence(query, scope))
        known = _Asked(query.phrases, evidence, tuple(given for each in evidence for given in each.scores()))
        # What completes an unfinished word is no view of the scope's rows, and as large as the scope.
        if len(text) <= LONGEST_REMEMBERED and not prefix:
            scope.memory.keep(key, known, len(known.given) + len(evidence))
    return known


def _evidence(question: Query, scope: ScopePostings) -> list[Evidence]:
    evidence = [evidence_of(word, scope) for word in question.words]
    if question.unfinished is not None:
        others = [each for each in evidence if each.word.whole != question.unfinished.whole]
        evidence = [*others, completed(evidence_of(question.unfinished, scope), scope)]
    tried = 0
    for number, each in enumerate(evidence):
        if each.unknown and not each.synonyms and tried + each.unknown <= MOST_CORRECTED:
            tried += each.unknown
            evidence[number] = corrected(each, scope)
    return evidence
