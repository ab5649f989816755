"""Decides how arrays and columns lie in a snapshot: as plain data, and long rows of whole numbers compressed."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

PlainArray = tuple[str, tuple[int, ...], bytes]
"""An array's dtype, shape and bytes."""

PackedArray = tuple[PlainArray, PlainArray, PlainArray]
"""The numbers in one or two bytes each, zlib-compressed, all low bytes before all high ones; the places of those
that need more, where 0 stands above; those numbers."""

_TWO_BYTES = 0xFFFF
_PLANES = {"|u1": 1, "<u2": 2}


def to_plain(array: NDArray[Any]) -> PlainArray:
    """The array in little-endian order as a tuple that needs no class to load."""
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return little.dtype.str, tuple(int(size) for size in little.shape), little.tobytes()


def from_plain(plain: PlainArray) -> NDArray[Any]:
    """The array, read-only, over the stored bytes."""
    dtype, shape, content = plain
    return np.frombuffer(content, dtype=np.dtype(dtype)).reshape(shape)


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


def smallest(values: Sequence[int] | NDArray[Any]) -> NDArray[Any]:
    """Non-negative integers in the narrowest unsigned dtype that holds them."""
    array = np.asarray(values, dtype=np.int64)
    return array.astype(np.min_scalar_type(int(array.max(initial=0))))


@dataclass(frozen=True, slots=True)
class CodedColumn:
    """One value a document, few of them distinct: codes (one a document) into `values`."""

    values: tuple[Any, ...]
    codes: NDArray[Any]

    @classmethod
    def of(cls, per_document: Sequence[Any]) -> CodedColumn:
        """The column of hashable values; codes in order of first occurrence."""
        numbers: dict[Any, int] = {}
        codes = [numbers.setdefault(_distinct(value), len(numbers)) for value in per_document]
        return cls(tuple(value for _, value in numbers), smallest(codes))

    def __getitem__(self, document: int | np.signedinteger[Any]) -> Any:
        return self.values[self.codes[document]]

    def where(self, wanted: Callable[[Any], object]) -> NDArray[np.bool_]:
        """Mask of the documents whose value is wanted; `wanted` is asked once a distinct value."""
        if not self.values:
            return np.zeros(0, dtype=np.bool_)
        asked = np.fromiter((bool(wanted(value)) for value in self.values), np.bool_, len(self.values))
        return np.take(asked, self.codes)

    def to_plain(self) -> tuple[tuple[Any, ...], PlainArray]:
        """Plain data."""
        return self.values, to_plain(self.codes)

    @classmethod
    def from_plain(cls, plain: tuple[tuple[Any, ...], PlainArray]) -> CodedColumn:
        """The column of plain data."""
        return cls(plain[0], from_plain(plain[1]))


def _distinct(value: Any) -> tuple[type, Any]:
    """True and 1 are equal in Python but are different values of a column."""
    return type(value), value
