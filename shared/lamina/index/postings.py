"""Decides how terms are stored: compressed sparse rows, a posting list for each term."""

from __future__ import annotations

import zlib
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lamina.corpus.document import Document
from lamina.corpus.languages import ENGLISH, STEMMED, stop_words
from lamina.index.arrays import joined, packed, unpacked
from lamina.index.fields import HEAD_FIELDS, field_texts
from lamina.index.terms import HEAD_MARK, fold, names, terms_in, terms_of
from lamina.index.vocabulary import KnownWords

HIGHEST_FREQUENCY: Final = 65_535
"""A frequency is kept in 16 bits; beyond this BM25 has long stopped caring."""

TermCounts = tuple[str, bytes, int, int]
"""The terms of one document as plain data: the terms, one a line; the frequency of each as little-endian 16-bit
number; how many words the whole document and its head have."""


def document_terms(document: Document, words: str | None = None) -> TermCounts:
    """The term frequencies of one document over all its fields, and over those of its head.

    `words` is its body as it is searched, where that is not the whole of it.
    """
    everywhere: Counter[str] = Counter()
    head: Counter[str] = Counter()
    stems: dict[str, str] = {}
    language = document.language if document.language in STEMMED else ENGLISH
    for field, text in field_texts(document, document.body if words is None else words):
        found = Counter(names(text) if language == ENGLISH else _names(text, language, stems))
        everywhere.update(found)
        if field in HEAD_FIELDS:
            head.update(found)
    return term_counts(everywhere, head, language, stems)


def _names(text: str, language: str, stems: dict[str, str]) -> Iterator[str]:
    """The names of the words of a text; their stems in its language are noted."""
    for term in terms_in(text, language):
        stems.setdefault(term.name, term.stem)
        yield term.name


def term_counts(
    everywhere: Mapping[str, int],
    head: Mapping[str, int],
    language: str = ENGLISH,
    stems: Mapping[str, str] | None = None,
) -> TermCounts:
    """The terms of counted names, with their frequencies; `stems` are those of names in another language."""
    known = stems or {}
    counts: Counter[str] = Counter()
    for mark, counted in (("", everywhere), (HEAD_MARK, head)):
        for name, occurrences in counted.items():
            for term in terms_of(name, known.get(name)):
                counts[mark + term] += occurrences
    frequencies = np.fromiter(counts.values(), dtype=np.int64, count=len(counts))
    packed_frequencies = np.minimum(frequencies, HIGHEST_FREQUENCY).astype("<u2").tobytes()
    saying_nothing = _folded_stop_words(language)
    return "\n".join(counts), packed_frequencies, _length(everywhere, saying_nothing), _length(head, saying_nothing)


@cache
def _folded_stop_words(language: str) -> frozenset[str]:
    return frozenset(fold(word) for word in stop_words(language))


def _length(counted: Mapping[str, int], saying_nothing: frozenset[str]) -> int:
    """Words that say something: how many others a text strings together says nothing of its subject."""
    return sum(occurrences for name, occurrences in counted.items() if name not in saying_nothing)


@dataclass(frozen=True)
class Postings:
    """Term postings of numbered documents.

    `vocabulary` is sorted. The postings of term t are positions `starts[t]` to `starts[t + 1]` of `documents`
    (int32, ascending within a term) and `frequencies` (uint16, summed over fields). `lengths` and
    `head_lengths` (int64) hold the words of each document and of its head. `languages` are those beside English whose
    rules made stems.
    """

    vocabulary: tuple[str, ...]
    starts: NDArray[np.int64]
    documents: NDArray[np.int32]
    frequencies: NDArray[np.uint16]
    lengths: NDArray[np.int64]
    head_lengths: NDArray[np.int64]
    languages: tuple[str, ...] = ()

    @staticmethod
    def build(counted: Iterable[TermCounts], languages: Iterable[str] = ()) -> Postings:
        """Postings of documents numbered in the order given. Any number of documents, also none.

        `languages` are those that the documents are written in.
        """
        numbers: dict[str, int] = {}
        term_rows: list[NDArray[np.int32]] = []
        frequency_rows: list[NDArray[np.uint16]] = []
        lengths: list[tuple[int, int]] = []
        for listed, frequencies, length, head_length in counted:
            terms = listed.split("\n") if listed else []
            row = (numbers.setdefault(term, len(numbers)) for term in terms)
            term_rows.append(np.fromiter(row, dtype=np.int32, count=len(terms)))
            frequency_rows.append(np.frombuffer(frequencies, dtype="<u2"))
            lengths.append((length, head_length))
        vocabulary = sorted(numbers)
        rank = np.empty(len(vocabulary), dtype=np.int32)
        rank[[numbers[term] for term in vocabulary]] = np.arange(len(vocabulary), dtype=np.int32)
        sizes = np.array([len(row) for row in term_rows], dtype=np.int64)
        by_document = rank[joined(term_rows, np.int32)]
        order = np.argsort(by_document, kind="stable")
        both_lengths = np.array(lengths, dtype=np.int64).reshape(-1, 2)
        return Postings(
            vocabulary=tuple(vocabulary),
            starts=starts_of(np.bincount(by_document, minlength=len(vocabulary))),
            documents=np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)[order],
            frequencies=joined(frequency_rows, np.uint16)[order],
            lengths=both_lengths[:, 0].copy(),
            head_lengths=both_lengths[:, 1].copy(),
            languages=tuple(sorted(set(languages) & set(STEMMED) - {ENGLISH})),
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

    def place(self, term: int) -> slice:
        """Where the postings of a term stand."""
        return slice(int(self.starts[term]), int(self.starts[term + 1]))

    def with_prefix(self, prefix: str) -> range:
        """The numbers of the terms that begin so."""
        vocabulary = self.vocabulary
        return range(
            bisect_left(vocabulary, prefix), bisect_right(vocabulary, prefix, key=lambda term: term[: len(prefix)])
        )

    def to_data(self) -> dict[str, Any]:
        """Plain data for a snapshot: dict, int, bytes and packed arrays."""
        return {
            "vocabulary": zlib.compress("\n".join(self.vocabulary).encode(), 9),
            "terms": len(self.vocabulary),
            "row_sizes": packed(np.diff(self.starts)),
            "document_gaps": packed(_gaps(self.documents, self.starts)),
            "frequencies": packed(self.frequencies),
            "lengths": packed(self.lengths),
            "head_lengths": packed(self.head_lengths),
            "languages": self.languages,
        }

    @staticmethod
    def from_data(data: dict[str, Any]) -> Postings:
        """The inverse of `to_data`. Raises ValueError and LookupError for data of another shape."""
        vocabulary = zlib.decompress(data["vocabulary"]).decode().split("\n") if data["terms"] else []
        starts = starts_of(unpacked(data["row_sizes"], np.int64))
        gaps = unpacked(data["document_gaps"], np.int32)
        frequencies = unpacked(data["frequencies"], np.uint16)
        lengths, head_lengths = (unpacked(data[name], np.int64) for name in ("lengths", "head_lengths"))
        if (
            (len(starts), len(gaps), len(frequencies)) != (len(vocabulary) + 1, starts[-1], starts[-1])
            or len(lengths) != len(head_lengths)
            or frequencies.min(initial=1) < 1
        ):
            raise ValueError("rows, documents and frequencies do not fit each other")
        documents = _from_gaps(gaps, starts)
        if documents.max(initial=-1) >= len(lengths):
            raise ValueError("a posting names a document that there is not")
        languages = tuple(data["languages"])
        if not set(languages) <= set(STEMMED):
            raise ValueError("a language that there are no rules for")
        return Postings(tuple(vocabulary), starts, documents, frequencies, lengths, head_lengths, languages)


def starts_of(sizes: NDArray[Any]) -> NDArray[np.int64]:
    """Where each row starts, and where the last ends, from how many postings each holds."""
    starts = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=starts[1:])
    return starts


def _firsts(starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where the rows start that hold anything."""
    return starts[np.flatnonzero(np.diff(starts))]


def _gaps(documents: NDArray[np.int32], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Distance from the document before in the same row; from zero, for the first of a row."""
    gaps = documents.astype(np.int64)
    gaps[1:] -= documents[:-1]
    firsts = _firsts(starts)
    gaps[firsts] = documents[firsts]
    return gaps


def _from_gaps(gaps: NDArray[np.int32], starts: NDArray[np.int64]) -> NDArray[np.int32]:
    """The inverse, in the place of the gaps. Raises ValueError where a row does not ascend."""
    firsts = _firsts(starts)
    # Only the first gap of a row may be zero.
    if np.count_nonzero(gaps <= 0) != np.count_nonzero(gaps[firsts] == 0):
        raise ValueError("a row of postings does not ascend")
    if len(firsts):
        # From the last document of the row before, which is the sum of that row, not from zero.
        gaps[firsts[1:]] -= np.add.reduceat(gaps, firsts)[:-1]
    return np.cumsum(gaps, out=gaps)
