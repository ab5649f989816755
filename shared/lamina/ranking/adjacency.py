"""Decides what it is worth that words which follow each other in a query do so in a document too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lamina.index.bm25 import ScopeStatistics, saturated
from lamina.index.postings import Postings, slices

ADJACENCY_WEIGHT: Final = 0.3
"""What a neighbouring pair counts, against the rarer-in-meaning of its two words alone."""
WIDEST_GAP: Final = 2
"""A neighbour is the next word or the one after it."""
MOST_CANDIDATES: Final = 64
"""Documents, best first, in which neighbours are looked for."""
MOST_PAIRS: Final = 32

_PLACE_BITS: Final = 17


def adjacency(
    sequence: Sequence[tuple[int, float]],
    documents: NDArray[np.int32],
    postings: Postings,
    statistics: ScopeStatistics,
) -> NDArray[np.float64]:
    """What each of `documents` (ascending) gains by neighbours.

    `sequence` holds the term number and IDF of the query's words in order. A pair counts like a term of its
    own: the smaller IDF of the two, by how often they are neighbours.
    """
    gained = np.zeros(len(documents))
    pairs = dict.fromkeys(
        (left, right) for left, right in zip(sequence, sequence[1:], strict=False) if left[0] != right[0]
    )
    places: dict[int, NDArray[np.int64]] = {}
    for (left, left_idf), (right, right_idf) in list(pairs)[:MOST_PAIRS]:
        for term in (left, right):
            if term not in places:
                places[term] = _places(term, documents, postings)
        neighbours = _neighbours(places[left], places[right])
        times = np.bincount(neighbours >> _PLACE_BITS, minlength=len(documents)).astype(np.float64)
        worth = ADJACENCY_WEIGHT * min(left_idf, right_idf)
        gained += worth * saturated(times, statistics.norm[documents])
    return gained


def _places(term: int, documents: NDArray[np.int32], postings: Postings) -> NDArray[np.int64]:
    """Where the term stands in these documents: the document's place among them and the word's, as one number."""
    row = postings.row(term)
    holders = postings.documents[row]
    at = np.searchsorted(holders, documents)
    at[at == len(holders)] = 0
    held = np.flatnonzero(holders[at] == documents) if len(holders) else np.zeros(0, dtype=np.int64)
    values, owners = slices(postings.places, postings.place_starts, row.start + at[held])
    return (held[owners] << _PLACE_BITS) | values.astype(np.int64)


def _neighbours(left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
    """Those places on the left after which a place on the right follows within the gap."""
    if not len(left) or not len(right):
        return np.zeros(0, dtype=np.int64)
    following = np.searchsorted(right, left + 1)
    following[following == len(right)] = 0
    distance = right[following] - left
    return left[(distance >= 1) & (distance <= WIDEST_GAP)]
