"""Decides which known words stand in for a word that occurs nowhere: the nearest spelling, or its two halves."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from lamina.index.scope_postings import ScopePostings
from lamina.index.terms import FORM_MARK, stem
from lamina.index.vocabulary import LONGEST_COMPARED, KnownWords, letters_of

SHORTEST_CORRECTED: Final = 5
"""Below this, nearly every word is one edit from another."""
SHORTEST_TWO_EDITS: Final = 8
MOST_EDITS: Final = 2
SHORTEST_HALF: Final = 3
MOST_COMPARED: Final = 20_000
"""Known words compared letter by letter with one unknown word."""


def stand_ins(name: str, scope: ScopePostings) -> tuple[str, ...]:
    """The known name, or the two known names run together, for a name that occurs nowhere in the scope.

    Near is one edit (a letter dropped, added, replaced, or two neighbours swapped), from eight letters on two
    if the first letter is right. Of equals the one in most documents of the scope wins, then the alphabet.
    Empty where nothing is near.
    """
    if not (SHORTEST_CORRECTED <= len(name) < LONGEST_COMPARED and name.isascii() and name.isalpha()):
        return ()
    # The singular of a misspelt plural may be nearer than any plural that occurs.
    singular = stem(name)
    near = _nearest(name, scope) or (_nearest(singular, scope) if len(singular) >= SHORTEST_CORRECTED else None)
    return (near,) if near else _halves(name, scope)


def _nearest(name: str, scope: ScopePostings) -> str | None:
    known = scope.whole.known_words
    most = MOST_EDITS if len(name) >= SHORTEST_TWO_EDITS else 1
    candidates = _alike(name, known, most)
    edits = _edits(name, known.codes[candidates], known.lengths[candidates])
    for distance in range(1, most + 1):
        reached: list[tuple[int, str]] = [
            (-scope.document_frequency(stem(known.names[row])), known.names[row])
            for row in candidates[edits == distance].tolist()
            if (distance == 1 or known.names[row][0] == name[0])
            and scope.document_frequency(scope.whole.vocabulary[known.terms[row]])
        ]
        reached = [one for one in reached if one[0] < 0]
        if reached:
            _, nearest = min(reached)
            return nearest
    return None


def _alike(name: str, known: KnownWords, edits: int) -> NDArray[np.int64]:
    """Rows of words that can be within `edits`: each changes the length by one and the letters that occur by two."""
    possible = np.bitwise_count(known.letters ^ letters_of(name)) <= 2 * edits
    possible &= np.abs(known.lengths - len(name)) <= edits
    return np.flatnonzero(possible)[:MOST_COMPARED]


def _edits(name: str, codes: NDArray[np.uint8], lengths: NDArray[np.int16]) -> NDArray[np.int64]:
    """Edits from `name` (at most 32 letters) to each word, swaps of neighbours included.

    Optimal string alignment of all words at once, a column of the table in one integer: Hyyrö, A bit-vector
    algorithm for computing Levenshtein and Damerau edit distances, 2003.
    """
    places = np.zeros(256, dtype=np.uint32)
    for at, letter in enumerate(name.encode()):
        places[letter] |= np.uint32(1 << at)
    last = np.uint32(len(name) - 1)
    zero, one = np.zeros(len(codes), dtype=np.uint32), np.uint32(1)
    rising, falling, same, before = ~zero, zero, zero, zero
    edits = np.full(len(codes), len(name), dtype=np.int64)
    for column in range(int(lengths.max(initial=0))):
        match = places[codes[:, column]]
        swapped = ((~same & match) << one) & before
        same = (((match & rising) + rising) ^ rising) | match | falling | swapped
        more, fewer = falling | ~(same | rising), same & rising
        edits += (((more >> last) & one).astype(np.int64) - ((fewer >> last) & one)) * (column < lengths)
        more, fewer = (more << one) | one, fewer << one
        rising, falling, before = fewer | ~(same | more), same & more, match
    return edits


def _halves(name: str, scope: ScopePostings) -> tuple[str, ...]:
    found = []
    for cut in range(SHORTEST_HALF, len(name) - SHORTEST_HALF + 1):
        halves = (name[:cut], name[cut:])
        rarer = min(_known_as_written(half, scope) for half in halves)
        if rarer:
            found.append((rarer, halves))
    return max(found)[1] if found else ()


def _known_as_written(name: str, scope: ScopePostings) -> int:
    stemmed = stem(name)
    return scope.document_frequency(name if stemmed == name else FORM_MARK + name)
