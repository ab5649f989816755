"""Decides which postings speak for a word of a query: its own, those of its parts, or of words that stand in."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lamina.index.bm25 import (
    Contribution,
    ScopeStatistics,
    add_up,
    inverse_document_frequency,
    saturated,
)
from lamina.index.postings import Postings
from lamina.index.terms import FORM_MARK, HEAD_MARK, stem
from lamina.ranking.query import QueryWord
from lamina.ranking.spelling import stand_ins
from lamina.ranking.synonyms import SYNONYMS

FORM_WEIGHT: Final = 0.5
"""What the exact form of a word counts beside its stem."""
HEAD_WEIGHT: Final = 0.35
"""What a word in the head of a document (title, path, tags) counts beside the same word anywhere in it."""
PART_WEIGHT: Final = 0.25
"""What a part of an identifier counts beside the identifier itself; alone, it counts in full."""
MOST_COMPLETIONS: Final = 64
"""Terms that an unfinished word may stand for."""
SYNONYM_WEIGHT: Final = 0.4
"""What a synonym counts beside the word itself."""
STAND_IN_TRUST: Final = 0.7
"""How much of a word's weight a document holds that has only what stands in for it."""


@dataclass(frozen=True, slots=True)
class Row:
    """The postings of one term in a scope (or of several that count as one), and their IDF."""

    documents: NDArray[np.int32]
    frequencies: NDArray[np.float64]
    idf: float

    def impact(self, norm: NDArray[np.float64], weight: float) -> NDArray[np.float64]:
        """What the term gives to each of its documents; `norm` has one entry a document of the index."""
        return saturated(self.frequencies, norm[self.documents]) * (weight * self.idf)


@dataclass(frozen=True, slots=True)
class Leaf:
    """What a scope holds of one name: the documents that hold its stem, and what it gives to each of them."""

    name: str
    documents: NDArray[np.int32]
    impact: NDArray[np.float64]
    idf: float

    @property
    def found(self) -> bool:
        """Whether any document of the scope holds the name's stem."""
        return len(self.documents) > 0

    def holds(self, document: int) -> bool:
        """Whether a document holds the name's stem."""
        at = int(self.documents.searchsorted(document))
        return at < len(self.documents) and int(self.documents[at]) == document

    def times(self, weight: float) -> Contribution:
        """What the name gives to each document, by its weight in the query."""
        return self.documents, self.impact if weight == 1 else self.impact * weight


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a scope holds of one query word: of its whole name, of the names of its parts, of its synonyms.

    `trust`, 0 to 1, is below 1 where another word stands in for a word that occurs nowhere.
    """

    word: QueryWord
    whole: Leaf
    parts: tuple[Leaf, ...]
    synonyms: tuple[Leaf, ...] = ()
    trust: float = 1.0

    @property
    def found(self) -> bool:
        """Whether anything of the word occurs in the scope."""
        return self.whole.found or any(part.found for part in self.parts)

    @property
    def weight(self) -> float:
        """The word's share in the query: the IDF of its parts, or its own where it has none."""
        idf = sum(part.idf for part in self.parts) if self.parts else self.whole.idf
        return idf * self.word.telling

    def scores(self) -> Iterator[Contribution]:
        """What the word gives to each document that holds its whole, a part or a synonym."""
        times = self.word.times * self.word.telling
        part_weight = times * PART_WEIGHT if self.whole.found else times
        synonym_weight = times * SYNONYM_WEIGHT
        yield self.whole.times(times)
        yield from (part.times(part_weight) for part in self.parts)
        yield from (synonym.times(synonym_weight) for synonym in self.synonyms)

    def held(self, count: int) -> Contribution:
        """How much of the word's weight each document holds; the whole holds its parts."""
        weight = self.weight
        given = [_evenly(part, part.idf * self.word.telling) for part in self.parts]
        given.append(_evenly(self.whole, weight))
        given += [_evenly(synonym, weight * SYNONYM_WEIGHT) for synonym in self.synonyms]
        documents, held = add_up(given, count)
        return documents, np.minimum(held, weight) * self.trust

    def held_by(self, document: int) -> float:
        """How much of the word's weight one document holds."""
        weight = self.weight
        shares = [(part, part.idf * self.word.telling) for part in self.parts]
        shares.append((self.whole, weight))
        shares += [(synonym, weight * SYNONYM_WEIGHT) for synonym in self.synonyms]
        return min(sum(share for leaf, share in shares if leaf.holds(document)), weight) * self.trust


def _evenly(leaf: Leaf, value: float) -> Contribution:
    return leaf.documents, np.broadcast_to(np.float64(value), len(leaf.documents))


def evidence_of(word: QueryWord, postings: Postings, statistics: ScopeStatistics) -> Evidence:
    """Looks a query word up in a scope."""
    whole = leaf_of(word.whole, postings, statistics)
    parts = tuple(leaf_of(part, postings, statistics) for part in word.parts)
    return Evidence(word, whole, parts, tuple(_synonyms(whole, postings, statistics)))


def leaf_of(name: str, postings: Postings, statistics: ScopeStatistics) -> Leaf:
    """Looks one name up in a scope: its stem, more for its exact form, and once more for the head."""
    known: Leaf | None = statistics.memory.get(name)
    if known is not None:
        return known
    leaf = _leaf(name, name, postings, statistics)
    statistics.memory.keep(name, leaf, len(leaf.documents))
    return leaf


def _synonyms(leaf: Leaf, postings: Postings, statistics: ScopeStatistics) -> Iterator[Leaf]:
    """Synonyms that occur in the scope, none of them telling more than the word itself."""
    for term in SYNONYMS.get(stem(leaf.name), ()):
        key = f"{leaf.name} {term}"
        synonym: Leaf | None = statistics.memory.get(key)
        if synonym is None:
            synonym = _leaf(term, None, postings, statistics, leaf.idf)
            statistics.memory.keep(key, synonym, len(synonym.documents))
        if synonym.found:
            yield synonym


def _leaf(name: str, form: str | None, postings: Postings, statistics: ScopeStatistics, most: float = math.inf) -> Leaf:
    """A leaf by its stem, with what the exact `form` (None: any form) adds; IDFs count at `most` so much."""
    stemmed = stem(name) if form is not None else name
    rows = []
    for mark, norm, weight in (("", statistics.norm, 1.0), (HEAD_MARK, statistics.head_norm, HEAD_WEIGHT)):
        same = form == stemmed
        rows.append((row_of([mark + stemmed], postings, statistics), norm, weight * (1 + FORM_WEIGHT * same)))
        if form is not None and not same:
            exact = row_of([mark + FORM_MARK + form], postings, statistics)
            rows.append((exact, norm, weight * FORM_WEIGHT))
    return _joined(name, [(replace(row, idf=min(row.idf, most)), norm, weight) for row, norm, weight in rows])


def _joined(name: str, rows: Sequence[tuple[Row, NDArray[np.float64], float]]) -> Leaf:
    """One leaf of weighted rows; the documents of the first hold those of all others."""
    first, norm, weight = rows[0]
    impact = first.impact(norm, weight)
    for row, norm, weight in rows[1:]:
        if len(row.documents):
            impact[np.searchsorted(first.documents, row.documents)] += row.impact(norm, weight)
    return Leaf(name, first.documents, impact, first.idf)


def row_of(terms: Sequence[str], postings: Postings, statistics: ScopeStatistics) -> Row:
    """The postings of terms in a scope, counted as one term; empty for unknown terms."""
    numbers = [number for number in map(postings.numbers.get, terms) if number is not None]
    rows = [postings.in_scope(number, statistics.mask) for number in numbers]
    documents, frequencies = add_up([(d, f.astype(np.float64)) for d, f in rows], postings.count)
    return Row(documents, frequencies, inverse_document_frequency(len(documents), statistics.count))


def completed(evidence: Evidence, postings: Postings, statistics: ScopeStatistics) -> Evidence:
    """The evidence of an unfinished word, read as the beginning of any term that starts so."""
    start = evidence.word.whole
    terms = [*_terms_from(start, postings, statistics), *_terms_from(FORM_MARK + start, postings, statistics)]
    if not terms:
        return evidence
    row = row_of(terms[:MOST_COMPLETIONS], postings, statistics)
    head = row_of([HEAD_MARK + term for term in terms[:MOST_COMPLETIONS]], postings, statistics)
    rows = [(row, statistics.norm, 1 + FORM_WEIGHT), (head, statistics.head_norm, HEAD_WEIGHT)]
    return Evidence(evidence.word, _joined(start, rows), ())


def unknown_spelling(evidence: Evidence, postings: Postings, statistics: ScopeStatistics) -> Evidence:
    """The evidence of a word that occurs nowhere, from the words that stand in for it; unchanged without any."""
    name = evidence.word.whole
    key = f"{name} ?"
    names: tuple[str, ...] | None = statistics.memory.get(key)
    if names is None:
        names = tuple(stand_ins(name, postings, statistics))
        statistics.memory.keep(key, names, 1)
    leaves = tuple(leaf_of(one, postings, statistics) for one in names)
    if len(leaves) == 1:
        return Evidence(evidence.word, leaves[0], (), trust=STAND_IN_TRUST)
    return Evidence(evidence.word, evidence.whole, leaves, trust=STAND_IN_TRUST) if leaves else evidence


def _terms_from(start: str, postings: Postings, statistics: ScopeStatistics) -> Iterator[str]:
    vocabulary = postings.vocabulary
    for number in range(bisect_left(vocabulary, start), len(vocabulary)):
        if not vocabulary[number].startswith(start):
            return
        if len(postings.in_scope(number, statistics.mask)[0]):
            yield vocabulary[number]
