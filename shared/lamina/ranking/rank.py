"""The way of a query: analysed, looked up, expanded, scored by words, held against its phrases, scored by meaning.

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
from lamina.ranking.match import Match, coverage_of, match_of
from lamina.ranking.meaning import (
    WELL_COVERED,
    Meaning,
    MeaningState,
    Nearness,
    is_all_names,
    nearness,
    word_trust,
)
from lamina.ranking.phrases import holding
from lamina.ranking.query import Phrase, analyse
from lamina.ranking.score import SCORE_STEPS, Scores, contributions, coverage, score, with_meaning, with_titles
from lamina.ranking.titles import Names, bearing

LONGEST_REMEMBERED: Final = 200
"""Characters of a query that is not looked up anew each time."""


@dataclass(frozen=True)
class Ranked:
    """All documents that match a query, and in which order they answer it: best score first, ties by number.

    `scored` are their numbers and scores. `meaning` is how near they are to the query, or why that had no say.
    `matches` is what the scope of an index of `index_size` documents holds of each word. What a caller asks for is
    worked out then.
    """

    scored: Scores
    meaning: Nearness | MeaningState
    matches: Sequence[TermMatch]
    index_size: int
    text_of: Callable[[int], str]

    @property
    def found(self) -> NDArray[np.int32]:
        """The documents that match, ascending."""
        return self.scored.found

    @cached_property
    def steps(self) -> NDArray[np.int64]:
        """The score of each document of `found` in millionths, at least one."""
        return self.scored.steps

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
        return match_of(best, self.matches, self.text_of, self.meaning)

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


def rank(
    scope: ScopePostings,
    query: str,
    *,
    text_of: Callable[[int], str],
    prefix: bool = False,
    meaning: Meaning | None = None,
    names: Names | None = None,
) -> Ranked:
    """Ranks the documents of a scope as if the others did not exist.

    `text_of` gives a document's text, which is read of the best one for the match, and for quoted phrases of
    `phrases.MOST_TEXTS_READ` at most. `meaning` is asked as far as words fail; None ranks by words alone. With
    `names` the documents that bear the query as their whole title or alias come first.
    """
    asked = _looked_up(query, prefix, scope)
    found, steps = score(asked.given, scope.whole.count)
    if asked.phrases:
        order = top_k(steps, len(steps))
        held = np.sort(order[holding(asked.phrases, found[order], scope.whole, text_of)])
        found, steps = found[held], steps[held]
    named = () if names is None else bearing(query, asked.matches, names, scope)
    by_words = with_titles(Scores.by_words(found, steps), named)
    if meaning is None:
        return Ranked(by_words, "none", asked.matches, scope.whole.count, text_of)
    covered = coverage_of(int(found[by_words.steps.argmax()]), asked.matches) if len(found) else 0.0
    is_name = bool(by_words.title.any())
    as_written = is_name or prefix or asked.phrases or is_all_names(match.word for match in asked.matches)
    if as_written or covered >= WELL_COVERED:
        return Ranked(by_words, "not_needed", asked.matches, scope.whole.count, text_of)
    near = nearness(query, meaning, scope.mask)
    scored = with_meaning(found, steps, near, word_trust(covered)) if isinstance(near, Nearness) else by_words
    return Ranked(scored, near, asked.matches, scope.whole.count, text_of)


def _looked_up(text: str, prefix: bool, scope: ScopePostings) -> _LookedUp:
    """The query looked up; short ones are remembered with the scope, since people and pages ask again."""
    key = ("query", text)
    known: _LookedUp | None = None if prefix else scope.memory.get(key)
    if known is None:
        query = analyse(text, prefix=prefix, languages=scope.whole.languages)
        matches = look_up(query.words, scope)
        matches = expand(matches, scope)
        given = tuple([contribution for match in matches for contribution in contributions(match)])
        known = _LookedUp(query.phrases, tuple(matches), given)
        # What completes an unfinished word is no view of the scope's postings, and as large as the scope.
        if len(text) <= LONGEST_REMEMBERED and not prefix:
            scope.memory.keep(key, known, len(given) + len(matches))
    return known
