"""Which sections of one document answer a question, by rank-bm25's BM25 over their texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from lamina.index.bm25 import inverse_document_frequency
from lamina.index.terms import names, stem


def rank_sections(question: str, texts: Sequence[str]) -> list[int]:
    """The numbers of the texts that hold a word of the question, best first, ties in order."""
    from rank_bm25 import BM25Okapi  # 60 ms to import, and only this needs it

    asked = list(dict.fromkeys(map(stem, names(question))))
    read = [list(map(stem, names(text))) for text in texts]
    if not any(read):
        return []
    model = BM25Okapi(read)
    # The class's own weight is negative for a word that half of a few texts hold.
    held = Counter(word for frequencies in model.doc_freqs for word in frequencies)
    model.idf = {word: inverse_document_frequency(count, len(texts)) for word, count in held.items()}
    scores = [float(score) for score in model.get_scores(asked)]
    return sorted((n for n, score in enumerate(scores) if score > 0), key=lambda n: (-scores[n], n))
