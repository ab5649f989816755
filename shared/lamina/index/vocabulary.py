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
    bytes, a row a word), and in `letters` how often each letter of the alphabet occurs in each.
    """

    names: tuple[str, ...]
    terms: NDArray[np.int64]
    lengths: NDArray[np.int16]
    codes: NDArray[np.uint8]
    letters: NDArray[np.int8]

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
        letters = np.empty((len(chosen), len(_LETTERS)), dtype=np.int8)
        for column, letter in enumerate(_LETTERS):
            letters[:, column] = np.count_nonzero(codes == letter, axis=1)
        lengths = np.array([len(name) for name in chosen], dtype=np.int16)
        return KnownWords(chosen, np.array(kept, dtype=np.int64), lengths, codes, letters)
