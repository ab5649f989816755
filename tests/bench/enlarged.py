"""Corpora of any size: documents of the corpus' own paragraphs, drawn by a seeded generator, as postings at once."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lamina.corpus.document import Document
from lamina.index.postings import Postings, term_counts
from lamina.index.terms import names

SEED = 20_260_728
RARE_WORDS = tuple(f"quil{chr(97 + number)}orp" for number in range(20))
"""Words that no text holds, put into a few documents each, so that they are as rare in a larger corpus."""
RARE_DOCUMENTS = 5
_LEAST_WORDS, _MOST_WORDS = 8, 120
_PARAGRAPHS = (2, 3, 4, 5, 6)
_CHUNK = 5_000


@dataclass(frozen=True, slots=True)
class _Piece:
    """A paragraph or a title with its terms: numbers into the vocabulary, and frequencies."""

    text: str
    terms: NDArray[np.int64]
    frequencies: NDArray[np.int64]
    length: int
    head_length: int


@dataclass(frozen=True, slots=True)
class Enlarged:
    """A corpus of `len(drawn)` documents. `drawn` names the pieces of each: its title, then its paragraphs."""

    postings: Postings
    drawn: list[tuple[int, ...]]
    texts: list[str]

    def title(self, number: int) -> str:
        """The title of a document."""
        return self.texts[self.drawn[number][0]]

    def text(self, number: int) -> str:
        """The body of a document."""
        return "\n\n".join(self.texts[piece] for piece in self.drawn[number][1:])


def enlarged(documents: Sequence[Document], size: int) -> Enlarged:
    """`size` documents of two to six paragraphs each, about as many words as a page has."""
    numbers: dict[str, int] = {}
    titles = [_piece(document.title, numbers, in_head=True) for document in documents]
    paragraphs = [_piece(text, numbers) for text in _paragraphs(documents)]
    rare = [_piece(word, numbers) for word in RARE_WORDS]
    pieces = [*titles, *paragraphs, *rare]
    rng = random.Random(SEED)
    first, last = len(titles), len(titles) + len(paragraphs)
    drawn: list[tuple[int, ...]] = [
        (rng.randrange(first), *(rng.randrange(first, last) for _ in range(rng.choice(_PARAGRAPHS))))
        for _ in range(size)
    ]
    for number in range(len(rare)):
        for document in rng.sample(range(size), min(RARE_DOCUMENTS, size)):
            drawn[document] = (*drawn[document], last + number)
    return Enlarged(_postings(pieces, drawn, numbers), drawn, [piece.text for piece in pieces])


def _paragraphs(documents: Sequence[Document]) -> Iterator[str]:
    seen: set[str] = set()
    for document in documents:
        for text in re.split(r"\n\s*\n", document.body):
            if _LEAST_WORDS <= len(text.split()) <= _MOST_WORDS and text not in seen:
                seen.add(text)
                yield text


def _piece(text: str, numbers: dict[str, int], *, in_head: bool = False) -> _Piece:
    found = Counter(names(text))
    terms, packed, length, head_length = term_counts(found, found if in_head else {})
    rows = [numbers.setdefault(term, len(numbers)) for term in (terms.split("\n") if terms else [])]
    frequencies = np.frombuffer(packed, dtype="<u2").astype(np.int64)
    return _Piece(text, np.array(rows, dtype=np.int64), frequencies, length, head_length)


def _postings(pieces: Sequence[_Piece], drawn: Sequence[tuple[int, ...]], numbers: dict[str, int]) -> Postings:
    """Frequencies added up by document, then sorted by term: what `Postings.build` makes of texts, but in arrays."""
    vocabulary = sorted(numbers)
    rank = np.empty(len(vocabulary), dtype=np.int64)
    rank[[numbers[term] for term in vocabulary]] = np.arange(len(vocabulary))
    term_rows, document_rows, frequency_rows = [], [], []
    for start in range(0, len(drawn), _CHUNK):
        some = drawn[start : start + _CHUNK]
        chosen = [(document, pieces[piece]) for document, names in enumerate(some, start) for piece in names]
        sizes = np.array([len(piece.terms) for _, piece in chosen], dtype=np.int64)
        documents = np.repeat(np.array([document for document, _ in chosen], dtype=np.int64), sizes)
        terms = rank[np.concatenate([piece.terms for _, piece in chosen])]
        keys, places = np.unique(documents * len(vocabulary) + terms, return_inverse=True)
        counted = np.bincount(places, weights=np.concatenate([piece.frequencies for _, piece in chosen]))
        term_rows.append((keys % len(vocabulary)).astype(np.int32))
        document_rows.append((keys // len(vocabulary)).astype(np.int32))
        frequency_rows.append(counted.astype(np.uint16))
    by_term = np.concatenate(term_rows)
    order = np.argsort(by_term, kind="stable")
    starts = np.zeros(len(vocabulary) + 1, dtype=np.int64)
    np.cumsum(np.bincount(by_term, minlength=len(vocabulary)), out=starts[1:])
    return Postings(
        vocabulary=tuple(vocabulary),
        starts=starts,
        documents=np.concatenate(document_rows)[order],
        frequencies=np.concatenate(frequency_rows)[order],
        lengths=np.array([sum(pieces[piece].length for piece in names) for names in drawn], dtype=np.int64),
        head_lengths=np.array([sum(pieces[piece].head_length for piece in names) for names in drawn], dtype=np.int64),
    )
