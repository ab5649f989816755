"""Found documents and scores against a plain scorer that states the rule of docs/ranking.md with its own constants."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina.corpus.document import Document, parse
from lamina.corpus.languages import STOP_WORDS
from lamina.index.postings import Postings, document_terms
from lamina.index.scope_postings import ScopePostings
from lamina.index.terms import Word, stem, words
from lamina.ranking.rank import rank

PLAIN = ["margin", "margins", "policy", "policies", "image", "images", "figure", "figures", "display", "quartz"]
JOINED = ["submit_typeset", "submitTypeset", "submit", "typeset", "line-height", "height"]
COMMON = ["show", "keep"]
STOPS = ["the", "of", "which"]
TEXT_WORDS = [*PLAIN, *JOINED, *COMMON, *STOPS]
SYNONYMS = {"image": "figure", "figure": "image", "show": "display", "display": "show"}


class Page(NamedTuple):
    """The fields of a document, each a few words."""

    title: list[str]
    tags: list[str]
    note: list[str]
    quote: list[str]
    body: list[str]

    @property
    def markdown(self) -> str:
        """The file."""
        front = f"---\ntags: {json.dumps(self.tags)}\nnote: {json.dumps(' '.join(self.note))}\n---\n\n"
        return f"{front}# {' '.join(self.title)}\n\n> {' '.join(self.quote)}\n\n{' '.join(self.body)}\n"

    def head(self, path: str) -> list[str]:
        """The names in title, path and tags."""
        return named([*self.title, path, *self.tags])

    def everywhere(self, path: str) -> list[str]:
        """The names in all fields: the title is a heading as well, and the body holds title and quote again."""
        body = [*self.title, *self.quote, *self.body]
        return self.head(path) + named([*self.title, "note", *self.note, *self.quote, *body])


def named(texts: Sequence[str]) -> list[str]:
    return [
        name
        for text in texts
        for word in words(text)
        for name in (word.whole.name, *(part.name for part in word.parts))
    ]


def bm25(texts: Sequence[list[str]], counts: Callable[[str], bool], most: float = math.inf) -> list[float]:
    """What each text gives for the names that count, with an IDF of `most` at most."""
    lengths = [sum(name not in STOP_WORDS for name in text) for text in texts]
    average = sum(lengths) / len(lengths)
    frequencies = [sum(map(counts, text)) for text in texts]
    rarity = min(idf(texts, counts), most)
    return [
        rarity * f * (1.8 + 1) / (f + 1.8 * (1 - 0.75 + 0.75 * length / average))
        for f, length in zip(frequencies, lengths, strict=True)
    ]


def idf(texts: Sequence[list[str]], counts: Callable[[str], bool]) -> float:
    found = sum(any(map(counts, text)) for text in texts)
    return math.log(1 + (len(texts) - found + 0.5) / (found + 0.5))


class Scorer:
    """Scores every document of a small corpus, one word of the query at a time."""

    def __init__(self, pages: Sequence[Page]) -> None:
        self.heads = [page.head(f"d{n}.md") for n, page in enumerate(pages)]
        self.texts = [page.everywhere(f"d{n}.md") for n, page in enumerate(pages)]

    def scores(self, query: str) -> dict[int, float]:
        """The score of each document that is found."""
        asked = [word for word in words(query) if word.whole.name not in STOP_WORDS] or words(query)
        times = Counter(word.whole.name for word in asked)
        totals = [0.0] * len(self.texts)
        for word in {word.whole.name: word for word in reversed(asked)}.values():
            by = min(times[word.whole.name], 100) * (0.4 if word.whole.name in COMMON else 1)
            totals = [total + by * given for total, given in zip(totals, self._word(word), strict=True)]
        return {number: total for number, total in enumerate(totals) if total}

    def _word(self, word: Word) -> list[float]:
        own = self._beside_head(same_stem(word.whole.name), 1)
        part = 0.25 if any(own) else 1
        rows = [own, self._form(word.whole.name, 1)]
        rows += [
            row
            for each in word.parts
            for row in (self._beside_head(same_stem(each.name), part), self._form(each.name, part))
        ]
        for asked, other in SYNONYMS.items():
            if stem(asked) == stem(word.whole.name):
                own_idf = idf(self.texts, same_stem(word.whole.name))
                rows.append(self._beside_head(same_stem(other), 0.4, own_idf))
        return [sum(column) for column in zip(*rows, strict=True)]

    def _form(self, name: str, by: float) -> list[float]:
        return self._beside_head(same_stem(name) if stem(name) == name else name.__eq__, by * 0.5)

    def _beside_head(self, counts: Callable[[str], bool], by: float, most: float = math.inf) -> list[float]:
        anywhere, head = bm25(self.texts, counts, most), bm25(self.heads, counts, most)
        return [by * (a + 0.35 * h) for a, h in zip(anywhere, head, strict=True)]


def same_stem(name: str) -> Callable[[str], bool]:
    return lambda other: stem(other) == stem(name)


def of_words(least: int, most: int, *, unique: bool = False) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(TEXT_WORDS), min_size=least, max_size=most, unique=unique)


pages = st.builds(Page, of_words(1, 4), of_words(0, 2, unique=True), of_words(0, 2), of_words(0, 3), of_words(0, 12))
repeats = st.sampled_from([1, 1, 1, 1, 2, 3, 100, 130])
queries = st.lists(st.tuples(st.sampled_from([*TEXT_WORDS, "line", "zq9"]), repeats), min_size=1, max_size=5)


@given(st.lists(pages, min_size=1, max_size=7), queries)
@settings(deadline=None, max_examples=200)
def test_documents_score_as_the_rule_says(corpus: list[Page], asked: list[tuple[str, int]]) -> None:
    query = " ".join(word for word, times in asked for _ in range(times))
    expected = Scorer(corpus).scores(query)
    documents = [parse(f"d{n}.md", page.markdown.encode()) for n, page in enumerate(corpus)]
    scores, order = ranking(documents, query)
    assert scores == pytest.approx(expected, abs=1e-6, rel=0)
    assert order == sorted(scores, key=lambda number: (-scores[number], number))


def ranking(documents: Sequence[Document], query: str) -> tuple[dict[int, float], list[int]]:
    scope = ScopePostings.of(Postings.build(map(document_terms, documents)))
    hits = rank(scope, query, text_of=lambda number: documents[number].body)
    return dict(zip(hits.found.tolist(), hits.scores.tolist(), strict=True)), hits.in_order.tolist()
