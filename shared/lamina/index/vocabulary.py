"""Decides which indexed terms are words that another spelling can be compared with."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lamina.index.terms import FORM_MARK

SHORTEST_COMPARED: Final = 4
LONGEST_COMPARED: Final = 26
_WIDTH: Final = 32
"""Bytes in which a word is kept, so that a bit for each of them fills an integer."""

_LETTERS: Final = range(ord("a"), ord("z") + 1)


@dataclass(frozen=True, slots=True)
class KnownWords:
    """The words of a vocabulary in plain letters, the shortest first.

    Parallel: `names`, the numbers of their `terms`, their `lengths`, their letters as `codes` (zero-padded bytes, a
    row a word), the `firsts` of those, and in `letters` a bit for each letter of the alphabet that occurs in it.
    """

    names: tuple[str, ...]
    terms: NDArray[np.int64]
    lengths: NDArray[np.uint32]
    codes: NDArray[np.uint8]
    firsts: NDArray[np.uint8]
    letters: NDArray[np.uint32]

    @staticmethod
    def of(vocabulary: Sequence[str]) -> KnownWords:
        """Of exact forms, and of stems too, as a word that is its own stem has no other form."""
        names = [term.removeprefix(FORM_MARK) for term in vocabulary]
        kept = [
            number
            for number, name in enumerate(names)
            if SHORTEST_COMPARED <= len(name) <= LONGEST_COMPARED and name.isascii() and name.isalpha()
        ]
        kept.sort(key=lambda number: len(names[number]))
        chosen = tuple(names[number] for number in kept)
        padded = np.array(chosen, dtype=f"S{_WIDTH}")
        codes = padded.view(np.uint8).reshape(len(chosen), _WIDTH)
        letters = np.bitwise_or.reduce(_BITS[codes], axis=1)
        lengths = np.array([len(name) for name in chosen], dtype=np.uint32)
        return KnownWords(chosen, np.array(kept, dtype=np.int64), lengths, codes, codes[:, 0].copy(), letters)

    def of_length(self, least: int, most: int) -> slice[int, int, None]:
        """Rows of the words of so many letters."""
        return slice(bisect_left(self.lengths, least), bisect_right(self.lengths, most))


def letters_of(name: str) -> np.uint32:
    """A bit for each letter of the alphabet that occurs in a name."""
    return np.uint32(np.bitwise_or.reduce(_BITS[list(name.encode())]))


def _bits() -> NDArray[np.uint32]:
    """The bit of each code: of a to z one each, of the padding none."""
    bits = np.zeros(256, dtype=np.uint32)
    bits[list(_LETTERS)] = np.uint32(1) << np.arange(len(_LETTERS), dtype=np.uint32)
    return bits


_BITS: Final = _bits()
