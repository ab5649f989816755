"""In which order overlay and baseline hits stand against each other. The score order inside each part is kept."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from lamina.contract.request import Grouping


def arranged(
    grouping: Grouping, of_overlay: NDArray[np.bool_], known: Callable[[], NDArray[np.bool_]]
) -> NDArray[np.int64]:
    """Positions of the ranked hits in the order that the grouping wants them.

    `of_overlay` has an entry a hit, best score first; so has what `known` gives: whether a hit is, by itself,
    evidence that its source knows the matter. Only `overlay_preferred` asks for it.
    """
    if grouping == Grouping.MERGED:
        return np.arange(len(of_overlay))
    above = of_overlay & known() if grouping == Grouping.OVERLAY_PREFERRED else of_overlay
    return np.concatenate([np.flatnonzero(above), np.flatnonzero(~above)])
