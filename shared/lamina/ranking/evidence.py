"""Decides which postings speak for a word of a query: its own, those of its parts, or of words that stand in."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
PART_WEIGHT: Final = 0.5
"""What a part of an identifier counts beside the identifier itself; alone, it counts in full."""
MOST_COMPLETIONS: Final = 64
"""Terms that an unfinished word may stand for."""
SYNONYM_WEIGHT: Final = 0.3
"""What a synonym counts beside the word itself."""
STAND_IN_TRUST: Final = 0.7
"""How much of a word's weight a document holds that has only what stands in for it."""


@dataclass(frozen=True, slots=True)
class Row:
    """The postings of one term in a scope (or of several that count as one), and their IDF."""

    documents: NDArray[np.int32]
    frequencies: NDArray[np.float64]
    idf: float

    @property
    def found(self) -> bool:
        """Whether any document of the scope holds the term."""
        return len(self.documents) > 0

    def at_most(self, idf: float) -> Row:
        """The same row, counting no more than this IDF."""
        return Row(self.documents, self.frequencies, min(self.idf, idf))

    def score(self, norm: NDArray[np.float64], weight: float) -> Contribution:
        """What the term gives to each document that holds it; `norm` has one entry a document."""
        return self.documents, saturated(self.frequencies, norm[self.documents]) * (weight * self.idf)


NO_ROW: Final = Row(np.zeros(0, dtype=np.int32), np.zeros(0), 0.0)


@dataclass(frozen=True, slots=True)
class Leaf:
    """What a scope holds of one name, anywhere and in the heads of documents.

    Each is the row of its stem and of its exact form, which is None where the stem is the form.
    """

    name: str
    stemmed: Row
    form: Row | None
    head_stemmed: Row
    head_form: Row | None

    def scores(self, statistics: ScopeStatistics, weight: float) -> Iterator[Contribution]:
        """What the name gives to each document: an exact form more than its stem alone, the head once more."""
        yield from _scores(self.stemmed, self.form, statistics.norm, weight)
        if self.head_stemmed.found:
            yield from _scores(self.head_stemmed, self.head_form, statistics.head_norm, weight * HEAD_WEIGHT)


def _scores(stemmed: Row, form: Row | None, norm: NDArray[np.float64], weight: float) -> Iterator[Contribution]:
    if form is None:
        yield stemmed.score(norm, weight * (1 + FORM_WEIGHT))
        return
    yield stemmed.score(norm, weight)
    if form.found:
        yield form.score(norm, weight * FORM_WEIGHT)


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
        return self.whole.stemmed.found or any(part.stemmed.found for part in self.parts)

    @property
    def weight(self) -> float:
        """The word's share in the query: the IDF of its parts, or its own where it has none."""
        idf = sum(part.stemmed.idf for part in self.parts) if self.parts else self.whole.stemmed.idf
        return idf * self.word.telling

    def scores(self, statistics: ScopeStatistics) -> Iterator[Contribution]:
        """What the word gives to each document that holds its whole or a part."""
        times = self.word.times * self.word.telling
        if self.whole.stemmed.found:
            yield from self.whole.scores(statistics, times)
        part_weight = times * PART_WEIGHT if self.whole.stemmed.found else times
        for part in self.parts:
            if part.stemmed.found:
                yield from part.scores(statistics, part_weight)
        for synonym in self.synonyms:
            yield from synonym.scores(statistics, times * SYNONYM_WEIGHT)

    def held(self, count: int) -> Contribution:
        """How much of the word's weight each document holds; the whole holds its parts."""
        weight = self.weight
        given = [_evenly(part.stemmed, part.stemmed.idf * self.word.telling) for part in self.parts]
        given.append(_evenly(self.whole.stemmed, weight))
        given += [_evenly(synonym.stemmed, weight * SYNONYM_WEIGHT) for synonym in self.synonyms]
        documents, held = add_up([one for one in given if len(one[0])], count)
        return documents, np.minimum(held, weight) * self.trust


def _evenly(row: Row, value: float) -> Contribution:
    return row.documents, np.broadcast_to(np.float64(value), len(row.documents))


def evidence_of(word: QueryWord, postings: Postings, statistics: ScopeStatistics) -> Evidence:
    """Looks a query word up in a scope."""
    whole = leaf_of(word.whole, postings, statistics)
    parts = tuple(leaf_of(part, postings, statistics) for part in word.parts)
    return Evidence(word, whole, parts, tuple(_synonyms(whole, postings, statistics)))


def _synonyms(leaf: Leaf, postings: Postings, statistics: ScopeStatistics) -> Iterator[Leaf]:
    """Synonyms that occur in the scope, none of them rarer than the word itself."""
    for term in SYNONYMS.get(stem(leaf.name), ()):
        row = row_of([term], postings, statistics)
        if row.found:
            head = row_of([HEAD_MARK + term], postings, statistics)
            yield Leaf(term, row.at_most(leaf.stemmed.idf), NO_ROW, head.at_most(leaf.head_stemmed.idf), NO_ROW)


def leaf_of(name: str, postings: Postings, statistics: ScopeStatistics) -> Leaf:
    """Looks one name up in a scope."""

    def row(term: str) -> Row:
        return row_of([term], postings, statistics)

    stemmed = stem(name)
    if stemmed == name:
        return Leaf(name, row(stemmed), None, row(HEAD_MARK + stemmed), None)
    form = FORM_MARK + name
    return Leaf(name, row(stemmed), row(form), row(HEAD_MARK + stemmed), row(HEAD_MARK + form))


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
    return Evidence(evidence.word, Leaf(start, row, None, head, None), ())


def unknown_spelling(evidence: Evidence, postings: Postings, statistics: ScopeStatistics) -> Evidence:
    """The evidence of a word that occurs nowhere, from the words that stand in for it; unchanged without any."""
    names = stand_ins(evidence.word.whole, postings, statistics)
    leaves = tuple(leaf_of(name, postings, statistics) for name in names)
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
