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
MOST_COMPARED: Final = 10_000
"""Known words compared letter by letter with one unknown word, those nearest in length."""
_COMPARED_AT_ONCE: Final = 2_000
"""Words whose columns are one integer: longer ones take as long a word, and more memory."""


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
    blocks = range(0, max(len(candidates), 1), _COMPARED_AT_ONCE)
    edits = np.concatenate([_edits(name, known, candidates[at : at + _COMPARED_AT_ONCE]) for at in blocks])
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
    """Rows of words that can be within `edits`: each changes the length by one and the letters that occur by two.

    Beyond one edit, those with the same first letter.
    """
    rows = known.of_length(len(name) - edits, len(name) + edits)
    changed = np.bitwise_count(known.letters[rows] ^ letters_of(name))
    near = changed <= 2
    if edits > 1:
        near |= (changed <= 2 * edits) & (known.firsts[rows] == ord(name[0]))
    found: NDArray[np.int64] = near.nonzero()[0] + rows.start
    if len(found) > MOST_COMPARED:
        found = found[np.abs(known.lengths[found].astype(np.int64) - len(name)).argsort(kind="stable")[:MOST_COMPARED]]
    return found


def _edits(name: str, known: KnownWords, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Edits from `name` to the words of some rows, swaps of neighbours included.

    Optimal string alignment of all words at once: Hyyrö, A bit-vector algorithm for computing Levenshtein and
    Damerau edit distances, 2003. A column of a word's table is a few bits, that of all words one long integer, which
    Python reckons with faster than numpy with as many short ones.
    """
    letters = bytes(set(name.encode()))
    held = known.codes[rows] == np.frombuffer(letters, dtype=np.uint8)[:, None, None]
    packed, width = np.packbits(held, bitorder="little").tobytes(), known.codes.shape[1] // 8
    size = len(rows) * width
    places = {
        letter: int.from_bytes(packed[at * size : (at + 1) * size], "little") for at, letter in enumerate(letters)
    }
    one = int.from_bytes((1).to_bytes(width, "little") * len(rows), "little")
    every = one * ((1 << LONGEST_COMPARED) - 1)
    rising, falling, same, before = every, 0, 0, 0
    for letter in name.encode():
        match = places[letter]
        swapped = (((same ^ every) & match) << 1) & before
        same = ((((match & rising) + rising) ^ rising) | match | falling | swapped) & every
        more, fewer = falling | ((same | rising) ^ every), same & rising
        more, fewer = ((more << 1) & every) | one, (fewer << 1) & every
        rising, falling, before = fewer | ((same | more) ^ every), same & more, match
    used = (np.uint32(1) << known.lengths[rows]) - np.uint32(1)
    return _count(rising, used) - _count(falling, used) + len(name)


def _count(integer: int, used: NDArray[np.uint32]) -> NDArray[np.int64]:
    """How many of the used bits of each word are set."""
    columns = np.frombuffer(integer.to_bytes(used.nbytes, "little"), dtype="<u4")
    counts: NDArray[np.uint8] = np.bitwise_count(columns & used)
    return counts.astype(np.int64)


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
