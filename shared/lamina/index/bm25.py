"""Decides what a term in a document is worth, how that adds up, and which sums are the highest.

BM25 with an IDF that is always positive.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

K1: Final = 1.8
"""How soon further occurrences of a term stop counting. Chosen by cross-validation, see docs/ranking.md."""
B: Final = 0.75
"""How much a long document must repeat a term to count the same, 0 to 1."""
_BLOCKS_EACH: Final = 4
"""Blocks of values that are looked through for each place of a page: more leave fewer to sort."""
_LEAST_IN_BLOCK: Final = 4
"""Values in a block below which all are sorted at once."""

Contribution = tuple[NDArray[np.int32], NDArray[np.float64], float]
"""Distinct document numbers, what something gives to each, and what that is multiplied by."""


def length_norm(lengths: NDArray[np.int64], mask: NDArray[np.bool_] | None) -> NDArray[np.float64]:
    """The part of BM25's denominator that depends on a document's length, against the average of the masked ones."""
    searched = lengths if mask is None else lengths[mask]
    total = float(searched.sum())
    relative = lengths * (len(searched) / total) if total else np.zeros(len(lengths))
    return np.asarray(K1 * (1 - B + B * relative))


def inverse_document_frequencies(document_frequencies: NDArray[np.int64], count: int) -> NDArray[np.float64]:
    """The IDF of terms that are in so many of `count` documents, always above zero.

    log(1 + (N − n + ½) / (n + ½)): Robertson and Spärck Jones' weight, kept positive by the 1 as Lucene does.
    """
    return np.log1p((count - document_frequencies + 0.5) / (document_frequencies + 0.5))


def inverse_document_frequency(document_frequency: int, count: int) -> float:
    """The same for one term."""
    return float(inverse_document_frequencies(np.array([document_frequency]), count)[0])


def saturated(frequencies: NDArray[Any], norm: NDArray[np.float64]) -> NDArray[np.float64]:
    """The frequency part of BM25, f · (k1 + 1) / (f + norm): rises with the frequency, below k1 + 1."""
    values: NDArray[np.float64] = norm / frequencies
    values += 1
    return np.divide(K1 + 1, values, out=values)


def add_up(contributions: Sequence[Contribution], count: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Sums contributions by document: ascending numbers of the documents touched, and their sums.

    All values must be above zero. Costs the length of the contributions where they are few, `count` (all
    documents) at most beside that.
    """
    contributions = [each for each in contributions if len(each[0])]
    if not contributions:
        return np.zeros(0, dtype=np.int32), np.zeros(0)
    if len(contributions) == 1:
        documents, values, weight = contributions[0]
        return documents, values * weight
    documents = np.concatenate([documents for documents, _, _ in contributions])
    values = np.concatenate([values if weight == 1 else values * weight for _, values, weight in contributions])
    if len(documents) * 8 < count:
        return _add_up_few(documents, values)
    dense = np.asarray(np.bincount(documents, values, count), dtype=np.float64)
    # Every value is above zero, so a sum of zero is a document that none has touched.
    found = np.flatnonzero(dense > 0)
    return found.astype(np.int32), dense[found]


def _add_up_few(
    documents: NDArray[np.int32], values: NDArray[np.float64]
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    order = np.argsort(documents, kind="stable")
    ordered = documents[order]
    firsts = np.flatnonzero(np.diff(ordered, prepend=np.int32(-1)))
    return ordered[firsts], np.add.reduceat(values[order], firsts)


def top_k(values: NDArray[np.int64], k: int, first: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
    """Places of the k highest values, none below zero, highest first, ties by place.

    >>> top_k(np.array([3, 9, 1, 9, 5]), 3).tolist()
    [1, 3, 4]

    Those of `first` come before the rest:

    >>> top_k(np.array([3, 9, 1, 9, 5]), 3, np.array([True, False, False, False, True])).tolist()
    [4, 0, 1]

    Many values are not all sorted. They are cut into four blocks for each place asked for, and the k-th highest peak
    of these blocks is a bound: k values at least reach it, so none below it is among the first k. For k = 1, values
    that peak at 7, 9, 2 and 5 in their blocks leave only those of 9 and above to sort.
    """
    if first is not None:
        values = values + first * (values.max(initial=0) + 1)
    if not 0 < k * _BLOCKS_EACH * _LEAST_IN_BLOCK <= len(values):
        return (-values).argsort(kind="stable")[:k]
    blocks = k * _BLOCKS_EACH
    peaks = values[: len(values) - len(values) % blocks].reshape(blocks, -1).max(axis=1)
    peaks.partition(blocks - k)
    high: NDArray[np.int64] = (values >= peaks[blocks - k]).nonzero()[0]
    return high[(-values[high]).argsort(kind="stable")[:k]]
