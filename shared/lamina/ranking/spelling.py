"""Decides which known words stand in for a word that occurs nowhere: the nearest spelling, or its two halves."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from lamina.index.bm25 import ScopeStatistics
from lamina.index.postings import Postings
from lamina.index.terms import FORM_MARK, stem
from lamina.index.vocabulary import LONGEST_COMPARED, KnownWords

SHORTEST_CORRECTED: Final = 5
"""Below this, nearly every word is one edit from another."""
SHORTEST_TWO_EDITS: Final = 8
MOST_EDITS: Final = 2
SHORTEST_HALF: Final = 3
MOST_COMPARED: Final = 4_000
"""Known words compared letter by letter with one unknown word."""


def stand_ins(name: str, postings: Postings, statistics: ScopeStatistics) -> tuple[str, ...]:
    """The known name, or the two known names run together, for a name that occurs nowhere in the scope.

    Near is one edit (a letter dropped, added, replaced, or two neighbours swapped), from eight letters on two
    if the first letter is right. Of equals the one in most documents of the scope wins, then the alphabet.
    Empty where nothing is near.
    """
    if not (SHORTEST_CORRECTED <= len(name) < LONGEST_COMPARED and name.isascii() and name.isalpha()):
        return ()
    near = _nearest(name, postings, statistics)
    return (near,) if near else _halves(name, postings, statistics)


def _nearest(name: str, postings: Postings, statistics: ScopeStatistics) -> str | None:
    known = postings.known_words
    most = MOST_EDITS if len(name) >= SHORTEST_TWO_EDITS else 1
    candidates = _alike(name, known, most)
    edits = _edits(name, known.codes[candidates], known.lengths[candidates])
    for distance in range(1, most + 1):
        reached: list[tuple[int, str]] = [
            (-_document_frequency(stem(known.names[row]), postings, statistics), known.names[row])
            for row in candidates[edits == distance].tolist()
            if (distance == 1 or known.names[row][0] == name[0])
            and len(postings.in_scope(int(known.terms[row]), statistics.mask)[0])
        ]
        reached = [one for one in reached if one[0] < 0]
        if reached:
            _, nearest = min(reached)
            return nearest
    return None


def _alike(name: str, known: KnownWords, edits: int) -> NDArray[np.int64]:
    """Rows of words that can be within `edits`: each changes the length by one and two letter counts at most."""
    longer = np.abs(known.lengths - len(name))
    rows = np.flatnonzero(longer <= edits)
    asked = np.array([name.count(chr(letter)) for letter in range(ord("a"), ord("z") + 1)], dtype=np.int8)
    changed = np.abs(known.letters[rows] - asked).sum(axis=1, dtype=np.int16)
    return np.asarray(rows[changed <= 2 * edits][:MOST_COMPARED])


def _edits(name: str, codes: NDArray[np.uint8], lengths: NDArray[np.int16]) -> NDArray[np.int16]:
    """Edits from `name` to each word, swaps of neighbours included; above `MOST_EDITS` any number above it.

    Optimal string alignment, all words at once, in a band around the diagonal.
    """
    letters = name.encode()
    words, width = codes.shape
    far = np.int16(MOST_EDITS + 1)
    table = np.full((len(letters) + 1, width + 1, words), far, dtype=np.int16)
    table[0] = np.minimum(np.arange(width + 1, dtype=np.int16), far)[:, None]
    table[:, 0] = np.minimum(np.arange(len(letters) + 1, dtype=np.int16), far)[:, None]
    for i in range(1, len(letters) + 1):
        for j in range(max(1, i - MOST_EDITS), min(width, i + MOST_EDITS) + 1):
            differs = (codes[:, j - 1] != letters[i - 1]).astype(np.int16)
            best = np.minimum(table[i - 1, j - 1] + differs, np.minimum(table[i - 1, j], table[i, j - 1]) + 1)
            if i > 1 and j > 1:
                swapped = (codes[:, j - 1] == letters[i - 2]) & (codes[:, j - 2] == letters[i - 1])
                best = np.where(swapped, np.minimum(best, table[i - 2, j - 2] + 1), best)
            table[i, j] = best
    return np.asarray(table[len(letters), np.minimum(lengths, width), np.arange(words)])


def _halves(name: str, postings: Postings, statistics: ScopeStatistics) -> tuple[str, ...]:
    found = []
    for cut in range(SHORTEST_HALF, len(name) - SHORTEST_HALF + 1):
        halves = (name[:cut], name[cut:])
        rarer = min(_known_as_written(half, postings, statistics) for half in halves)
        if rarer:
            found.append((rarer, halves))
    return max(found)[1] if found else ()


def _known_as_written(name: str, postings: Postings, statistics: ScopeStatistics) -> int:
    stemmed = stem(name)
    return _document_frequency(name if stemmed == name else FORM_MARK + name, postings, statistics)


def _document_frequency(term: str, postings: Postings, statistics: ScopeStatistics) -> int:
    number = postings.numbers.get(term)
    return 0 if number is None else len(postings.in_scope(number, statistics.mask)[0])
