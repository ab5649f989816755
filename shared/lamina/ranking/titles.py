"""Decides which documents are asked for by name: those whose whole title or alias is the query, however written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lamina.index.scope_postings import ScopePostings
from lamina.index.terms import PHRASE_WORD, fold
from lamina.ranking.lookup import TermMatch
from lamina.ranking.query import MOST_WORDS

LONGEST_TITLE: Final = 400
"""Characters of a query that may be a title."""
MOST_READ: Final = 200
"""Documents whose title is compared for one query, those with the shortest heads."""


@dataclass(frozen=True, slots=True)
class Names:
    """What documents are called: the title of a document by its number, and the document that lists an alias."""

    title_of: Callable[[int], str]
    aliased: Callable[[str], int | None]


def bearing(query: str, matches: Sequence[TermMatch], names: Names, scope: ScopePostings) -> NDArray[np.int32]:
    """The documents whose title or alias says the query and nothing else, ascending.

    Case, accents and punctuation do not count in a title, case does not in an alias. A title's words stand in the
    head of its document, so only those are looked at whose head holds every word of the query; for most queries
    there are none.
    """
    wanted = _words(query)
    if not wanted or not matches or len(matches) >= MOST_WORDS or len(query) > LONGEST_TITLE:
        return np.empty(0, dtype=np.int32)
    holders = _holding_all([match.whole.in_head for match in matches])
    if len(holders) > MOST_READ:
        # A head that is little more than the query's words is more likely that of a page of this title.
        holders = holders[np.argpartition(scope.whole.head_lengths[holders], MOST_READ)[:MOST_READ]]
    named = {number for number in holders.tolist() if _words(names.title_of(number)) == wanted}
    alias = names.aliased(query)
    return np.array(sorted(named if alias is None else {*named, alias}), dtype=np.int32)


def _holding_all(heads: Sequence[NDArray[np.int32]]) -> NDArray[np.int32]:
    first, *others = sorted(heads, key=len)
    for other in others:
        if not len(first):
            break
        first = np.intersect1d(first, other, assume_unique=True)
    return first


def _words(text: str) -> list[str]:
    return PHRASE_WORD.findall(fold(text).casefold())
