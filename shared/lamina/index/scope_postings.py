"""The postings of the documents that a call searches, scored once for all calls, as if the others did not exist."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise, starmap
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamina.index.bm25 import add_up, inverse_document_frequency, length_norm, saturated
from lamina.index.postings import Postings, starts_of
from lamina.index.terms import HEAD_MARK

MOST_REMEMBERED: Final = 5_000
"""Names and queries of which a scope remembers what it holds, about 15 MB."""

_BLOCK = 1 << 16


class Memory:
    """What a scope keeps of earlier queries by name, `MOST_REMEMBERED` at most; emptied when full."""

    def __init__(self) -> None:
        self._kept: dict[str, Any] = {}

    def get(self, name: str) -> Any | None:
        """What was kept under this name."""
        return self._kept.get(name)

    def keep(self, name: str, value: Any) -> None:
        """Keeps a value."""
        if len(self._kept) >= MOST_REMEMBERED:
            self.forget()
        self._kept[name] = value

    def forget(self) -> None:
        """Empties the memory."""
        self._kept = {}


class Row(NamedTuple):
    """The documents of a scope that hold a term, ascending, what BM25 gives to each, and the term's IDF."""

    documents: NDArray[np.int32]
    impacts: NDArray[np.float64]
    idf: float


@dataclass(frozen=True)
class ScopePostings:
    """Postings of the documents in `mask` (None: all), whose numbers stay those of the whole index.

    The postings of term t are positions `starts[t]` to `starts[t + 1]` of `documents`, `frequencies` and
    `impacts`; `count` is how many documents are searched.
    """

    whole: Postings
    mask: NDArray[np.bool_] | None
    count: int
    starts: NDArray[np.int64]
    documents: NDArray[np.int32]
    frequencies: NDArray[np.uint16]
    memory: Memory = field(default_factory=Memory, compare=False, repr=False)

    @staticmethod
    def of(whole: Postings, mask: NDArray[np.bool_] | None = None) -> ScopePostings:
        """The postings of a mask over all documents."""
        if mask is None or mask.all():
            return ScopePostings(whole, None, whole.count, whole.starts, whole.documents, whole.frequencies)
        inside = mask[whole.documents]
        held = np.diff(whole.starts)
        filled = np.flatnonzero(held)
        if len(filled):
            held[filled] = np.add.reduceat(inside, whole.starts[filled], dtype=np.int64)
        return ScopePostings(
            whole,
            mask,
            int(np.count_nonzero(mask)),
            starts_of(held),
            whole.documents[inside],
            whole.frequencies[inside],
        )

    @cached_property
    def norm(self) -> NDArray[np.float64]:
        """The length part of BM25's denominator, an entry a document."""
        return length_norm(self.whole.lengths, self.mask)

    @cached_property
    def head_norm(self) -> NDArray[np.float64]:
        """The same for the head of each document, scored as a small document of its own."""
        return length_norm(self.whole.head_lengths, self.mask)

    @cached_property
    def impacts(self) -> NDArray[np.float64]:
        """What each posting gives to its document: BM25, worked out once and not in every query (as bm25s does)."""
        impacts = np.empty(len(self.documents))
        heads = self.whole.beginning(HEAD_MARK)
        for terms, norm in (
            (range(heads.start), self.norm),
            (heads, self.head_norm),
            (range(heads.stop, len(self.starts) - 1), self.norm),
        ):
            for some in self._blocks(terms):
                held = np.diff(self.starts[some.start : some.stop + 1])
                idf = np.log1p((self.count - held + 0.5) / (held + 0.5))
                place = slice(int(self.starts[some.start]), int(self.starts[some.stop]))
                values = saturated(self.frequencies[place], norm[self.documents[place]])
                np.multiply(values, np.repeat(idf, held), out=impacts[place])
        return impacts

    def _blocks(self, terms: range) -> Iterator[range]:
        """The terms in blocks of about so many postings that what is worked out stays in the processor's cache."""
        ends = self.starts[terms.start + 1 : terms.stop + 1]
        last = int(self.starts[terms.stop])
        cuts = np.searchsorted(ends, np.arange(int(self.starts[terms.start]) + _BLOCK, last, _BLOCK)) + terms.start
        edges = sorted({terms.start, *cuts.tolist(), terms.stop})
        return starmap(range, pairwise(edges))

    def row(self, term: str) -> Row:
        """The postings of a term; empty where nothing holds it."""
        number = self.whole.numbers.get(term)
        if number is None:
            return self._absent
        start, end = self._edges[number], self._edges[number + 1]
        idf = inverse_document_frequency(end - start, self.count)
        return Row(self.documents[start:end], self.impacts[start:end], idf)

    def joint_row(self, terms: Iterable[str], *, in_head: bool = False) -> Row:
        """The postings of several terms counted as one; `in_head` where they are terms of the head."""
        places = [
            slice(*self._edges[number : number + 2])
            for number in map(self.whole.numbers.get, terms)
            if number is not None
        ]
        rows = [(self.documents[place], self.frequencies[place].astype(np.float64), 1.0) for place in places]
        documents, frequencies = add_up(rows, self.whole.count)
        idf = inverse_document_frequency(len(documents), self.count)
        norm = self.head_norm if in_head else self.norm
        return Row(documents, saturated(frequencies, norm[documents]) * idf, idf)

    def document_frequency(self, term: str) -> int:
        """How many documents of the scope hold a term."""
        number = self.whole.numbers.get(term)
        return 0 if number is None else self._edges[number + 1] - self._edges[number]

    @cached_property
    def _edges(self) -> memoryview[int]:
        """`starts` as Python's own numbers, which are quicker one by one."""
        return self.starts.data

    @cached_property
    def _absent(self) -> Row:
        return Row(self.documents[:0], self.impacts[:0], inverse_document_frequency(0, self.count))
