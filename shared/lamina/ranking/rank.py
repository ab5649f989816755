"""The way of a query: analysed, looked up, expanded, scored, held against its phrases, ordered.

Each step is a module of this package and hands its value to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lamina.index.bm25 import Contribution, top_k
from lamina.index.scope_postings import ScopePostings
from lamina.ranking.expansion import expand
from lamina.ranking.highlight import HighlightTerms, highlight_terms
from lamina.ranking.lookup import TermMatch, look_up
from lamina.ranking.match import Match, match_of
from lamina.ranking.phrases import holding
from lamina.ranking.query import Phrase, analyse
from lamina.ranking.score import SCORE_STEPS, contributions, coverage, score

LONGEST_REMEMBERED: Final = 200
"""Characters of a query that is not looked up anew each time."""


@dataclass(frozen=True)
class Ranked:
    """All documents that match a query, and in which order they answer it: best score first, ties by number.

    `found` are their numbers, ascending, `steps` their scores in millionths, at least one. `matches` is what the
    scope of an index of `index_size` documents holds of each word. What a caller asks for is worked out then.
    """

    found: NDArray[np.int32]
    steps: NDArray[np.int64]
    matches: Sequence[TermMatch]
    index_size: int
    text_of: Callable[[int], str]

    def best(
        self, most: int, among: NDArray[np.bool_] | None = None, first: NDArray[np.bool_] | None = None
    ) -> NDArray[np.int64]:
        """Places in `found` of at most so many documents, in order, without sorting the others.

        `among` leaves out all others, `first` puts some before the rest; both have an entry a place.
        """
        if among is None:
            return top_k(self.steps, most, first)
        places = np.flatnonzero(among)
        return places[top_k(self.steps[among], most, None if first is None else first[among])]

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
        return coverage(self.matches, self.found, self.index_size)

    @cached_property
    def match(self) -> Match:
        """Whether the matter is known at all, by the best document."""
        best = int(self.found[self.steps.argmax()]) if len(self.found) else None
        return match_of(best, self.matches, self.text_of)

    @cached_property
    def highlight_terms(self) -> HighlightTerms:
        """What a snippet looks for."""
        return highlight_terms(self.matches)


@dataclass(frozen=True, slots=True)
class _LookedUp:
    """A query looked up in a scope: its quoted phrases, what the scope holds of its words, and what that gives."""

    phrases: tuple[Phrase, ...]
    matches: tuple[TermMatch, ...]
    given: tuple[Contribution, ...]


def rank(scope: ScopePostings, query: str, *, text_of: Callable[[int], str], prefix: bool = False) -> Ranked:
    """Ranks the documents of a scope as if the others did not exist.

    `text_of` gives a document's text, which is read of the best one for the match, and for quoted phrases of
    `phrases.MOST_TEXTS_READ` at most.
    """
    asked = _looked_up(query, prefix, scope)
    found, steps = score(asked.given, scope.whole.count)
    if asked.phrases:
        order = top_k(steps, len(steps))
        held = np.sort(order[holding(asked.phrases, found[order], scope.whole, text_of)])
        found, steps = found[held], steps[held]
    return Ranked(found, steps, asked.matches, scope.whole.count, text_of)


def _looked_up(text: str, prefix: bool, scope: ScopePostings) -> _LookedUp:
    """The query looked up; short ones are remembered with the scope, since people and pages ask again."""
    key = ("query", text)
    known: _LookedUp | None = None if prefix else scope.memory.get(key)
    if known is None:
        query = analyse(text, prefix=prefix)
        matches = look_up(query.words, scope)
        matches = expand(matches, scope)
        given = tuple([contribution for match in matches for contribution in contributions(match)])
        known = _LookedUp(query.phrases, tuple(matches), given)
        # What completes an unfinished word is no view of the scope's postings, and as large as the scope.
        if len(text) <= LONGEST_REMEMBERED and not prefix:
            scope.memory.keep(key, known, len(given) + len(matches))
    return known
