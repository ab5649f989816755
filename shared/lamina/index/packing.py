"""Decides how an array lies in a snapshot: narrow, its bytes sorted by significance, compressed."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

PackedArray = tuple[str, tuple[int, ...], bytes]
"""An array as (dtype, shape, zlib-compressed bytes)."""


def packed(values: NDArray[Any]) -> PackedArray:
    """Whole numbers, none negative, in the narrowest type that holds them."""
    narrow = values.astype(np.min_scalar_type(int(values.max(initial=0))))
    little = narrow.astype(narrow.dtype.newbyteorder("<"))
    planes = little.view(np.uint8).reshape(len(little), little.dtype.itemsize).T
    return narrow.dtype.name, narrow.shape, zlib.compress(planes.tobytes(), 6)


def unpacked(array: PackedArray) -> NDArray[Any]:
    """The inverse of `packed`."""
    name, shape, compressed = array
    dtype = np.dtype(name).newbyteorder("<")
    planes = np.frombuffer(zlib.decompress(compressed), dtype=np.uint8).reshape(dtype.itemsize, -1)
    return np.ascontiguousarray(planes.T).view(dtype).reshape(shape)


def joined(rows: Sequence[NDArray[Any]], dtype: type) -> NDArray[Any]:
    """The rows one after another; an empty array of `dtype` where there is none."""
    return np.concatenate(rows) if rows else np.zeros(0, dtype=dtype)
