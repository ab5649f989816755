"""Scores against two oracles: rank-bm25's base class, and an index that holds nothing but the scope."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.index.rank_bm25_oracle import PositiveBM25

from lamina.corpus.document import parse
from lamina.index.bm25 import add_up, inverse_document_frequency
from lamina.index.postings import Postings, document_terms, term_counts
from lamina.index.scope_postings import ScopePostings
from lamina.index.terms import HEAD_MARK
from lamina.ranking.rank import rank

WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "x1", "é"]
word_lists = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12)
corpora = st.lists(word_lists, min_size=1, max_size=9)

TEXTS = ["font", "fonts", "setting", "settings", "submit_typeset", "submit", "image", "figure", "resolution", "of"]
QUERIES = [*TEXTS, "resoluton", "setings", "typeset", "picture", "lineheight", "nowhere", '"of font"', "subm"]


@given(corpora, st.lists(st.sampled_from([*WORDS, "absent"]), max_size=8), st.booleans())
@settings(deadline=None)
def test_postings_score_like_the_rank_bm25_class(corpus: list[list[str]], query: list[str], in_head: bool) -> None:
    same = ["same", *WORDS, *WORDS]
    counted = [(same, words) if in_head else (words, same) for words in corpus]
    postings = Postings.build(term_counts(Counter(everywhere), Counter(head)) for everywhere, head in counted)
    scope = ScopePostings.of(postings)
    lists = [scope.posting_list(HEAD_MARK + term if in_head else term) for term in query]
    scores = np.zeros(postings.count)
    documents, sums = add_up([(each.documents, each.impacts, 1.0) for each in lists], postings.count)
    scores[documents] = sums
    np.testing.assert_allclose(scores, PositiveBM25(corpus).get_scores(query), atol=1e-9, rtol=0)


@given(corpora, st.lists(st.sampled_from([*WORDS, "absent"]), max_size=8))
@settings(deadline=None)
def test_the_rank_bm25_class_scores_by_the_formula_written_out(corpus: list[list[str]], query: list[str]) -> None:
    average = sum(map(len, corpus)) / len(corpus)
    expected = [0.0] * len(corpus)
    for term in query:
        found = sum(term in words for words in corpus)
        idf = math.log(1 + (len(corpus) - found + 0.5) / (found + 0.5))
        for number, words in enumerate(corpus):
            times = words.count(term)
            expected[number] += idf * times * 2.8 / (times + 1.8 * (0.25 + 0.75 * len(words) / average))
    assert PositiveBM25(corpus).get_scores(query).tolist() == pytest.approx(expected, abs=1e-9, rel=0)


@pytest.mark.parametrize(("found", "count", "idf"), [(0, 1, 1.386294), (1, 1, 0.287682), (3, 10, 1.145132)])
def test_the_idf_is_that_of_the_formula(found: int, count: int, idf: float) -> None:
    assert inverse_document_frequency(found, count) == pytest.approx(idf, abs=1e-6)


@given(st.integers(1, 100_000), st.data())
@settings(deadline=None)
def test_the_idf_is_positive_and_falls(count: int, data: st.DataObject) -> None:
    fewer = data.draw(st.integers(0, count - 1))
    assert inverse_document_frequency(fewer, count) > inverse_document_frequency(fewer + 1, count) > 0


@given(
    st.lists(st.tuples(st.lists(st.sampled_from(TEXTS), max_size=8), st.booleans()), min_size=1, max_size=8),
    st.lists(st.sampled_from(QUERIES), min_size=1, max_size=4),
    st.booleans(),
)
@settings(deadline=None, max_examples=150)
def test_a_scope_ranks_as_if_the_other_documents_did_not_exist(
    texts: list[tuple[list[str], bool]], words: list[str], prefix: bool
) -> None:
    documents = [parse(f"{n}.md", " ".join(text).encode()) for n, (text, _) in enumerate(texts)]
    mask = np.array([inside for _, inside in texts])
    inside = np.flatnonzero(mask)
    counted = [document_terms(document) for document in documents]
    whole = Postings.build(counted)
    alone = Postings.build(counted[number] for number in inside)
    query = " ".join(words)
    scoped = rank(ScopePostings.of(whole, mask), query, text_of=lambda n: documents[n].body, prefix=prefix)
    by_itself = rank(ScopePostings.of(alone), query, text_of=lambda n: documents[inside[n]].body, prefix=prefix)
    assert scoped.in_order.tolist() == inside[by_itself.in_order].tolist()
    assert scoped.scores.tolist() == pytest.approx(by_itself.scores.tolist(), abs=1e-9)
    assert scoped.coverage.tolist() == pytest.approx(by_itself.coverage.tolist(), abs=1e-9)
    assert scoped.match == by_itself.match


@given(st.text(), st.text(max_size=200))
@settings(deadline=None)
def test_no_text_and_no_query_breaks_ranking(body: str, query: str) -> None:
    document = parse("d.md", body.encode("utf-8", "replace"))
    postings = Postings.build([document_terms(document)])
    hits = rank(ScopePostings.of(postings), query, text_of=lambda _: body)
    assert (hits.scores > 0).all()
    assert ((hits.coverage >= 0) & (hits.coverage <= 1)).all()


@given(st.lists(st.lists(st.integers(0, 30), unique=True, max_size=12), max_size=6), st.integers(31, 2_000))
@settings(deadline=None)
def test_adding_up_few_and_many_gives_the_same(rows: list[list[int]], count: int) -> None:
    contributions = [(np.array(sorted(row), dtype=np.int32), np.full(len(row), 0.75), 2.0) for row in rows]
    documents, sums = add_up(contributions, count)
    expected = Counter(number for row in rows for number in row)
    assert documents.tolist() == sorted(expected)
    assert sums.tolist() == pytest.approx([1.5 * expected[number] for number in sorted(expected)])
