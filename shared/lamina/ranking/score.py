"""Decides what each document scores for a query, by words and by meaning, and how much of the query it holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lamina.index.bm25 import Contribution, add_up
from lamina.ranking.lookup import SYNONYM_WEIGHT, TermMatch, TermPostings
from lamina.ranking.meaning import MILLION, Nearness

PART_WEIGHT: Final = 0.25
"""What a part of an identifier counts beside the identifier itself; alone, it counts in full."""
SCORE_STEPS: Final = 1_000_000
"""Scores are rounded to six decimals before they are compared."""


def contributions(match: TermMatch) -> Iterator[Contribution]:
    """What a word gives to each document that holds its whole, a part or a synonym."""
    times = match.word.times * match.word.term_weight
    part_times = times * PART_WEIGHT if match.whole.found else times
    terms: list[tuple[TermPostings, float]] = [(match.whole, times), *((part, part_times) for part in match.parts)]
    terms += [(synonym, times * SYNONYM_WEIGHT) for synonym in match.synonyms]
    return (
        (documents, impacts, weight * by)
        for postings, by in terms
        for documents, impacts, weight in postings.contributions
    )


def score(given: Sequence[Contribution], count: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The documents of an index of `count` that score, ascending, and their scores in millionths, at least one."""
    found, scores = add_up(given, count)
    return found, np.maximum(np.rint(scores * SCORE_STEPS), 1).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Scores:
    """The documents that score, ascending, and what each part gives to them in millionths; a score is their sum."""

    found: NDArray[np.int32]
    words: NDArray[np.int64]
    meaning: NDArray[np.int64]
    title: NDArray[np.int64]

    @staticmethod
    def by_words(found: NDArray[np.int32], steps: NDArray[np.int64]) -> Scores:
        """Scores to which nothing else gives anything."""
        nothing = np.zeros_like(steps)
        return Scores(found, steps, nothing, nothing)

    @property
    def steps(self) -> NDArray[np.int64]:
        """The scores, at least one."""
        return np.asarray(np.maximum(self.words + self.meaning + self.title, 1))


def with_meaning(found: NDArray[np.int32], steps: NDArray[np.int64], near: Nearness, trust: int) -> Scores:
    """Scores by words and by meaning, both measured by their best: as far as words are trusted, in millionths.

    Documents that are found by meaning alone join those `found`. All in whole numbers, so that the order is the same
    on every machine.
    """
    joined = near.found.copy()
    joined[found] = True
    every = np.flatnonzero(joined).astype(np.int32)
    best = int(steps.max(initial=0)) or SCORE_STEPS
    words = np.zeros(len(every), dtype=np.int64)
    words[np.searchsorted(every, found)] = steps
    meaning = near.shares[every] * best // MILLION
    return Scores(every, words * trust // MILLION, meaning * (MILLION - trust) // MILLION, np.zeros_like(words))


def with_titles(scored: Scores, named: Sequence[int] | NDArray[np.int32]) -> Scores:
    """Scores in which the documents that are asked for by name stand above all others, in their own order."""
    if not len(named):
        return scored
    title = np.zeros_like(scored.words)
    title[np.isin(scored.found, named)] = scored.steps.max(initial=0)
    return replace(scored, title=title)


def coverage(matches: Sequence[TermMatch], found: NDArray[np.int32], count: int) -> NDArray[np.float64]:
    """The share of the query's IDF weight that each of the documents found holds, 0 to 1."""
    asked = sum(match.weight for match in matches)
    documents, weights = add_up([_held(match, count) for match in matches], count)
    shares = np.zeros(count)
    if len(weights):
        shares[documents] = np.minimum(weights / asked, 1.0)
    return shares[found]


def _held(match: TermMatch, count: int) -> Contribution:
    """How much of a word's weight each document holds."""
    even = [
        (postings.documents, np.broadcast_to(np.float64(1), len(postings.documents)), share)
        for postings, share in match.shares()
    ]
    documents, held = add_up(even, count)
    return documents, np.minimum(held, match.weight), match.trust
