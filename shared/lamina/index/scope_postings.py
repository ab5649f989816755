"""The postings of the documents that a call searches, scored once for all calls, as if the others did not exist."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise, starmap
from typing import Any, Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from lamina.index.bm25 import (
    add_up,
    inverse_document_frequencies,
    inverse_document_frequency,
    length_norm,
    saturated,
    top_k,
)
from lamina.index.postings import Postings, starts_of
from lamina.index.terms import HEAD_MARK

MOST_REMEMBERED: Final = 50_000
"""Views of posting lists that a scope keeps for later queries, about 10 MB."""
_KEPT_AT_LEAST: Final = 4
"""What a kept name costs beside its views."""
_BLOCK: Final = 1 << 16
"""Postings scored at a time: what is worked out for them stays in the processor's cache."""


class Memory:
    """What a scope keeps of earlier queries by (what it is, of which text), within `MOST_REMEMBERED` views.

    Emptied when full.
    """

    def __init__(self) -> None:
        self.views = 0
        self._kept: dict[tuple[str, str], Any] = {}

    def get(self, name: tuple[str, str]) -> Any | None:
        """What was kept under this name."""
        return self._kept.get(name)

    def keep(self, name: tuple[str, str], value: Any, views: int = 0) -> None:
        """Keeps a value that holds so many views of posting lists, and no array of its own."""
        cost = views + _KEPT_AT_LEAST
        if self.views + cost > MOST_REMEMBERED:
            self.forget()
        if cost <= MOST_REMEMBERED:
            self._kept[name] = value
            self.views += cost

    def forget(self) -> None:
        """Empties the memory."""
        self._kept, self.views = {}, 0


class PostingList(NamedTuple):
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
        sizes = np.diff(whole.starts)
        filled = np.flatnonzero(sizes)
        if len(filled):
            sizes[filled] = np.add.reduceat(inside, whole.starts[filled], dtype=np.int64)
        return ScopePostings(
            whole,
            mask,
            int(np.count_nonzero(mask)),
            starts_of(sizes),
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
    def idf(self) -> NDArray[np.float64]:
        """The IDF of each term."""
        return inverse_document_frequencies(np.diff(self.starts), self.count)

    @cached_property
    def impacts(self) -> NDArray[np.float64]:
        """What each posting gives to its document: BM25, worked out once and not in every query (as bm25s does)."""
        impacts = np.empty(len(self.documents))
        heads = self.whole.with_prefix(HEAD_MARK)
        for terms, norm in (
            (range(heads.start), self.norm),
            (heads, self.head_norm),
            (range(heads.stop, len(self.idf)), self.norm),
        ):
            for some in self._blocks(terms):
                place = slice(int(self.starts[some.start]), int(self.starts[some.stop]))
                values = saturated(self.frequencies[place], norm[self.documents[place]])
                idf = np.repeat(self.idf[some.start : some.stop], np.diff(self.starts[some.start : some.stop + 1]))
                np.multiply(values, idf, out=impacts[place])
        return impacts

    def _blocks(self, terms: range) -> Iterator[range]:
        """The terms in blocks of about `_BLOCK` postings, a term with more in one of its own."""
        ends = self.starts[terms.start + 1 : terms.stop + 1]
        last = int(self.starts[terms.stop])
        cuts = np.searchsorted(ends, np.arange(int(self.starts[terms.start]) + _BLOCK, last, _BLOCK)) + terms.start
        edges = sorted({terms.start, *cuts.tolist(), terms.stop})
        return starmap(range, pairwise(edges))

    def posting_list(self, term: str) -> PostingList:
        """The postings of a term; empty where nothing holds it."""
        number = self.whole.numbers.get(term)
        if number is None:
            return self._absent
        start, stop = self._edges[number], self._edges[number + 1]
        return PostingList(self.documents[start:stop], self.impacts[start:stop], self._idf[number])

    def joint_posting_list(self, terms: Iterable[str], *, in_head: bool = False) -> PostingList:
        """The postings of several terms as if they were the same term; `in_head` where they are terms of the head."""
        numbers = (self.whole.numbers.get(term) for term in terms)
        places = [self._place(number) for number in numbers if number is not None]
        lists = [(self.documents[place], self.frequencies[place].astype(np.float64), 1.0) for place in places]
        documents, frequencies = add_up(lists, self.whole.count)
        idf = inverse_document_frequency(len(documents), self.count)
        norm = self.head_norm if in_head else self.norm
        return PostingList(documents, saturated(frequencies, norm[documents]) * idf, idf)

    def completions(self, prefix: str, most: int) -> list[str]:
        """At most so many of the terms of the scope that begin so, those in most documents first."""
        possible = self.whole.with_prefix(prefix)
        held = np.diff(self.starts[possible.start : possible.stop + 1])
        return [self.whole.vocabulary[possible[at]] for at in top_k(held, most).tolist() if held[at]]

    def document_frequency(self, term: str) -> int:
        """How many documents of the scope hold a term."""
        number = self.whole.numbers.get(term)
        return 0 if number is None else self._edges[number + 1] - self._edges[number]

    def _place(self, number: int) -> slice[int, int, None]:
        return slice(self._edges[number], self._edges[number + 1])

    @cached_property
    def _edges(self) -> memoryview[int]:
        """`starts`, whose numbers are quicker to get one by one so."""
        return self.starts.data

    @cached_property
    def _idf(self) -> memoryview[float]:
        """`idf`, for the same reason."""
        return cast("memoryview[float]", self.idf.data)

    @cached_property
    def _absent(self) -> PostingList:
        return PostingList(self.documents[:0], self.impacts[:0], inverse_document_frequency(0, self.count))
