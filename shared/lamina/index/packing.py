"""Decides how an array lies in a snapshot: two bytes a number, sorted by significance, compressed."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

PackedArray = tuple[int, bytes, bytes, bytes]
"""How many numbers, and, zlib-compressed: their low bytes and then, unless all are 0, their high bytes; the places
of the numbers that need more than two bytes (int64, 0 stands above); those numbers (int64)."""

_TWO_BYTES = 0xFFFF


def packed(values: NDArray[Any]) -> PackedArray:
    """Whole numbers, none negative; the few that need more than two bytes stand aside."""
    large = np.flatnonzero(values > _TWO_BYTES)
    small = values.astype("<u2")
    small[large] = 0
    low, high = small.view(np.uint8).reshape(-1, 2).T
    planes = low.tobytes() + (high.tobytes() if high.any() else b"")
    aside = (large.astype("<i8"), values[large].astype("<i8"))
    places, numbers = (zlib.compress(one.tobytes(), 6) for one in aside)
    return len(values), zlib.compress(planes, 6), places, numbers


def unpacked(array: PackedArray, dtype: type) -> NDArray[Any]:
    """The inverse of `packed`, as an array of `dtype`."""
    count, compressed, places, numbers = array
    planes = np.frombuffer(zlib.decompress(compressed), dtype=np.uint8)
    values: NDArray[Any] = planes[:count].astype(dtype)
    if len(planes) > count:
        values += planes[count:].astype(dtype) << 8
    values[np.frombuffer(zlib.decompress(places), dtype="<i8")] = np.frombuffer(zlib.decompress(numbers), dtype="<i8")
    return values


def joined(rows: Sequence[NDArray[Any]], dtype: type) -> NDArray[Any]:
    """The rows one after another; an empty array of `dtype` where there is none."""
    return np.concatenate(rows) if rows else np.zeros(0, dtype=dtype)
