"""Filters → the documents that pass them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamina.contract.errors import LaminaError
from lamina.contract.filters import AUDIENCES, EXPOSURES, TIERS, Filters
from lamina.index.arrays import CodedColumn
from lamina.index.snapshot import Snapshot


def check_values(filters: Filters, snapshot: Snapshot) -> None:
    """Raises INVALID_FILTER_VALUE for a value that is neither canonical nor anywhere in the snapshot."""
    _check("audience", filters.audience, AUDIENCES, snapshot.audience)
    _check("exposure", filters.exposure, EXPOSURES, snapshot.exposure)
    _check("tier", filters.tier, TIERS, snapshot.tier)


def passing(filters: Filters, snapshot: Snapshot) -> NDArray[np.bool_]:
    """Mask of the documents that match every filter; one that lacks a filtered field does not match."""
    kinds = filters.kinds
    mask = snapshot.kind.where(lambda kind: kind in kinds)
    for wanted, column in (
        (filters.audience, snapshot.audience),
        (filters.exposure, snapshot.exposure),
        (filters.tier, snapshot.tier),
    ):
        if wanted:
            mask &= column.where(frozenset(wanted).intersection)
    if filters.public is not None:
        mask &= snapshot.public.where(lambda value: value is filters.public)
    if filters.start_here is not None:
        mask &= snapshot.start_here.where(lambda value: value is filters.start_here)
    if filters.tags:
        mask &= snapshot.tags.where(lambda values: all(tag in values for tag in filters.tags))
    if filters.exclude_invalidated:
        mask &= snapshot.invalidated.where(lambda value: value is False)
    if filters.path_prefix:
        mask &= np.fromiter((path.startswith(filters.path_prefix) for path in snapshot.paths), np.bool_, len(snapshot))
    return mask


def _check(axis: str, asked: Iterable[Any], canonical: Sequence[Any], column: CodedColumn) -> None:
    unknown = [value for value in asked if value not in canonical]
    if not unknown:
        return
    occurring = {value for values in column.values for value in values}
    for value in unknown:
        if value not in occurring:
            possible = [*canonical, *sorted(occurring - set(canonical))]
            shown = ", ".join(str(one) for one in possible)
            raise LaminaError(
                "INVALID_FILTER_VALUE",
                f"{axis} {value!r} is neither canonical nor used by any document here. Possible: {shown}.",
                parameter=axis,
                requested_value=value,
                possible_values=possible,
            )
