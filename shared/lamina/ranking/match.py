"""Decides whether what was asked is known at all, from the share of the query that a document holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from lamina.index.terms import fold
from lamina.ranking.evidence import Evidence
from lamina.ranking.passage import LONGEST_SEARCHED, Sought, best_passage

Signal = Literal["strong", "weak", "none"]

STRONG_COVERAGE: Final = 0.75
WEAK_COVERAGE: Final = 0.45
"""Thresholds on the share of the query's IDF weight that one document holds; see docs/ranking.md."""
PASSAGE_WIDTH: Final = 600
"""Characters within which a strong match says what its head does not: words scattered over a long text prove little."""
MOST_SIGHTINGS: Final = 64
"""Places of a word in the best document that are looked at."""
RIVAL_SHARE: Final = 0.9
"""How near a hit must come to the best hit of the other source to count as evidence against it."""


@dataclass(frozen=True, slots=True)
class Match:
    """`coverage` is the share, 0 to 1, of the query's IDF weight that the best hit holds; `signal` asks more of it.

    `unmatched_terms` are the words of the query, as written, of which the scope holds nothing, nor a stand-in.
    """

    signal: Signal
    coverage: float
    unmatched_terms: tuple[str, ...]


def match_of(best: int | None, evidence: Sequence[Evidence], text_of: Callable[[int], str]) -> Match:
    """The match of the best document of a ranking (None: there is none)."""
    unmatched = tuple(each.word.surface for each in evidence if not each.found)
    if best is None:
        return Match("none", 0.0, unmatched)
    asked = sum(each.weight for each in evidence)
    shares = [each.held_by(best) / asked for each in evidence]
    coverage = round(min(sum(shares), 1.0), 6)
    if coverage < WEAK_COVERAGE:
        return Match("none", coverage, unmatched)
    strong = coverage >= STRONG_COVERAGE and round(_together(best, evidence, shares, text_of), 6) >= STRONG_COVERAGE
    return Match("strong" if strong else "weak", coverage, unmatched)


def _together(best: int, evidence: Sequence[Evidence], shares: Sequence[float], text_of: Callable[[int], str]) -> float:
    """The share that the head of a document holds together with its best passage."""
    in_head, sought = 0.0, []
    for each, share in zip(evidence, shares, strict=True):
        if each.heads(best):
            in_head += share
        elif share:
            sought.append(Sought(each.needles, share))
    if in_head >= STRONG_COVERAGE or not sought:
        return in_head
    text = text_of(best)
    passage = best_passage(fold(text[:LONGEST_SEARCHED]), sought, PASSAGE_WIDTH, MOST_SIGHTINGS)
    # What the document holds but its text does not show is written in another way, joined or inflected.
    unseen = passage.unseen if len(text) <= LONGEST_SEARCHED else 0.0
    return in_head + passage.weight + unseen


def weak_or_better(coverage: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which hits are at least a weak match by themselves."""
    return coverage >= WEAK_COVERAGE


def near_best_rival(scores: NDArray[np.float64], rivals: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which hits come near the best of the `rivals`, the hits of the other source; an entry a hit.

    Words that both sources share prove nothing where the other source says much more.
    """
    return scores >= RIVAL_SHARE * float(scores[rivals].max(initial=0.0))
