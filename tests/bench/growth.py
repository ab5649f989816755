"""Ranking alone as a corpus grows, beside rank-bm25, SQLite FTS5 and bm25s with its default backend, numpy.

BM25 alone: bm25s splits texts and queries once, and all rank the same words, no English stop words, by Snowball stems.
The others are timed from the text of a query to the first `TOP`. All: each query's best of the same rounds.
"""

from __future__ import annotations

import gc
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import bm25s
import numpy as np
from bm25s.stopwords import STOPWORDS_EN
from rank_bm25 import BM25Okapi
from tests.bench.bm25s_words import bm25s_words
from tests.bench.enlarged import RARE_WORDS, Enlarged, enlarged
from tests.bench.figures import Line, percentile

from lamina.corpus.document import Document
from lamina.index.bm25 import add_up, top_k
from lamina.index.scope_postings import ScopePostings
from lamina.ranking.rank import rank
from lamina.ranking.score import SCORE_STEPS

SIZES = (600, 10_000, 100_000)
# rank-bm25 keeps a dict a document; a hundred thousand of them need gigabytes and minutes.
MOST_FOR_RANK_BM25 = 10_000
TIMES_RANK_BM25 = 50.0
MOST_MS_AT_100_000 = 20.0
MOST_GROWTH = 3.0
TOP = 25
_ROUNDS = 3

Tokens = list[str]
AskText = Callable[[str], Any]
AskTokens = Callable[[Tokens], Any]
Q = TypeVar("Q")


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


@dataclass(frozen=True, slots=True)
class Measured:
    """Every engine at one size: three on words split already, then on the text of a query."""

    lamina_alone: Times
    bm25s_alone: Times
    rank_bm25_alone: Times | None
    lamina_again: Times
    lamina_anew: Times
    lamina_rare: Times
    bm25s_whole: Times
    fts5_whole: Times


def growth(documents: Sequence[Document], queries: Sequence[str], sizes: Sequence[int] = SIZES) -> Iterator[Line]:
    """Every engine at every size; the bounds are the speed table's."""
    telling = [query for query, tokens in zip(queries, bm25s_words(queries), strict=True) if tokens]
    rare: dict[int, Times] = {}
    for size in sizes:
        measured = _measured(enlarged(documents, size), telling, size)
        rare[size] = measured.lamina_rare
        yield from _lines(measured, size, f"Ranking alone at {size:,} documents, {len(telling)} queries")
        gc.collect()
    if 10_000 in rare and 100_000 in rare:
        ratio = rare[100_000].p50 / rare[10_000].p50
        yield Line("Growth", "a rare word at 100,000 against 10,000 documents", ratio, "×", most=MOST_GROWTH)


def _measured(corpus: Enlarged, queries: Sequence[str], size: int) -> Measured:
    scope = ScopePostings.of(corpus.postings)
    ask = lamina(scope, corpus)

    def ask_anew(query: str) -> object:
        scope.memory.forget()
        return ask(query)

    asked = bm25s_words(queries)
    texts = bm25s_words([f"{corpus.title(number)}\n{corpus.text(number)}" for number in range(size)])
    small = size <= MOST_FOR_RANK_BM25
    retrieve = bm25s_alone(texts)
    return Measured(
        lamina_alone=_timed(lamina_alone(scope), asked),
        bm25s_alone=_timed(retrieve, asked),
        rank_bm25_alone=_timed(BM25Okapi(texts).get_scores, asked) if small else None,
        lamina_anew=_timed(ask_anew, queries),
        lamina_again=_timed(ask, queries),
        lamina_rare=_timed(ask_anew, RARE_WORDS),
        bm25s_whole=_timed(lambda query: retrieve(*bm25s_words([query])), queries),
        fts5_whole=_timed(fts5(corpus, size), queries),
    )


def _lines(measured: Measured, size: int, part: str) -> Iterator[Line]:
    most = MOST_MS_AT_100_000 if size == 100_000 else None
    least = TIMES_RANK_BM25 if size == MOST_FOR_RANK_BM25 else None
    again, anew, alone = measured.lamina_again.p50, measured.lamina_anew.p50, measured.lamina_alone.p50
    yield Line(part, "lamina p50, asked before", again, "ms", most=most)
    yield Line(part, "lamina p95, asked before", measured.lamina_again.p95, "ms")
    yield Line(part, "lamina p50, every word new and spelling corrected", anew, "ms", most=most)
    yield Line(part, "lamina p95, every word new and spelling corrected", measured.lamina_anew.p95, "ms")
    yield Line(part, "lamina p50, a word in 5 documents", measured.lamina_rare.p50, "ms")
    for name, times in (
        ("lamina, BM25 alone", measured.lamina_alone),
        ("bm25s retrieve, BM25 alone", measured.bm25s_alone),
        ("rank-bm25 get_scores, BM25 alone", measured.rank_bm25_alone),
        ("bm25s tokenize and retrieve", measured.bm25s_whole),
        ("SQLite FTS5", measured.fts5_whole),
    ):
        if times is not None:
            yield Line(part, f"{name} p50", times.p50, "ms")
            yield Line(part, f"{name} p95", times.p95, "ms")
    if measured.rank_bm25_alone is not None:
        scores = measured.rank_bm25_alone.p50
        yield Line(part, "BM25 alone, times faster than rank-bm25 get_scores", scores / alone, "×", least=least)
        yield Line(part, "every word new, times faster than rank-bm25 get_scores", scores / anew, "×")
    ratio = measured.bm25s_alone.p50 / alone
    yield Line(part, "BM25 alone, times faster than bm25s retrieve", ratio, "×", least=1.0)
    # Without a bound: the others remember no query, correct no spelling and look up one term a word.
    whole = measured.bm25s_whole.p50
    yield Line(part, "asked before, times faster than bm25s tokenize and retrieve", whole / again, "×")
    yield Line(part, "every word new, times faster than bm25s tokenize and retrieve", whole / anew, "×")


def lamina(scope: ScopePostings, corpus: Enlarged) -> AskText:
    """The first `TOP` as a search ranks them."""

    def ask(query: str) -> object:
        hits = rank(scope, query, text_of=corpus.text)
        top = hits.best(TOP)
        return hits.found[top], hits.steps[top]

    return ask


def lamina_alone(scope: ScopePostings) -> AskTokens:
    """The first `TOP` by the stems of words alone, nothing remembered."""

    def retrieve(tokens: Tokens) -> object:
        lists = [scope.posting_list(token) for token in tokens]
        found, scores = add_up([(each.documents, each.impacts, 1.0) for each in lists], scope.whole.count)
        top = top_k(np.rint(scores * SCORE_STEPS).astype(np.int64), TOP)
        return found[top], scores[top]

    return retrieve


def bm25s_alone(texts: Sequence[Tokens]) -> AskTokens:
    """The first `TOP` of bm25s."""
    engine = bm25s.BM25()
    engine.index(texts, show_progress=False)
    top = min(TOP, len(texts))
    return lambda tokens: engine.retrieve([tokens], k=top, show_progress=False, n_threads=0)


def fts5(corpus: Enlarged, size: int) -> AskText:
    """The first `TOP` of SQLite FTS5 with the Porter tokeniser, the title counting five times; words joined by OR."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE texts USING fts5(title, body, tokenize='porter')")
    rows = ((number, corpus.title(number), corpus.text(number)) for number in range(size))
    database.executemany("INSERT INTO texts(rowid, title, body) VALUES (?, ?, ?)", rows)
    statement = f"SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY bm25(texts, 5, 1), rowid LIMIT {TOP}"  # noqa: S608
    stop_words = frozenset(STOPWORDS_EN)

    def ask(query: str) -> object:
        words = [f'"{word}"' for word in re.findall(r"\w+", query.lower()) if word not in stop_words]
        return database.execute(statement, (" OR ".join(words),)).fetchall()

    return ask


def _timed(ask: Callable[[Q], object], queries: Sequence[Q]) -> Times:
    """Each query's best of some rounds, so that what else the machine does counts less."""
    best = np.full(len(queries), np.inf)
    for _ in range(_ROUNDS):
        for number, query in enumerate(queries):
            started = time.perf_counter()
            ask(query)
            best[number] = min(best[number], time.perf_counter() - started)
    return Times(tuple(float(seconds) for seconds in best * 1000))
