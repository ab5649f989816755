"""Decides which documents hold the quoted phrases of a query, by their text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lamina.index.postings import Postings
from lamina.index.terms import fold, sequence, stem, words

MOST_TEXTS_READ: Final = 1_000
"""Documents whose text is checked for one query, best first; those after them are left out."""


def holding(
    phrases: Sequence[tuple[str, ...]],
    documents: NDArray[np.int32],
    postings: Postings,
    text_of: Callable[[int], str],
) -> NDArray[np.int64]:
    """Places among `documents` of those that hold every phrase: its words in a row, punctuation aside."""
    possible = np.ones(len(documents), dtype=np.bool_)
    for term in {stem(name) for phrase in phrases for name in sequence(words(" ".join(phrase)))}:
        number = postings.numbers.get(term)
        holders = postings.documents[postings.place(number)] if number is not None else documents[:0]
        possible &= np.isin(documents, holders)
    patterns = [re.compile(r"(?<!\w)" + r"[\W_]{1,8}".join(map(re.escape, phrase)) + r"(?!\w)") for phrase in phrases]
    places = np.flatnonzero(possible)[:MOST_TEXTS_READ].tolist()
    held = [place for place in places if _holds(patterns, text_of(int(documents[place])))]
    return np.array(held, dtype=np.int64)


def _holds(patterns: Sequence[re.Pattern[str]], text: str) -> bool:
    folded = fold(text).casefold()
    return all(pattern.search(folded) for pattern in patterns)
