"""Decides which known words correct a word that occurs nowhere: the nearest spelling, or its two halves."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from lamina.index.scope_postings import ScopePostings
from lamina.index.terms import Term, term, terms_of
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


def corrections(unknown: Term, scope: ScopePostings) -> tuple[str, ...]:
    """The known name, or the two known names run together, for a term that occurs nowhere in the scope.

    Near is one edit (a letter dropped, added, replaced, or two neighbours swapped), from eight letters on two
    if the first letter is right. Of equals the one in most documents of the scope wins, then the alphabet.
    Empty where nothing is near.
    """
    name = unknown.name
    if not (SHORTEST_CORRECTED <= len(name) < LONGEST_COMPARED and name.isascii() and name.isalpha()):
        return ()
    # The singular of a misspelt plural may be nearer than any plural that occurs.
    tried = [name, unknown.stem] if len(unknown.stem) >= SHORTEST_CORRECTED and unknown.stem != name else [name]
    for spelling in tried:
        nearest = _nearest(spelling, scope)
        if nearest is not None:
            return (nearest,)
    return _halves(name, scope)


def _nearest(name: str, scope: ScopePostings) -> str | None:
    known, languages = scope.whole.known_words, scope.whole.languages
    most = MOST_EDITS if len(name) >= SHORTEST_TWO_EDITS else 1
    candidates = _alike(name, known, most)
    blocks = range(0, max(len(candidates), 1), _COMPARED_AT_ONCE)
    counted = np.concatenate([edits(name, known, candidates[at : at + _COMPARED_AT_ONCE]) for at in blocks])
    for distance in range(1, most + 1):
        near = [
            row for row in candidates[counted == distance].tolist() if distance == 1 or known.names[row][0] == name[0]
        ]
        frequent: list[tuple[int, str]] = [
            (-max(map(scope.document_frequency, term(known.names[row], languages).stems)), known.names[row])
            for row in near
            if scope.document_frequency(scope.whole.vocabulary[known.terms[row]])
        ]
        frequent = [(held, spelling) for held, spelling in frequent if held]
        if frequent:
            return min(frequent)[1]
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


def edits(name: str, known: KnownWords, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Edits from `name` to the words of some rows, swaps of neighbours included.

    >>> known = KnownWords.of(["margin", "martin", "origin"])
    >>> edits("margn", known, np.arange(3)).tolist()
    [1, 2, 4]

    Optimal string alignment of all words at once: Hyyrö, A bit-vector algorithm for computing Levenshtein and
    Damerau edit distances, 2003. The table of edits between the beginnings of a name and of a word is walked column
    by column, a column for each letter of the name. Neighbours in a column differ by one at most, so that a column
    is two rows of bits: where it rises and where it falls. For `ab` and the word `abc`, from its empty beginning on:

    | after | column | rises | falls |
    | --- | --- | --- | --- |
    | nothing | 0 1 2 3 | a b c | |
    | a | 1 0 1 2 | b c | a |
    | ab | 2 1 0 1 | c | a b |

    The last entry is the number of edits: the length of the name, and what rises less what falls: 2 + 1 − 2 = 1.
    The columns of all words stand side by side in one long integer, which Python reckons with faster than numpy with
    as many short ones.
    """
    letters = bytes(set(name.encode()))
    held = known.codes[rows] == np.frombuffer(letters, dtype=np.uint8)[:, None, None]
    packed, width = np.packbits(held, bitorder="little").tobytes(), known.codes.shape[1] // 8
    size = len(rows) * width
    places = {
        letter: int.from_bytes(packed[at * size : (at + 1) * size], "little") for at, letter in enumerate(letters)
    }
    lowest = int.from_bytes((1).to_bytes(width, "little") * len(rows), "little")
    every = lowest * ((1 << LONGEST_COMPARED) - 1)
    rising, falling, same, before = every, 0, 0, 0
    for letter in name.encode():
        match = places[letter]
        swapped = (((same ^ every) & match) << 1) & before
        same = ((((match & rising) + rising) ^ rising) | match | falling | swapped) & every
        more, fewer = falling | ((same | rising) ^ every), same & rising
        more, fewer = ((more << 1) & every) | lowest, (fewer << 1) & every
        rising, falling, before = fewer | ((same | more) ^ every), same & more, match
    used = (np.uint32(1) << known.lengths[rows]) - np.uint32(1)
    return _count(rising, used) - _count(falling, used) + len(name)


def _count(integer: int, used: NDArray[np.uint32]) -> NDArray[np.int64]:
    """How many of the used bits of each word are set."""
    columns = np.frombuffer(integer.to_bytes(used.nbytes, "little"), dtype="<u4")
    counts: NDArray[np.uint8] = np.bitwise_count(columns & used)
    return counts.astype(np.int64)


def _halves(name: str, scope: ScopePostings) -> tuple[str, ...]:
    """The two known words that a name runs together, those whose rarer half is in most documents."""
    found = []
    for cut in range(SHORTEST_HALF, len(name) - SHORTEST_HALF + 1):
        halves = (name[:cut], name[cut:])
        rarer = min(scope.document_frequency(terms_of(half)[-1]) for half in halves)
        if rarer:
            found.append((rarer, halves))
    return max(found)[1] if found else ()
