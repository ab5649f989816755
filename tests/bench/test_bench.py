"""The benchmark's own parts: a larger corpus is indexed as a build would index it, and a bound is judged rightly."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tests.bench.agent import agent
from tests.bench.bm25s_words import bm25s_words
from tests.bench.engines import ENGINES
from tests.bench.enlarged import RARE_DOCUMENTS, RARE_WORDS, enlarged
from tests.bench.figures import Line, percentile
from tests.bench.growth import bm25s_alone, fts5, growth, lamina, lamina_alone
from tests.bench.indexes import ENGINES as INDEXES
from tests.bench.indexes import Text
from tests.conftest import Corpus
from tests.corpora import CHECKOUT, page

from lamina.corpus.document import parse
from lamina.index.postings import Postings, term_counts
from lamina.index.scope_postings import ScopePostings
from lamina.index.terms import words

BODY = (
    "A paragraph of more than eight words, number {}, which says something else.\n\nAnother of {} and_so_on words too."
)
DOCUMENTS = [parse(f"{n}.md", page(f"Title {n}", BODY.format(f"{n} " * 3, n)).encode()) for n in range(9)]


def test_an_enlarged_corpus_has_the_postings_that_a_build_gives_its_texts() -> None:
    corpus = enlarged(DOCUMENTS, 40)
    counted = []
    for number in range(40):
        title, body = (
            Counter(each.name for word in words(text) for each in (word.whole, *word.parts))
            for text in (corpus.title(number), corpus.text(number))
        )
        counted.append(term_counts(title + body, title))
    built = Postings.build(counted)
    assert built.count == corpus.postings.count == 40
    for number, term in enumerate(built.vocabulary):
        other = corpus.postings.numbers[term]
        expected, found = built.place(number), corpus.postings.place(other)
        assert np.array_equal(built.documents[expected], corpus.postings.documents[found])
        assert np.array_equal(built.frequencies[expected], corpus.postings.frequencies[found])
    assert np.array_equal(built.lengths, corpus.postings.lengths)
    assert np.array_equal(built.head_lengths, corpus.postings.head_lengths)


def test_a_rare_word_stays_as_rare_in_a_larger_corpus() -> None:
    for size in (40, 400):
        postings = enlarged(DOCUMENTS, size).postings
        rows = [postings.place(postings.numbers[term]) for term in postings.numbers if term.startswith(RARE_WORDS)]
        assert len(rows) == len(RARE_WORDS)
        assert {row.stop - row.start for row in rows} == {RARE_DOCUMENTS}


@pytest.mark.parametrize(
    ("value", "most", "least", "holds"),
    [(5, None, None, None), (5, 5, None, True), (6, 5, None, False), (5, None, 5, True), (4, None, 5, False)],
)
def test_a_bound_holds_up_to_itself(value: float, most: float | None, least: float | None, holds: bool | None) -> None:
    assert Line("part", "what", value, "ms", most=most, least=least).holds is holds


@pytest.mark.parametrize("engine", ENGINES)
def test_each_engine_finds_a_word_of_one_document(engine: str) -> None:
    texts = ["rain on the roof", "a kettle, a saucer and a spoon", "wind", "snow", "hail"]
    search = ENGINES[engine]([parse(f"{n}.md", page(f"Note {n}", text).encode()) for n, text in enumerate(texts)])
    assert list(search("kettle")) == [1]
    assert list(search("?! ...")) == []


@pytest.mark.parametrize("engine", INDEXES)
def test_an_index_of_each_engine_is_opened_and_asked_in_a_fresh_process(engine: str, tmp_path: Path) -> None:
    contents = [page(f"Note {n}", "a kettle" if n == 7 else "rain on the roof") for n in range(30)]
    texts = [Text(f"{n:02}.md", content.encode(), content) for n, content in enumerate(contents)]
    INDEXES[engine].write(texts, tmp_path)
    command = [sys.executable, "-m", "tests.bench.indexes", engine, str(tmp_path), "kettle"]
    figures = json.loads(subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout)
    assert figures["total"] == pytest.approx(figures["import"] + figures["open"] + figures["answer"])
    assert figures["memory"] > 1
    assert INDEXES[engine].read(tmp_path)("kettle")[0] == 7


def test_a_percentile_is_a_value_that_was_measured() -> None:
    assert percentile([4, 1, 3, 2], 0.5) == 3
    assert percentile([1], 0.95) == 1


def test_what_is_timed_finds_the_same_documents() -> None:
    corpus = enlarged(DOCUMENTS, 40)
    scope = ScopePostings.of(corpus.postings)
    query = f"Is it {RARE_WORDS[0]}?"
    (tokens,) = bm25s_words([query])
    assert tokens == [RARE_WORDS[0]]
    expected = {number for number in range(40) if RARE_WORDS[0] in corpus.text(number)}
    texts = bm25s_words([corpus.text(number) for number in range(40)])
    documents, scores = bm25s_alone(texts)(tokens)
    assert set(documents[scores > 0].tolist()) == expected
    assert set(lamina_alone(scope)(tokens)[0].tolist()) == expected
    assert set(lamina(scope, corpus)(query)[0].tolist()) == expected
    assert {number for (number,) in fts5(corpus, 40)(query)} == expected


def test_growth_times_every_engine_on_the_queries_that_tell_something() -> None:
    lines = {line.what: line for line in growth(DOCUMENTS, ["another paragraph", "the", "quokkas"], [40])}
    assert {line.part for line in lines.values()} == {"Ranking alone at 40 documents, 2 queries"}
    assert all(line.value > 0 for line in lines.values())
    bounded = [what for what, line in lines.items() if line.holds is not None]
    assert bounded == ["BM25 alone, times faster than bm25s retrieve"]


def test_an_agent_reads_every_fact_of_the_sample_within_the_bounds(sample: Corpus) -> None:
    lines = list(agent(sample.deployed))
    assert [line.what for line in lines if line.holds is False] == []
    assert sum(line.holds is True for line in lines) == 3
