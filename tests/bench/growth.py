"""Ranking alone as a corpus grows, beside rank-bm25, bm25s and SQLite FTS5 on the same texts and queries."""

from __future__ import annotations

import gc
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import bm25s
import numpy as np
import Stemmer
from rank_bm25 import BM25Okapi
from tests.bench.enlarged import RARE_WORDS, Enlarged, enlarged
from tests.bench.figures import Line, percentile

from lamina.corpus.document import Document
from lamina.index.bm25 import add_up, best_places
from lamina.index.scope_postings import ScopePostings
from lamina.index.terms import stem
from lamina.ranking.order import SCORE_STEPS, rank
from lamina.ranking.query import read

SIZES = (600, 10_000, 100_000)
# rank-bm25 keeps a dict a document; a hundred thousand of them need gigabytes and minutes.
MOST_FOR_RANK_BM25 = 10_000
TIMES_RANK_BM25 = 50.0
MOST_MS_AT_100_000 = 20.0
MOST_GROWTH = 3.0
TOP = 25

Ask = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Times:
    """Milliseconds of each call."""

    calls: tuple[float, ...]

    @property
    def p50(self) -> float:
        """The median."""
        return percentile(self.calls, 0.5)

    @property
    def p95(self) -> float:
        """What one call in twenty takes longer than."""
        return percentile(self.calls, 0.95)


def growth(documents: Sequence[Document], queries: Sequence[str], sizes: Sequence[int] = SIZES) -> Iterator[Line]:
    """Every engine at every size; the bounds are the speed table's."""
    rare: dict[int, Times] = {}
    for size in sizes:
        corpus = enlarged(documents, size)
        part = f"Ranking alone at {size:,} documents, {len(queries)} queries"
        first, again = _lamina(corpus, queries)
        yield Line(part, "lamina p50, asked before", again.p50, "ms", most=_bound(size))
        yield Line(part, "lamina p95, asked before", again.p95, "ms")
        yield Line(part, "lamina p50, every word new and spelling corrected", first.p50, "ms", most=_bound(size))
        yield Line(part, "lamina p95, every word new and spelling corrected", first.p95, "ms")
        rare[size], _ = _lamina(corpus, RARE_WORDS)
        yield Line(part, "lamina p50, a word in 5 documents", rare[size].p50, "ms")
        alone = _bm25_alone(corpus, queries)
        yield Line(part, "lamina p50, BM25 alone of words split already", alone.p50, "ms")
        others = _others(corpus, queries, size)
        for name, times in others.items():
            yield Line(part, f"{name} p50", times.p50, "ms")
            yield Line(part, f"{name} p95", times.p95, "ms")
        if "rank-bm25 get_scores" in others:
            bound = TIMES_RANK_BM25 if size == MOST_FOR_RANK_BM25 else None
            scores = others["rank-bm25 get_scores"].p50
            yield Line(part, "BM25 alone, times faster than rank-bm25 get_scores", scores / alone.p50, "×", least=bound)
            ratio = scores / first.p50
            yield Line(part, "every word new, times faster than rank-bm25 get_scores", ratio, "×", least=bound)
        retrieve = others["bm25s retrieve, words split already"].p50
        yield Line(part, "BM25 alone, times faster than bm25s retrieve", retrieve / alone.p50, "×", least=1.0)
        both = others["bm25s tokenize and retrieve"].p50
        yield Line(
            part, "asked before, times faster than bm25s tokenize and retrieve", both / again.p50, "×", least=1.0
        )
        # Without a bound: bm25s corrects no spelling and looks up one term a word.
        yield Line(part, "every word new, times faster than bm25s tokenize and retrieve", both / first.p50, "×")
        del corpus
        gc.collect()
    if 10_000 in rare and 100_000 in rare:
        ratio = rare[100_000].p50 / rare[10_000].p50
        yield Line("Growth", "a rare word at 100,000 against 10,000 documents", ratio, "×", most=MOST_GROWTH)


def _bound(size: int) -> float | None:
    return MOST_MS_AT_100_000 if size == 100_000 else None


def _lamina(corpus: Enlarged, queries: Sequence[str]) -> tuple[Times, Times]:
    """The first `TOP` for each query: when nothing is remembered of its words, and at later times."""
    scope = ScopePostings.of(corpus.postings)

    def ask(query: str) -> object:
        hits = rank(scope, query, text_of=corpus.text)
        top = hits.best(TOP)
        return hits.found[top], hits.steps[top]

    def ask_anew(query: str) -> object:
        scope.memory.forget()
        return ask(query)

    ask(queries[0])
    return _timed(ask_anew, queries), _timed(ask, queries)


def _bm25_alone(corpus: Enlarged, queries: Sequence[str]) -> Times:
    """The first `TOP` by what is the same in all of them: each word by its stem alone, nothing remembered."""
    scope = ScopePostings.of(corpus.postings)

    def retrieve(terms: list[str]) -> object:
        rows = [scope.row(term) for term in terms]
        found, scores = add_up([(row.documents, row.impacts, 1.0) for row in rows], scope.whole.count)
        top = best_places(np.rint(scores * SCORE_STEPS).astype(np.int64), TOP)
        return found[top], scores[top]

    split = [[stem(word.whole) for word in read(query).words] for query in queries]
    retrieve(split[0])
    return _timed(retrieve, split)


def _others(corpus: Enlarged, queries: Sequence[str], size: int) -> dict[str, Times]:
    """The others; rank-bm25 and SQLite are given words that are split already, which Lamina does within its time."""
    texts = [f"{corpus.title(number)}\n{corpus.text(number)}" for number in range(size)]
    found: dict[str, Times] = {}
    if size <= MOST_FOR_RANK_BM25:
        engine = BM25Okapi([_tokens(text) for text in texts])
        split = [_tokens(query) for query in queries]
        # Slow enough for one time each.
        found["rank-bm25 get_scores"] = _timed(engine.get_scores, split, rounds=1)
        del engine
    found.update(_bm25s(texts, queries))
    found["SQLite FTS5"] = _fts5(corpus, texts, queries)
    return found


def _bm25s(texts: Sequence[str], queries: Sequence[str]) -> dict[str, Times]:
    options: dict[str, Any] = {"stopwords": "en", "stemmer": Stemmer.Stemmer("english"), "show_progress": False}
    engine = bm25s.BM25()
    engine.index(bm25s.tokenize(list(texts), **options), show_progress=False)
    top = min(TOP, len(texts))

    def split(query: str) -> list[list[str]]:
        words: list[list[str]] = bm25s.tokenize([query], return_ids=False, **options)
        return words

    def retrieve(words: list[list[str]]) -> object:
        return engine.retrieve(words, k=top, show_progress=False, n_threads=0)

    telling = [query for query in queries if split(query)[0]]
    return {
        "bm25s retrieve, words split already": _timed(retrieve, [split(query) for query in telling]),
        "bm25s tokenize and retrieve": _timed(lambda query: retrieve(split(query)), telling),
    }


def _fts5(corpus: Enlarged, texts: Sequence[str], queries: Sequence[str]) -> Times:
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE texts USING fts5(title, body, tokenize='porter')")
    rows = ((number, corpus.title(number), text) for number, text in enumerate(texts))
    database.executemany("INSERT INTO texts(rowid, title, body) VALUES (?, ?, ?)", rows)
    statement = f"SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY bm25(texts, 5, 1), rowid LIMIT {TOP}"  # noqa: S608
    asked = [" OR ".join(f'"{token}"' for token in _tokens(query)) for query in queries]
    return _timed(lambda query: database.execute(statement, (query,)).fetchall(), [one for one in asked if one])


def _timed(ask: Callable[[Any], object], queries: Sequence[Any], rounds: int = 3) -> Times:
    """Each query's best of some rounds, so that what else the machine does counts less."""
    best = np.full(len(queries), np.inf)
    for _ in range(rounds):
        for number, query in enumerate(queries):
            started = time.perf_counter()
            ask(query)
            best[number] = min(best[number], time.perf_counter() - started)
    return Times(tuple(float(one) for one in best * 1000))


def _tokens(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
