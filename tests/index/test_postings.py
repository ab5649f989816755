"""Postings in a snapshot against themselves, and those of a scope against a plain selection of them."""

from __future__ import annotations

from unittest import mock

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lamina.index import scope_postings
from lamina.index.arrays import packed, unpacked
from lamina.index.postings import Postings, starts_of
from lamina.index.scope_postings import ScopePostings

DOCUMENTS = 9
# Terms as they are sorted: plain, exact form, head, plain again.
VOCABULARY = ("2", "=ab", "^a", "^c", "a", "b")
rows = st.lists(st.integers(0, DOCUMENTS - 1), unique=True, max_size=DOCUMENTS).map(sorted)
tables = st.lists(rows, min_size=len(VOCABULARY), max_size=len(VOCABULARY))
masks = st.lists(st.booleans(), min_size=DOCUMENTS, max_size=DOCUMENTS)


def postings(table: list[list[int]]) -> Postings:
    documents = [document for row in table for document in row]
    return Postings(
        VOCABULARY,
        starts_of(np.array([len(row) for row in table])),
        np.array(documents, dtype=np.int32),
        np.array([1 + document % 3 for document in documents], dtype=np.uint16),
        np.arange(4, 4 + DOCUMENTS, dtype=np.int64),
        np.arange(DOCUMENTS, 0, -1, dtype=np.int64),
    )


@given(st.lists(st.one_of(st.integers(0, 300), st.integers(65_500, 70_000), st.integers(0, 2**31 - 1))))
def test_an_array_comes_back_from_a_snapshot_as_it_was(values: list[int]) -> None:
    array = np.array(values, dtype=np.int64)
    assert unpacked(packed(array), np.int64).tolist() == values
    assert unpacked(packed(array), np.int32).tolist() == values


@given(tables)
def test_postings_come_back_from_a_snapshot_as_they_were(table: list[list[int]]) -> None:
    before = postings(table)
    after = Postings.from_data(before.to_data())
    for name in ("starts", "documents", "frequencies", "lengths", "head_lengths"):
        assert getattr(after, name).tolist() == getattr(before, name).tolist()
    assert after.vocabulary == before.vocabulary


@given(tables, masks)
def test_a_scope_holds_the_masked_documents_alone(table: list[list[int]], inside: list[bool]) -> None:
    scope = ScopePostings.of(postings(table), np.array(inside))
    for term, row in zip(VOCABULARY, table, strict=True):
        expected = [document for document in row if inside[document]]
        assert scope.posting_list(term).documents.tolist() == expected
        assert scope.document_frequency(term) == len(expected)


@given(tables, masks, st.integers(1, 12))
def test_impacts_are_the_same_worked_out_in_small_blocks(table: list[list[int]], inside: list[bool], size: int) -> None:
    whole, mask = postings(table), np.array(inside)
    expected = ScopePostings.of(whole, mask).impacts.tolist()
    with mock.patch.object(scope_postings, "_BLOCK", size):
        assert ScopePostings.of(whole, mask).impacts.tolist() == expected
