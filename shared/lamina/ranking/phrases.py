"""Decides which documents hold the quoted phrases of a query, by their text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lamina.index.postings import Postings
from lamina.index.terms import fold, unspaced
from lamina.ranking.query import Phrase

MOST_TEXTS_READ: Final = 1_000
"""Documents whose text is checked for one query, best first; those after them are left out."""
MOST_CHARACTERS_READ: Final = 8_000_000
"""Characters of all these texts together; the documents after them are left out as well."""
LONGEST_READ: Final = 1_000_000
"""Characters of one text that are looked through."""
_MAYBE_UMLAUT: Final = re.compile("([aou])e")


def holding(
    phrases: Sequence[Phrase],
    documents: NDArray[np.int32],
    postings: Postings,
    text_of: Callable[[int], str],
) -> NDArray[np.int64]:
    """Places among `documents` of those that hold every phrase: its words in a row, punctuation aside."""
    possible = np.ones(len(documents), dtype=np.bool_)
    for term in {term for phrase in phrases for term in phrase.terms}:
        number = postings.numbers.get(term)
        holders = postings.documents[postings.place(number)] if number is not None else documents[:0]
        possible &= np.isin(documents, holders)
    patterns = [_pattern(phrase.words) for phrase in phrases]
    held = []
    left = MOST_CHARACTERS_READ
    for place in np.flatnonzero(possible)[:MOST_TEXTS_READ].tolist():
        # One character may be folded to eighteen.
        text = fold(text_of(int(documents[place]))[:LONGEST_READ])[:LONGEST_READ].casefold()
        left -= len(text)
        if left < 0:
            break
        if all(pattern.search(text) for pattern in patterns):
            held.append(place)
    return np.array(held, dtype=np.int64)


def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    """The words of a phrase one after another. Where a script has no spaces, no word begins or ends."""
    start = "" if unspaced(words[0]) else r"(?<!\w)"
    end = "" if unspaced(words[-1]) else r"(?!\w)"
    # An e after a, o or u may stand for an umlaut, which folding has left without one.
    spelled = (_MAYBE_UMLAUT.sub(r"\1e?", re.escape(word)) for word in words)
    return re.compile(start + r"[\W_]{1,8}".join(spelled) + end)
