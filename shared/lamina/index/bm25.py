"""Decides what a term in a document is worth: BM25 with an IDF that is always positive."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

SATURATION: Final = 1.8
"""k1: how soon further occurrences of a term stop counting. Chosen by `make bench`, see docs/ranking.md."""
LENGTH_NORMALISATION: Final = 0.75
"""b: how much a long document must repeat a term to count the same, 0 to 1."""

MOST_REMEMBERED: Final = 2_000_000
"""Postings kept for later queries of a scope, about 25 MB."""
REMEMBERED_AT_LEAST: Final = 64
"""What a kept name costs beside its postings."""

Contribution = tuple[NDArray[np.int32], NDArray[np.float64]]
"""Distinct document numbers, and what one term gives to each."""


class Memory:
    """What a scope keeps of earlier queries, by name, within `MOST_REMEMBERED` postings; emptied when full."""

    def __init__(self) -> None:
        self._kept: dict[str, Any] = {}
        self._postings = 0

    def get(self, name: str) -> Any | None:
        """What was kept under this name."""
        return self._kept.get(name)

    def keep(self, name: str, value: Any, postings: int) -> None:
        """Keeps a value that stands for so many postings."""
        cost = postings + REMEMBERED_AT_LEAST
        if self._postings + cost > MOST_REMEMBERED:
            self._kept, self._postings = {}, 0
        if cost <= MOST_REMEMBERED:
            self._kept[name] = value
            self._postings += cost


@dataclass(frozen=True, slots=True)
class ScopeStatistics:
    """What BM25 knows of the documents searched, as if the others did not exist.

    `mask` (None: all documents), `norm` and `head_norm` (the denominator's part that depends on the length of
    the document, and of its head) have one entry a document.
    """

    mask: NDArray[np.bool_] | None
    count: int
    average_length: float
    norm: NDArray[np.float64]
    head_norm: NDArray[np.float64]
    memory: Memory = field(default_factory=Memory, compare=False, repr=False)

    @staticmethod
    def of(
        lengths: NDArray[np.int64], head_lengths: NDArray[np.int64], mask: NDArray[np.bool_] | None
    ) -> ScopeStatistics:
        """Statistics of the masked documents from all documents' lengths."""
        count = len(lengths) if mask is None else int(np.count_nonzero(mask))
        return ScopeStatistics(mask, count, _average(lengths, mask), _norm(lengths, mask), _norm(head_lengths, mask))


def _average(lengths: NDArray[np.int64], mask: NDArray[np.bool_] | None) -> float:
    searched = lengths if mask is None else lengths[mask]
    return float(searched.sum()) / len(searched) if len(searched) else 0.0


def _norm(lengths: NDArray[np.int64], mask: NDArray[np.bool_] | None) -> NDArray[np.float64]:
    average = _average(lengths, mask)
    relative = lengths / average if average else np.zeros(len(lengths))
    return np.asarray(SATURATION * (1 - LENGTH_NORMALISATION + LENGTH_NORMALISATION * relative))


def inverse_document_frequency(document_frequency: int, count: int) -> float:
    """How much a term that is in `document_frequency` of `count` documents tells, always above zero.

    log(1 + (N − n + ½) / (n + ½)): Robertson and Spärck Jones' weight, kept positive by the 1 as Lucene does.
    """
    return math.log(1 + (count - document_frequency + 0.5) / (document_frequency + 0.5))


def saturated(frequencies: NDArray[np.uint16] | NDArray[np.float64], norm: NDArray[np.float64]) -> NDArray[np.float64]:
    """The frequency part of BM25: rises with the frequency, below k1 + 1."""
    occurrences = frequencies.astype(np.float64)
    return occurrences * (SATURATION + 1) / (occurrences + norm)


def add_up(contributions: Sequence[Contribution], count: int) -> Contribution:
    """Sums contributions by document: ascending numbers of the documents touched, and their sums.

    Costs the length of the contributions where they are few, `count` (all documents) at most beside that.
    """
    contributions = [one for one in contributions if len(one[0])]
    if not contributions:
        return np.zeros(0, dtype=np.int32), np.zeros(0)
    if len(contributions) == 1:
        return contributions[0]
    total = sum(len(documents) for documents, _ in contributions)
    if total * 8 < count:
        return _add_up_few(contributions)
    dense = np.zeros(count)
    for documents, values in contributions:
        dense[documents] += values
    # Every contribution is above zero, so a sum of zero is a document that none has touched.
    found = np.flatnonzero(dense > 0).astype(np.int32)
    return found, dense[found]


def _add_up_few(contributions: Sequence[Contribution]) -> Contribution:
    documents = np.concatenate([documents for documents, _ in contributions])
    values = np.concatenate([values for _, values in contributions])
    order = np.argsort(documents, kind="stable")
    ordered = documents[order]
    firsts = np.flatnonzero(np.diff(ordered, prepend=np.int32(-1)))
    return ordered[firsts], np.add.reduceat(values[order], firsts)
