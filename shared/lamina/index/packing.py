"""Decides how an array lies in a snapshot: two bytes a number at most, sorted by significance, compressed."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamina.index.arrays import PlainArray, from_plain, to_plain

PackedArray = tuple[PlainArray, PlainArray, PlainArray]
"""The numbers in one or two bytes each, zlib-compressed, all low bytes before all high ones; the places of those
that need more, where 0 stands above; those numbers."""

_TWO_BYTES = 0xFFFF
_PLANES = {"|u1": 1, "<u2": 2}


def packed(values: NDArray[Any]) -> PackedArray:
    """A row of whole numbers, none negative; the few that need more than two bytes stand aside."""
    large = np.flatnonzero(values > _TWO_BYTES)
    small = values.astype(np.uint16)
    small[large] = 0
    if not (small >> 8).any():
        small = small.astype(np.uint8)
    dtype, shape, content = to_plain(small)
    planes = np.frombuffer(content, dtype=np.uint8).reshape(*shape, small.itemsize).T
    return (dtype, shape, zlib.compress(planes.tobytes(), 6)), to_plain(large), to_plain(values[large].astype(np.int64))


def unpacked(array: PackedArray, dtype: type) -> NDArray[Any]:
    """The inverse of `packed`, as an array of `dtype`. Raises ValueError and LookupError for other shapes."""
    (narrow, (count,), compressed), *aside = array
    content = np.frombuffer(zlib.decompress(compressed), dtype=np.uint8)
    low, *high = content.reshape(_PLANES[narrow], count)
    values: NDArray[Any] = low.astype(dtype)
    for plane in high:
        values += plane.astype(dtype) << 8
    places, numbers = map(from_plain, aside)
    if (
        places.dtype != np.int64
        or numbers.dtype != np.int64
        or places.shape != numbers.shape
        or places.min(initial=0) < 0
    ):
        raise ValueError("places and numbers are whole and as many as each other")
    values[places] = numbers
    return values


def joined(rows: Sequence[NDArray[Any]], dtype: type) -> NDArray[Any]:
    """The rows one after another; an empty array of `dtype` where there is none."""
    return np.concatenate(rows) if rows else np.zeros(0, dtype=dtype)
