"""Decides which documents stand before the others whatever their scores: in which order overlay and baseline come."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from lamina.contract.request import Grouping
from lamina.ranking.match import weak_or_better
from lamina.ranking.rank import Ranked

RIVAL_SHARE: Final = 0.9
"""How near a hit must come to the best hit of the other source to count as evidence against it."""


def standing_first(
    grouping: Grouping, ranked: Ranked, overlay: NDArray[np.bool_], pool: NDArray[np.bool_]
) -> NDArray[np.bool_] | None:
    """Which of the ranked documents the grouping puts before the rest; None where score alone decides.

    `overlay` has an entry a document of the index; `pool` one a ranked document: those that stand against each other.
    Under `overlay_preferred` a document of the overlay must be, by itself, evidence that the overlay knows the matter:
    a weak match at least, and near the best of the baseline, as words that both share prove nothing where the other
    says much more.
    """
    if grouping == Grouping.MERGED:
        return None
    of_overlay = overlay[ranked.found]
    if grouping != Grouping.OVERLAY_PREFERRED:
        return of_overlay
    best_rival = float(ranked.scores[pool & ~of_overlay].max(initial=0.0))
    return of_overlay & weak_or_better(ranked.coverage) & (ranked.scores >= RIVAL_SHARE * best_rival)
