"""The oracle of the scores: the slow, plain BM25 on rank-bm25's base class, which postings must equal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from rank_bm25 import BM25

from lamina.index.bm25 import K1, B, inverse_document_frequency


class PositiveBM25(BM25):  # type: ignore[misc]
    """rank-bm25's Okapi with a positive IDF: walks every document in Python for each term of a query."""

    def _calc_idf(self, nd: dict[str, int]) -> None:
        self.idf = {term: inverse_document_frequency(found, self.corpus_size) for term, found in nd.items()}

    def get_scores(self, query: Sequence[str]) -> NDArray[np.float64]:
        """The score of every document for a query of terms; a repeated term counts again."""
        lengths = np.array(self.doc_len)
        scores = np.zeros(self.corpus_size)
        norm = K1 * (1 - B + B * lengths / self.avgdl)
        for term in query:
            frequencies = np.array([document.get(term) or 0 for document in self.doc_freqs])
            scores += self.idf.get(term, 0.0) * frequencies * (K1 + 1) / (frequencies + norm)
        return scores
