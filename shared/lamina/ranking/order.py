"""Decides which documents come first: by score, and where overlay and baseline are told apart, by source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lamina.contract.request import Grouping
from lamina.index.bm25 import top_k

RIVAL_SHARE: Final = 0.9
"""How near a hit must come to the best hit of the other source to count as evidence against it."""


def first_places(
    steps: NDArray[np.int64], most: int, among: NDArray[np.bool_] | None, first: NDArray[np.bool_] | None
) -> NDArray[np.int64]:
    """Places of at most so many of the highest scores, best first, ties by place, without sorting the others.

    `among` leaves out all others, `first` puts some before the rest; both have an entry a place.
    """
    if among is None:
        return top_k(steps, most, first)
    places = np.flatnonzero(among)
    return places[top_k(steps[among], most, None if first is None else first[among])]


def standing_first(
    grouping: Grouping, of_overlay: NDArray[np.bool_], known: Callable[[], NDArray[np.bool_]]
) -> NDArray[np.bool_] | None:
    """Which hits the grouping puts before the rest whatever their scores; None where score alone decides.

    `of_overlay` has an entry a hit; so has what `known` gives: whether a hit is, by itself, evidence that its
    source knows the matter. Only `overlay_preferred` asks for it.
    """
    if grouping == Grouping.MERGED:
        return None
    return of_overlay & known() if grouping == Grouping.OVERLAY_PREFERRED else of_overlay


def near_best_rival(scores: NDArray[np.float64], rivals: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which hits come near the best of the `rivals`, the hits of the other source; an entry a hit.

    Words that both sources share prove nothing where the other source says much more.
    """
    return scores >= RIVAL_SHARE * float(scores[rivals].max(initial=0.0))
