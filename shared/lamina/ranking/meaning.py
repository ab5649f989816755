"""Decides whether a query is looked for by meaning too, and how near each document is to it.

Words come first: a query that they cover, an identifier or a quoted phrase never asks for vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from lamina.contract.vectors import SAME
from lamina.index.vectors import Vectors
from lamina.ranking.query import QueryWord

MeaningState = Literal["used", "not_needed", "following", "unavailable", "none"]
"""Whether meaning had a say: it had; words were enough, or are still being typed; the index has no vectors yet; they,
or their encoder, cannot be had; the index is to have none."""

USED: Final[MeaningState] = "used"

WELL_COVERED: Final = 0.95
"""The share of a query's weight from which on words are enough."""
LEAST_NEARNESS: Final = 0.2
"""How near, 1 being the same, a document without any word of the query must be to be found."""
LEAST_SHARE: Final = 500_000
"""And how far, in millionths, it must be on the way from the usual document to the nearest."""
CHANCE_COVERAGE: Final = 250_000
"""The share, in millionths, that the best document holds of a question on matters that a base does not know."""
LEAST_TRUST: Final = 10_000
MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Meaning:
    """Where a ranking finds the vectors of its documents and that of a query; either may be missing.

    Both are asked for only where words fail. `missing` says why an index has no vectors.
    """

    documents: Callable[[], Vectors | None]
    query: Callable[[str], bytes | None]
    missing: MeaningState


@dataclass(frozen=True, slots=True)
class Nearness:
    """How near the documents of a scope are to a query, and the vector that says so.

    `products` has an entry a document of the index, `SAME` being the same; `shares`, in millionths, is nought for the
    usual document of the scope and a million for its nearest.
    """

    encoder: str
    query_vector: bytes
    products: NDArray[np.int64]
    shares: NDArray[np.int64]

    @property
    def found(self) -> NDArray[np.bool_]:
        """The documents that are found by meaning alone."""
        return (self.shares >= LEAST_SHARE) & (self.products >= int(LEAST_NEARNESS * SAME))


FOLLOWING: Final = Meaning(lambda: None, lambda text: None, "following")
"""Of an index that has no vectors yet."""


def nearness(text: str, meaning: Meaning, searched: NDArray[np.bool_] | None) -> Nearness | MeaningState:
    """How near the searched documents (None: all) are to a text, or why that cannot be told."""
    vectors = meaning.documents()
    if vectors is None:
        return meaning.missing
    vector = meaning.query(text)
    if vector is None or len(vector) != vectors.matrix.shape[1]:
        return "unavailable"
    products = vectors.nearness(vector)
    return Nearness(vectors.encoder, vector, products, _shares(products, searched))


def _shares(products: NDArray[np.int64], searched: NDArray[np.bool_] | None) -> NDArray[np.int64]:
    """How far each searched document is on the way from the usual one, the lower median, to the nearest.

    >>> _shares(np.array([10, 40, 20, 30, 90]), np.array([True, True, True, True, False])).tolist()
    [0, 1000000, 0, 500000, 0]
    """
    among = products if searched is None else products[searched]
    if not len(among):
        return np.zeros_like(products)
    middle = (len(among) - 1) // 2
    usual, nearest = int(np.partition(among, middle)[middle]), int(among.max())
    shares = np.maximum(products - usual, 0) * MILLION // max(nearest - usual, 1)
    return shares if searched is None else np.where(searched, shares, 0)


def is_all_names(words: Iterable[QueryWord]) -> bool:
    """Whether a query is spelled like identifiers throughout, which words find or nothing does."""
    return all(word.parts or any(map(str.isdigit, word.surface)) for word in words)


def word_trust(coverage: float) -> int:
    """What words count beside meaning, in millionths.

    The best document holds a quarter of any question by chance, so that only what is above says anything; the least
    keeps the order of words among documents that meaning does not tell apart.

    >>> word_trust(0.25), word_trust(0.5), word_trust(1.0)
    (10000, 333333, 1000000)
    """
    above = round(coverage * MILLION) - CHANCE_COVERAGE
    return max(LEAST_TRUST, above * MILLION // (MILLION - CHANCE_COVERAGE))
