"""Decides which documents are asked for by name: those whose whole title is the query, however it is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lamina.index.terms import PHRASE_WORD, fold
from lamina.ranking.lookup import TermMatch
from lamina.ranking.query import MOST_WORDS

LONGEST_TITLE: Final = 400
"""Characters of a query that may be a title."""
MOST_READ: Final = 200
"""Documents whose title is compared for one query."""


def bearing(query: str, matches: Sequence[TermMatch], title_of: Callable[[int], str]) -> NDArray[np.int32]:
    """The documents whose title says the query and nothing else, ascending: case, accents and punctuation aside.

    A title's words stand in the head of its document, so only those are looked at whose head holds every word of
    the query; for most queries there are none.
    """
    if not matches or len(matches) >= MOST_WORDS or len(query) > LONGEST_TITLE:
        return _NONE
    heads = sorted((match.whole.in_head for match in matches), key=len)
    holders = heads[0]
    for others in heads[1:]:
        if not len(holders):
            return _NONE
        holders = np.intersect1d(holders, others, assume_unique=True)
    wanted = _words(query)
    named = [number for number in holders[:MOST_READ].tolist() if _words(title_of(number)) == wanted]
    return np.array(named, dtype=np.int32) if wanted else _NONE


_NONE: Final = np.empty(0, dtype=np.int32)


def _words(text: str) -> list[str]:
    return PHRASE_WORD.findall(fold(text).casefold())
