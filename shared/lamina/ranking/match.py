"""Decides whether what was asked is known at all, from the share of the query that a document holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

Signal = Literal["strong", "weak", "none"]

STRONG_COVERAGE: Final = 0.75
WEAK_COVERAGE: Final = 0.45
"""Thresholds on the share of the query's IDF weight that one document holds; see docs/ranking.md."""
RIVAL_SHARE: Final = 0.9
"""How near a hit must come to the best hit of the other source to count as evidence against it."""


@dataclass(frozen=True, slots=True)
class Match:
    """`coverage` is the share, 0 to 1, of the query's IDF weight that the best hit holds.

    `unmatched_terms` are the words of the query, as written, that occur nowhere in the scope.
    """

    signal: Signal
    coverage: float
    unmatched_terms: tuple[str, ...]


def signal_of(coverage: float) -> Signal:
    """The signal of one document's coverage."""
    if coverage >= STRONG_COVERAGE:
        return "strong"
    return "weak" if coverage >= WEAK_COVERAGE else "none"


def has_evidence(
    coverage: NDArray[np.float64],
    scores: NDArray[np.float64] | None = None,
    rivals: NDArray[np.bool_] | None = None,
) -> NDArray[np.bool_]:
    """Which hits are at least a weak match by themselves; all arrays have an entry a hit.

    With `scores` and `rivals` (the hits of the other source) a hit must also come near the best rival: words
    that both sources share prove nothing where the other source says much more.
    """
    known = coverage >= WEAK_COVERAGE
    if scores is None or rivals is None:
        return known
    best_rival = float(scores[rivals].max(initial=0.0))
    return known & (scores >= RIVAL_SHARE * best_rival)
