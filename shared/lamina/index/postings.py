"""Decides how terms are stored: compressed sparse rows, for each term its documents, frequencies and positions."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lamina.corpus.document import Document
from lamina.index.bm25 import ScopeStatistics
from lamina.index.fields import FIELD_WEIGHTS, PLACED_FIELD, field_texts
from lamina.index.packing import PackedArray, joined, packed, unpacked
from lamina.index.stopwords import STOP_WORDS
from lamina.index.terms import FORM_MARK, sequence, stem, terms_of, words
from lamina.index.vocabulary import KnownWords

HIGHEST_FREQUENCY: Final = 65_535
"""A frequency is kept in 16 bits; beyond this BM25 has long stopped caring."""
MOST_POSITIONS: Final = 31
"""Positions kept of a term in a document; later ones add nothing to adjacency."""
LAST_POSITION: Final = 65_535
"""Words of a body that have a position, in 16 bits; a term after them is found, but not as a neighbour."""

TermCounts = tuple[str, bytes, bytes, bytes, int]
"""The terms of one document as plain data: the terms, one a line; for each its folded frequency (uint16) and
the number of its positions (uint8); all positions (uint16), little-endian; the document's length."""


def document_terms(document: Document) -> TermCounts:
    """The folded term frequencies of one document, the sum over fields of weight × occurrences, and where its
    stems stand in the body."""
    named: Counter[str] = Counter()
    places: dict[str, list[int]] = {}
    for field, text in field_texts(document):
        read = words(text)
        weight = FIELD_WEIGHTS[field]
        for name, occurrences in Counter(name for word in read for name in (word.whole, *word.parts)).items():
            named[name] += weight * occurrences
        if field == PLACED_FIELD:
            for position, name in enumerate(sequence(read)):
                places.setdefault(name, []).append(position)
    return _counts_of(named, {name: at for name, at in places.items() if name not in STOP_WORDS})


def _counts_of(named: Counter[str], places: dict[str, list[int]]) -> TermCounts:
    counts: Counter[str] = Counter()
    positions: dict[str, list[int]] = {}
    for name, occurrences in named.items():
        for term in terms_of(name):
            counts[term] += occurrences
        if name in places:
            positions.setdefault(stem(name), []).extend(places[name])
    kept = [sorted(positions.get(term, ()))[:MOST_POSITIONS] for term in counts]
    kept = [[position for position in each if position <= LAST_POSITION] for each in kept]
    frequencies = np.fromiter(counts.values(), dtype=np.int64, count=len(counts))
    return (
        "\n".join(counts),
        np.minimum(frequencies, HIGHEST_FREQUENCY).astype("<u2").tobytes(),
        bytes(map(len, kept)),
        np.array([position for each in kept for position in each], dtype="<u2").tobytes(),
        sum(occurrences for term, occurrences in counts.items() if not term.startswith(FORM_MARK)),
    )


@dataclass(frozen=True)
class Postings:
    """Term postings of numbered documents.

    `vocabulary` is sorted. The postings of term t are positions `starts[t]` to `starts[t + 1]` of `documents`
    (int32, ascending within a term) and `frequencies` (uint16, folded over fields). The places of posting p in
    its document's body are `places[place_starts[p] : place_starts[p + 1]]` (uint16, ascending, in words).
    `lengths` (int64) holds the sum of a document's frequencies, exact forms aside.
    """

    vocabulary: tuple[str, ...]
    starts: NDArray[np.int64]
    documents: NDArray[np.int32]
    frequencies: NDArray[np.uint16]
    place_starts: NDArray[np.uint32]
    places: NDArray[np.uint16]
    lengths: NDArray[np.int64]

    @staticmethod
    def build(counted: Iterable[TermCounts]) -> Postings:
        """Postings of documents numbered in the order given. Any number of documents, also none."""
        numbers: dict[str, int] = {}
        term_rows: list[NDArray[np.int32]] = []
        frequency_rows, place_count_rows, place_rows, lengths = [], [], [], []
        for names, frequencies, place_counts, places, length in counted:
            terms = names.split("\n") if names else []
            row = (numbers.setdefault(term, len(numbers)) for term in terms)
            term_rows.append(np.fromiter(row, dtype=np.int32, count=len(terms)))
            frequency_rows.append(np.frombuffer(frequencies, dtype="<u2"))
            place_count_rows.append(np.frombuffer(place_counts, dtype=np.uint8))
            place_rows.append(np.frombuffer(places, dtype="<u2"))
            lengths.append(length)
        vocabulary = sorted(numbers)
        rank = np.empty(len(vocabulary), dtype=np.int32)
        rank[[numbers[term] for term in vocabulary]] = np.arange(len(vocabulary), dtype=np.int32)
        sizes = np.array([len(row) for row in term_rows], dtype=np.int64)
        by_document = rank[joined(term_rows, np.int32)]
        order = np.argsort(by_document, kind="stable")
        place_counts_flat = joined(place_count_rows, np.uint8)
        return Postings(
            vocabulary=tuple(vocabulary),
            starts=_starts(np.bincount(by_document, minlength=len(vocabulary)), np.int64),
            documents=np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)[order],
            frequencies=joined(frequency_rows, np.uint16)[order],
            place_starts=_starts(place_counts_flat[order], np.uint32),
            places=slices(joined(place_rows, np.uint16), _starts(place_counts_flat, np.uint32), order)[0],
            lengths=np.array(lengths, dtype=np.int64),
        )

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Term → its number."""
        return dict(zip(self.vocabulary, range(len(self.vocabulary)), strict=True))

    @cached_property
    def known_words(self) -> KnownWords:
        """The words that an unknown spelling is compared with."""
        return KnownWords.of(self.vocabulary)

    @property
    def count(self) -> int:
        """How many documents there are."""
        return len(self.lengths)

    def row(self, term: int) -> slice:
        """Where the postings of a term stand."""
        return slice(int(self.starts[term]), int(self.starts[term + 1]))

    def in_scope(
        self, term: int, mask: NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.int32], NDArray[np.uint16]]:
        """The documents of a mask (None: all) that hold a term, ascending, and its frequency in each."""
        row = self.row(term)
        documents, frequencies = self.documents[row], self.frequencies[row]
        if mask is None:
            return documents, frequencies
        inside = mask[documents]
        return documents[inside], frequencies[inside]

    def statistics(self, mask: NDArray[np.bool_] | None = None) -> ScopeStatistics:
        """What BM25 needs to know of the documents in a mask (None: all), an entry a document."""
        return ScopeStatistics.of(self.lengths, mask)

    def to_data(self) -> dict[str, Any]:
        """Plain data for a snapshot: dict, int, bytes and packed arrays."""
        return {
            "vocabulary": zlib.compress("\n".join(self.vocabulary).encode(), 9),
            "terms": len(self.vocabulary),
            "row_sizes": packed(np.diff(self.starts)),
            "document_gaps": packed(_gaps(self.documents, self.starts)),
            "frequencies": packed(self.frequencies),
            "place_counts": packed(np.diff(self.place_starts)),
            "place_gaps": packed(_gaps(self.places, self.place_starts)),
            "lengths": packed(self.lengths),
        }

    @staticmethod
    def from_data(data: dict[str, Any]) -> Postings:
        """The inverse of `to_data`."""
        vocabulary = zlib.decompress(data["vocabulary"]).decode().split("\n") if data["terms"] else []
        starts = _starts(unpacked(data["row_sizes"]), np.int64)
        place_starts = _starts(unpacked(data["place_counts"]), np.uint32)
        return Postings(
            vocabulary=tuple(vocabulary),
            starts=starts,
            documents=_from_gaps(unpacked(data["document_gaps"]), starts).astype(np.int32),
            frequencies=unpacked(data["frequencies"]).astype(np.uint16),
            place_starts=place_starts,
            places=_from_gaps(unpacked(data["place_gaps"]), place_starts).astype(np.uint16),
            lengths=unpacked(data["lengths"]).astype(np.int64),
        )


def slices(
    values: NDArray[Any], starts: NDArray[Any], rows: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The values of the chosen rows one after another, and for each value the place of its row in `rows`."""
    begins = starts[rows].astype(np.int64)
    sizes = starts[rows + 1].astype(np.int64) - begins
    owners = np.repeat(np.arange(len(rows), dtype=np.int64), sizes)
    before = np.cumsum(sizes) - sizes
    return values[np.arange(len(owners)) + (begins - before)[owners]], owners


def _starts(sizes: NDArray[Any], dtype: type) -> NDArray[Any]:
    starts = np.zeros(len(sizes) + 1, dtype=dtype)
    np.cumsum(sizes, out=starts[1:])
    return starts


def _gaps(values: NDArray[Any], starts: NDArray[Any]) -> NDArray[np.int64]:
    """Distance from the value before in the same row; from zero, for the first of a row."""
    gaps = np.diff(values.astype(np.int64), prepend=0)
    firsts = starts[:-1][np.diff(starts) > 0]
    gaps[firsts] = values[firsts]
    return gaps


def _from_gaps(gaps: NDArray[Any], starts: NDArray[Any]) -> NDArray[np.int64]:
    running = np.cumsum(gaps, dtype=np.int64)
    sizes = np.diff(starts)
    filled = sizes > 0
    firsts = starts[:-1][filled]
    before = np.repeat(running[firsts] - gaps[firsts], sizes[filled])
    return np.asarray(running - before)
