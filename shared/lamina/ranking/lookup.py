"""Decides what the index of a scope holds of each word of a query."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamina.index.bm25 import Contribution
from lamina.index.scope_postings import PostingList, ScopePostings
from lamina.index.terms import FORM_MARK, HEAD_MARK, Term
from lamina.ranking.query import QueryWord

FORM_WEIGHT: Final = 0.5
"""What the exact form of a word counts beside its stem."""
HEAD_WEIGHT: Final = 0.35
"""What a word in the head of a document (title, path, tags) counts beside the same word anywhere in it."""
SYNONYM_WEIGHT: Final = 0.4
"""What a synonym counts beside the word itself."""


class TermPostings(NamedTuple):
    """What a scope holds of a term: the documents that hold its stem, and what stem, exact form and head give them.

    `in_head` are those of `documents` that hold it in their head.
    """

    term: Term
    documents: NDArray[np.int32]
    in_head: NDArray[np.int32]
    idf: float
    contributions: tuple[Contribution, ...]

    @property
    def found(self) -> bool:
        """Whether any document of the scope holds the term."""
        return len(self.documents) > 0


class TermMatch(NamedTuple):
    """What a scope holds of one word of a query: of the whole, of its parts, of its synonyms.

    `trust`, 0 to 1, is below 1 where a correction takes the place of a word that occurs nowhere.
    """

    word: QueryWord
    whole: TermPostings
    parts: tuple[TermPostings, ...]
    synonyms: tuple[TermPostings, ...] = ()
    trust: float = 1.0

    @property
    def found(self) -> bool:
        """Whether anything of the word occurs in the scope."""
        return self.whole.found or any(part.found for part in self.parts)

    @property
    def weight(self) -> float:
        """The word's share in the query: the IDF of its parts, or its own where it has none."""
        idf = sum(part.idf for part in self.parts) if self.parts else self.whole.idf
        return idf * self.word.term_weight

    @property
    def terms(self) -> tuple[TermPostings, ...]:
        """All that it was looked up by: the whole, its parts, its synonyms."""
        return (self.whole, *self.parts, *self.synonyms)

    def shares(self) -> list[tuple[TermPostings, float]]:
        """How much of the word's weight a document holds that holds a term of it; the whole holds its parts."""
        weight = self.weight
        shares = [(part, part.idf * self.word.term_weight) for part in self.parts]
        shares.append((self.whole, weight))
        return shares + [(synonym, weight * SYNONYM_WEIGHT) for synonym in self.synonyms]


def look_up(words: Sequence[QueryWord], scope: ScopePostings) -> list[TermMatch]:
    """What a scope holds of each word as it was written."""
    matches = []
    for word in words:
        whole, *parts = [term_postings(term, scope) for term in (word.whole, *word.parts)]
        matches.append(TermMatch(word, whole, tuple(parts)))
    return matches


def term_postings(term: Term, scope: ScopePostings) -> TermPostings:
    """Looks a term up in a scope: its stem, more for its exact form, and once more for the head."""
    key = ("term", "\n".join((term.name, *term.others)))
    known: TermPostings | None = scope.memory.get(key)
    if known is None:
        if term.others:
            lists = _in_languages(term, scope)
        elif term.stem == term.name:
            lists = _anywhere_and_head(term.stem, scope, 1 + FORM_WEIGHT)
        else:
            lists = _anywhere_and_head(term.stem, scope, 1.0)
            lists.append((scope.posting_list(FORM_MARK + term.name), FORM_WEIGHT))
            lists.append((scope.posting_list(HEAD_MARK + FORM_MARK + term.name), HEAD_WEIGHT * FORM_WEIGHT))
        known = _weighted(term, lists)
        scope.memory.keep(key, known, len(known.contributions))
    return known


def _in_languages(term: Term, scope: ScopePostings) -> list[tuple[PostingList, float]]:
    """The posting lists of all stems of a term as if they were the same, anywhere and in the head, then its form's."""
    in_head = [HEAD_MARK + each for each in term.stems]
    return [
        (scope.joint_posting_list(term.stems), 1.0),
        (scope.joint_posting_list(in_head, in_head=True), HEAD_WEIGHT),
        (scope.posting_list(FORM_MARK + term.name), FORM_WEIGHT),
        (scope.posting_list(HEAD_MARK + FORM_MARK + term.name), HEAD_WEIGHT * FORM_WEIGHT),
    ]


def synonym_postings(synonym: Term, scope: ScopePostings, most: float) -> TermPostings:
    """Looks a synonym up by its name, which is a stem; its IDF counts at most as `most`."""
    return _weighted(synonym, _anywhere_and_head(synonym.name, scope, 1.0), most)


def joint_postings(term: Term, stands_for: Sequence[str], scope: ScopePostings) -> TermPostings:
    """The postings of several index terms that a term stands for, as if they were the same; each counts as a form."""
    in_head = [HEAD_MARK + each for each in stands_for]
    lists = [
        (scope.joint_posting_list(stands_for), 1 + FORM_WEIGHT),
        (scope.joint_posting_list(in_head, in_head=True), (1 + FORM_WEIGHT) * HEAD_WEIGHT),
    ]
    return _weighted(term, lists)


def _anywhere_and_head(term: str, scope: ScopePostings, weight: float) -> list[tuple[PostingList, float]]:
    """The posting lists of an index term, anywhere in a document and in its head, with their weights."""
    return [(scope.posting_list(term), weight), (scope.posting_list(HEAD_MARK + term), weight * HEAD_WEIGHT)]


def _weighted(term: Term, lists: Sequence[tuple[PostingList, float]], most: float = math.inf) -> TermPostings:
    """A term's weighted posting lists: anywhere, in the head, then what else. An IDF counts at most as `most`."""
    anywhere, head = lists[0][0], lists[1][0]
    contributions = [
        (documents, impacts, weight if idf <= most else weight * most / idf)
        for (documents, impacts, idf), weight in lists
        if len(documents)
    ]
    return TermPostings(term, anywhere.documents, head.documents, min(anywhere.idf, most), tuple(contributions))
