"""Decides which indexed terms are words that another spelling can be compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lamina.index.terms import FORM_MARK

SHORTEST_COMPARED: Final = 4
LONGEST_COMPARED: Final = 26

_LETTERS: Final = range(ord("a"), ord("z") + 1)


@dataclass(frozen=True, slots=True)
class KnownWords:
    """The words of a vocabulary in plain letters.

    Parallel: `names`, the numbers of their `terms`, their `lengths`, their letters as `codes` (zero-padded
    bytes, a row a word), and in `letters` a bit for each letter of the alphabet that occurs in it.
    """

    names: tuple[str, ...]
    terms: NDArray[np.int64]
    lengths: NDArray[np.int16]
    codes: NDArray[np.uint8]
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
        chosen = tuple(names[number] for number in kept)
        padded = np.array(chosen, dtype=f"S{LONGEST_COMPARED}")
        codes = padded.view(np.uint8).reshape(len(chosen), LONGEST_COMPARED)
        letters = np.bitwise_or.reduce(_BITS[codes], axis=1)
        lengths = np.array([len(name) for name in chosen], dtype=np.int16)
        return KnownWords(chosen, np.array(kept, dtype=np.int64), lengths, codes, letters)


def letters_of(name: str) -> np.uint32:
    """A bit for each letter of the alphabet that occurs in a name."""
    return np.uint32(np.bitwise_or.reduce(_BITS[list(name.encode())]))


def _bits() -> NDArray[np.uint32]:
    """The bit of each code: of a to z one each, of the padding none."""
    bits = np.zeros(256, dtype=np.uint32)
    bits[list(_LETTERS)] = np.uint32(1) << np.arange(len(_LETTERS), dtype=np.uint32)
    return bits


_BITS: Final = _bits()
