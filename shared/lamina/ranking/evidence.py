"""Decides which postings speak for a word of a query: its own, those of its parts, or of words that stand in."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamina.index.bm25 import Contribution, add_up
from lamina.index.scope_postings import Row, ScopePostings
from lamina.index.terms import FORM_MARK, HEAD_MARK, stem
from lamina.ranking.passage import beginning
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
"""Stems that an unfinished word may stand for, and as many exact forms."""
SYNONYM_WEIGHT: Final = 0.4
"""What a synonym counts beside the word itself."""
MOST_NEEDLES: Final = 6
"""Spellings by which a word is looked for in a text."""
STAND_IN_TRUST: Final = 0.7
"""How much of a word's weight a document holds that has only what stands in for it."""


class Leaf(NamedTuple):
    """What a scope holds of one name: the documents that hold its stem, and what its terms give, weighted.

    `in_head` are those of `documents` that hold it in their head.
    """

    name: str
    documents: NDArray[np.int32]
    in_head: NDArray[np.int32]
    idf: float
    given: tuple[Contribution, ...]

    @property
    def found(self) -> bool:
        """Whether any document of the scope holds the name's stem."""
        return len(self.documents) > 0

    def holds(self, document: int) -> bool:
        """Whether a document holds the name's stem."""
        return _holds(self.documents, document)

    def heads(self, document: int) -> bool:
        """Whether the head of a document holds the name's stem."""
        return _holds(self.in_head, document)

    def evenly(self, value: float) -> Contribution:
        """The same value for each document that holds the name's stem."""
        return self.documents, np.broadcast_to(np.float64(1), len(self.documents)), value


class Evidence(NamedTuple):
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
    def unknown(self) -> int:
        """How many names occur nowhere: the whole and parts, unless the whole is found or all its parts are.

        Names in other letters than a to z are not counted, as nothing is near them.
        """
        if self.whole.found or not self.whole.name.isascii():
            return 0
        missing = sum(not part.found for part in self.parts)
        return 0 if self.parts and not missing else 1 + missing

    @property
    def weight(self) -> float:
        """The word's share in the query: the IDF of its parts, or its own where it has none."""
        idf = sum(part.idf for part in self.parts) if self.parts else self.whole.idf
        return idf * self.word.telling

    def scores(self) -> Iterator[Contribution]:
        """What the word gives to each document that holds its whole, a part or a synonym."""
        times = self.word.times * self.word.telling
        part_times = times * PART_WEIGHT if self.whole.found else times
        leaves = [(self.whole, times), *((part, part_times) for part in self.parts)]
        leaves += [(synonym, times * SYNONYM_WEIGHT) for synonym in self.synonyms]
        return ((documents, impacts, weight * by) for leaf, by in leaves for documents, impacts, weight in leaf.given)

    def held(self, count: int) -> Contribution:
        """How much of the word's weight each of `count` documents holds; the whole holds its parts."""
        documents, held = add_up([leaf.evenly(share) for leaf, share in self._shares()], count)
        return documents, np.minimum(held, self.weight), self.trust

    def held_by(self, document: int) -> float:
        """How much of the word's weight one document holds."""
        held = sum(share for leaf, share in self._shares() if leaf.holds(document))
        return min(held, self.weight) * self.trust

    def heads(self, document: int) -> bool:
        """Whether the head of a document holds anything of the word."""
        return any(leaf.heads(document) for leaf in self._leaves())

    @property
    def needles(self) -> tuple[str, ...]:
        """Beginnings of words that show it in a text, in lower case."""
        names = [self.word.surface.casefold()] if self.parts else []
        names += [beginning(leaf.name) for leaf in self._leaves()]
        return tuple(dict.fromkeys(names))[:MOST_NEEDLES]

    def _leaves(self) -> tuple[Leaf, ...]:
        return (self.whole, *self.parts, *self.synonyms)

    def _shares(self) -> list[tuple[Leaf, float]]:
        weight = self.weight
        shares = [(part, part.idf * self.word.telling) for part in self.parts]
        shares.append((self.whole, weight))
        return shares + [(synonym, weight * SYNONYM_WEIGHT) for synonym in self.synonyms]


def _holds(documents: NDArray[np.int32], document: int) -> bool:
    at = int(documents.searchsorted(document))
    return at < len(documents) and int(documents[at]) == document


def evidence_of(word: QueryWord, scope: ScopePostings) -> Evidence:
    """Looks a query word up in a scope."""
    whole = leaf_of(word.whole, scope)
    parts = tuple(leaf_of(part, scope) for part in word.parts)
    return Evidence(word, whole, parts, _synonyms(whole, scope))


def leaf_of(name: str, scope: ScopePostings) -> Leaf:
    """Looks one name up in a scope: its stem, more for its exact form, and once more for the head."""
    known: Leaf | None = scope.memory.get(name)
    if known is None:
        known = _leaf(name, scope)
        scope.memory.keep(name, known, len(known.given))
    return known


def _leaf(name: str, scope: ScopePostings) -> Leaf:
    stemmed = stem(name)
    if stemmed == name:
        return _of_rows(name, _anywhere_and_head(name, scope, 1 + FORM_WEIGHT))
    rows = _anywhere_and_head(stemmed, scope, 1.0)
    rows.append((scope.row(FORM_MARK + name), FORM_WEIGHT))
    rows.append((scope.row(HEAD_MARK + FORM_MARK + name), HEAD_WEIGHT * FORM_WEIGHT))
    return _of_rows(name, rows)


def _anywhere_and_head(term: str, scope: ScopePostings, weight: float) -> list[tuple[Row, float]]:
    return [(scope.row(term), weight), (scope.row(HEAD_MARK + term), weight * HEAD_WEIGHT)]


def _of_rows(name: str, rows: Sequence[tuple[Row, float]], most: float = math.inf) -> Leaf:
    """A leaf of weighted rows: anywhere, in the head, then what else they hold. IDFs count at `most` so much."""
    first, head = rows[0][0], rows[1][0]
    given = [
        (documents, impacts, weight if idf <= most else weight * most / idf)
        for (documents, impacts, idf), weight in rows
        if len(documents)
    ]
    return Leaf(name, first.documents, head.documents, min(first.idf, most), tuple(given))


def _synonyms(leaf: Leaf, scope: ScopePostings) -> tuple[Leaf, ...]:
    """Synonyms that occur in the scope, none of them telling more than the word itself."""
    alike = SYNONYMS.get(stem(leaf.name))
    if alike is None:
        return ()
    key = f"{leaf.name} ="
    known: tuple[Leaf, ...] | None = scope.memory.get(key)
    if known is None:
        leaves = (_of_rows(term, _anywhere_and_head(term, scope, 1.0), leaf.idf) for term in alike)
        known = tuple(one for one in leaves if one.found)
        scope.memory.keep(key, known, sum(len(one.given) for one in known))
    return known


def completed(evidence: Evidence, scope: ScopePostings) -> Evidence:
    """The evidence of an unfinished word: it and its last part stand for the most frequent terms that begin so."""
    whole = _completion(evidence.whole, scope)
    return Evidence(evidence.word, whole, (*evidence.parts[:-1], *(_completion(p, scope) for p in evidence.parts[-1:])))


def _completion(unfinished: Leaf, scope: ScopePostings) -> Leaf:
    start = unfinished.name
    terms = scope.beginning(start, MOST_COMPLETIONS)
    forms = scope.beginning(FORM_MARK + start, MOST_COMPLETIONS)
    # The stem of the others is among the terms and stands for them.
    terms += [form for form in forms if not stem(form.removeprefix(FORM_MARK)).startswith(start)]
    if not terms:
        return unfinished
    rows = [
        (scope.joint_row(terms), 1 + FORM_WEIGHT),
        (scope.joint_row([HEAD_MARK + term for term in terms], in_head=True), (1 + FORM_WEIGHT) * HEAD_WEIGHT),
    ]
    return _of_rows(start, rows)


def corrected(evidence: Evidence, scope: ScopePostings) -> Evidence:
    """The evidence with what stands in for its unknown names; unchanged where nothing does."""
    whole = _standing_in(evidence.whole.name, scope)
    if not evidence.parts:
        if len(whole) == 1:
            return Evidence(evidence.word, whole[0], (), trust=STAND_IN_TRUST)
        return Evidence(evidence.word, evidence.whole, whole, trust=STAND_IN_TRUST) if whole else evidence
    parts = tuple(_nearest(part, scope) for part in evidence.parts)
    changed = len(whole) == 1 or any(new is not old for new, old in zip(parts, evidence.parts, strict=True))
    nearest = whole[0] if len(whole) == 1 else evidence.whole
    return Evidence(evidence.word, nearest, parts, trust=STAND_IN_TRUST) if changed else evidence


def _nearest(part: Leaf, scope: ScopePostings) -> Leaf:
    """What stands in for a part that occurs nowhere, if it is one word."""
    if part.found:
        return part
    leaves = _standing_in(part.name, scope)
    return leaves[0] if len(leaves) == 1 else part


def _standing_in(name: str, scope: ScopePostings) -> tuple[Leaf, ...]:
    key = f"{name} ?"
    names: tuple[str, ...] | None = scope.memory.get(key)
    if names is None:
        names = stand_ins(name, scope)
        scope.memory.keep(key, names)
    return tuple(leaf_of(one, scope) for one in names)
