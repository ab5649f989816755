"""Decides which documents hold the quoted phrases of a query, by their text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lamina.index.postings import Postings
from lamina.index.terms import SPACED_LETTER, fold, umlauts_spelled_out, unspaced
from lamina.ranking.query import Phrase

MOST_TEXTS_READ: Final = 1_000
"""Documents whose text is checked for one query, best first; those after them are left out."""
MOST_CHARACTERS_READ: Final = 8_000_000
"""Characters of all these texts together; the documents after them are left out as well."""
_WORDS_READ_AT_ONCE: Final = 4
"""Words of a phrase above which fewer characters are read."""
LONGEST_READ: Final = 1_000_000
"""Characters of one text that are looked through."""


def holding(
    phrases: Sequence[Phrase],
    documents: NDArray[np.int32],
    postings: Postings,
    text_of: Callable[[int], str],
) -> NDArray[np.int64]:
    """Places among `documents` of those that hold every phrase: its words in a row, punctuation aside."""
    possible = np.ones(len(documents), dtype=np.bool_)
    for stems in {stems for phrase in phrases for stems in phrase.stems}:
        numbers = [postings.numbers[stem] for stem in stems if stem in postings.numbers]
        holders = [postings.documents[postings.place(number)] for number in numbers]
        possible &= np.isin(documents, np.concatenate(holders) if holders else documents[:0])
    patterns = [re.compile("|".join(map(_pattern, phrase.spellings))) for phrase in phrases]
    # A text in which the words of a phrase repeat is looked through once for each of them.
    most_words = max(len(words) for phrase in phrases for words in phrase.spellings)
    left = MOST_CHARACTERS_READ * _WORDS_READ_AT_ONCE // max(most_words, _WORDS_READ_AT_ONCE)
    held = []
    for place in np.flatnonzero(possible)[:MOST_TEXTS_READ].tolist():
        texts = _as_compared(text_of(int(documents[place]))[:LONGEST_READ])
        left -= sum(map(len, texts))
        if left < 0:
            break
        if all(any(pattern.search(text) for text in texts) for pattern in patterns):
            held.append(place)
    return np.array(held, dtype=np.int64)


def _as_compared(text: str) -> list[str]:
    """A text as it is compared: folded, and where it has umlauts once more with these in two letters."""
    spelled = umlauts_spelled_out(text)
    spellings = [text] if spelled is text else [text, spelled]
    # One character may be folded to eighteen.
    return [fold(spelling)[:LONGEST_READ].casefold() for spelling in spellings]


def _pattern(words: tuple[str, ...]) -> str:
    """The words of a phrase one after another. Where a script has no spaces, no word begins or ends."""
    start = "" if unspaced(words[0][0]) else f"(?<!{SPACED_LETTER})"
    end = "" if unspaced(words[-1][-1]) else f"(?!{SPACED_LETTER})"
    return start + r"[\W_]{1,8}".join(map(re.escape, words)) + end
