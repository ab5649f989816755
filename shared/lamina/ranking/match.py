"""Decides whether what was asked is known at all, from the share of the query that a document holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from lamina.index.terms import fold
from lamina.ranking.highlight import LONGEST_SEARCHED, Sought, best_passage, common_beginning
from lamina.ranking.lookup import TermMatch

Signal = Literal["strong", "weak", "none"]

STRONG_COVERAGE: Final = 0.75
WEAK_COVERAGE: Final = 0.45
"""Thresholds on the share of the query's IDF weight that one document holds; see docs/ranking.md."""
PASSAGE_WIDTH: Final = 600
"""Characters within which a strong match says what its head does not: words scattered over a long text prove little."""
MOST_SIGHTINGS: Final = 64
"""Places of a word in the best document that are looked at."""
MOST_SPELLINGS: Final = 6
"""Spellings by which a word is looked for in a text."""


@dataclass(frozen=True, slots=True)
class Match:
    """`coverage` is the share, 0 to 1, of the query's IDF weight that the best hit holds; `signal` asks more of it.

    `unmatched_terms` are the words of the query, as written, of which the scope holds nothing, nor a correction.
    """

    signal: Signal
    coverage: float
    unmatched_terms: tuple[str, ...]


def match_of(best: int | None, matches: Sequence[TermMatch], text_of: Callable[[int], str]) -> Match:
    """The match of the best document of a ranking (None: there is none)."""
    unmatched = tuple(match.word.surface for match in matches if not match.found)
    if best is None:
        return Match("none", 0.0, unmatched)
    asked = sum(match.weight for match in matches)
    shares = [_held_by(best, match) / asked for match in matches]
    coverage = round(min(sum(shares), 1.0), 6)
    if coverage < WEAK_COVERAGE:
        return Match("none", coverage, unmatched)
    strong = coverage >= STRONG_COVERAGE and round(_together(best, matches, shares, text_of), 6) >= STRONG_COVERAGE
    return Match("strong" if strong else "weak", coverage, unmatched)


def _held_by(document: int, match: TermMatch) -> float:
    """How much of the word's weight a document holds."""
    held = sum(share for postings, share in match.shares() if _contains(postings.documents, document))
    return min(held, match.weight) * match.trust


def _together(best: int, matches: Sequence[TermMatch], shares: Sequence[float], text_of: Callable[[int], str]) -> float:
    """The share that the head of a document holds together with its best passage."""
    in_head, sought = 0.0, []
    for match, share in zip(matches, shares, strict=True):
        if any(_contains(postings.in_head, best) for postings in match.terms):
            in_head += share
        elif share:
            sought.append(Sought(_spellings(match), share))
    if in_head >= STRONG_COVERAGE or not sought:
        return in_head
    text = text_of(best)
    passage = best_passage(fold(text[:LONGEST_SEARCHED]), sought, PASSAGE_WIDTH, MOST_SIGHTINGS)
    # What the document holds but its text does not show is written in another way, joined or inflected.
    unseen = passage.unseen if len(text) <= LONGEST_SEARCHED else 0.0
    return in_head + passage.weight + unseen


def _contains(documents: NDArray[np.int32], document: int) -> bool:
    at = int(documents.searchsorted(document))
    return at < len(documents) and int(documents[at]) == document


def _spellings(match: TermMatch) -> tuple[str, ...]:
    """Beginnings of words that show the word in a text, in lower case."""
    spellings = [match.word.surface.casefold()] if match.parts else []
    spellings += [common_beginning(postings.term) for postings in match.terms]
    return tuple(dict.fromkeys(spellings))[:MOST_SPELLINGS]


def weak_or_better(coverage: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which hits are at least a weak match by themselves."""
    return coverage >= WEAK_COVERAGE
