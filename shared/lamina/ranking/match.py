"""Decides whether what was asked is known at all: strong, weak or none, from the share of the query that a hit holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

Signal = Literal["strong", "weak", "none"]

STRONG_COVERAGE: Final = 0.75
WEAK_COVERAGE: Final = 0.4
"""Thresholds on the share of the query's IDF weight that one document holds; see docs/ranking.md."""


@dataclass(frozen=True, slots=True)
class Match:
    """`coverage` is the share, 0 to 1, of the query's IDF weight that the best hit holds.

    `unmatched_terms` are the words of the query, as written, that occur nowhere in the scope.
    """

    signal: Signal
    coverage: float
    unmatched_terms: tuple[str, ...]


NO_MATCH: Final = Match("none", 0.0, ())


def signal_of(coverage: float) -> Signal:
    """The signal of one document's coverage."""
    if coverage >= STRONG_COVERAGE:
        return "strong"
    return "weak" if coverage >= WEAK_COVERAGE else "none"


def has_evidence(coverage: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which documents are at least a weak match by themselves."""
    return coverage >= WEAK_COVERAGE
