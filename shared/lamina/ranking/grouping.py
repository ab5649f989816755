"""Which hits stand before the others whatever their scores: in which order overlay and baseline come."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from lamina.contract.request import Grouping


def standing_first(
    grouping: Grouping, of_overlay: NDArray[np.bool_], known: Callable[[], NDArray[np.bool_]]
) -> NDArray[np.bool_] | None:
    """Which hits the grouping puts before the rest; None where score alone decides.

    `of_overlay` has an entry a hit; so has what `known` gives: whether a hit is, by itself, evidence that its
    source knows the matter. Only `overlay_preferred` asks for it.
    """
    if grouping == Grouping.MERGED:
        return None
    return of_overlay & known() if grouping == Grouping.OVERLAY_PREFERRED else of_overlay
