"""Arrays as plain data: (dtype, shape, bytes), small enough to store, quick enough to load."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

PlainArray = tuple[str, tuple[int, ...], bytes]


def to_plain(array: NDArray[Any]) -> PlainArray:
    """The array in little-endian order as a tuple that needs no class to load."""
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return little.dtype.str, tuple(int(size) for size in little.shape), little.tobytes()


def from_plain(plain: PlainArray) -> NDArray[Any]:
    """The array, read-only, over the stored bytes."""
    dtype, shape, content = plain
    return np.frombuffer(content, dtype=np.dtype(dtype)).reshape(shape)


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
