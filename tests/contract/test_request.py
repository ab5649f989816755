"""Requests: what is refused first, and what the shared parameters come to."""

from __future__ import annotations

from typing import Any

import pytest

from lamina.actions.catalog import CatalogRequest
from lamina.actions.get import GetRequest
from lamina.actions.search import SearchRequest
from lamina.contract.disclosure import Flag
from lamina.contract.errors import LaminaError
from lamina.contract.request import Grouping, SearchScope


def code_of(model: Any, **arguments: Any) -> str:
    with pytest.raises(LaminaError) as raised:
        model.of(arguments)
    return raised.value.kind.code


def test_an_empty_request_has_the_defaults_of_the_contract() -> None:
    request = CatalogRequest.of({})
    assert (request.limit, request.offset, request.flags) == (25, 0, ())
    assert request.filters().echo() == {"include": ["canon", "docs", "essays"]}
    assert GetRequest.of({"uri": "a"}).flags == (Flag.BODY,)


def test_null_is_not_given() -> None:
    assert CatalogRequest.of({"limit": None, "audience": None}) == CatalogRequest.of({})


def test_the_whole_request_is_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        CatalogRequest.of({}).limit = 3


@pytest.mark.parametrize(
    ("arguments", "grouping"),
    [
        ({}, Grouping.MERGED),
        ({"knowledge_base_url": "x"}, Grouping.OVERLAY_FIRST),
        ({"knowledge_base_url": "x", "result_grouping": "grouped"}, Grouping.GROUPED),
        ({"result_grouping": "overlay_preferred"}, Grouping.OVERLAY_PREFERRED),
    ],
)
def test_the_overlay_comes_first_where_there_is_one(arguments: dict[str, str], grouping: Grouping) -> None:
    assert SearchRequest.of({"query": "a", **arguments}).grouping == grouping


@pytest.mark.parametrize(
    ("arguments", "scope"),
    [
        ({}, SearchScope.MERGED),
        ({"baseline_in_search": True}, SearchScope.MERGED),
        ({"baseline_in_search": False}, SearchScope.KB_WITH_REQUIRED_BASELINE),
        ({"include_full_baseline": "false"}, SearchScope.KB_WITH_REQUIRED_BASELINE),
        ({"include_full_baseline": True, "baseline_in_search": True}, SearchScope.MERGED),
        ({"search_scope": "kb_only"}, SearchScope.KB_ONLY),
        (
            {"search_scope": "kb_with_required_baseline", "baseline_in_search": False},
            SearchScope.KB_WITH_REQUIRED_BASELINE,
        ),
    ],
)
def test_the_older_booleans_mean_a_scope(arguments: dict[str, Any], scope: SearchScope) -> None:
    assert CatalogRequest.of({"knowledge_base_url": "x", **arguments}).scope == scope


def test_a_scope_that_is_the_default_needs_no_knowledge_base() -> None:
    assert CatalogRequest.of({"search_scope": "merged", "baseline_in_search": True}).scope == SearchScope.MERGED


@pytest.mark.parametrize("size", [131_072, 131_073])
def test_the_main_argument_is_bounded_in_bytes(size: int) -> None:
    if size == 131_072:
        assert len(SearchRequest.of({"query": "a" * size}).query) == size
    else:
        assert code_of(SearchRequest, query="a" * size) == "REQUEST_TOO_LARGE"
        assert code_of(SearchRequest, input="é" * (size // 2 + 1)) == "REQUEST_TOO_LARGE"


@pytest.mark.parametrize("revision", ["0123456789ab", "0123456789ab.fedcba987654"])
def test_a_revision_is_one_or_two_short_digests(revision: str) -> None:
    assert CatalogRequest.of({"revision": revision}).revision == revision


@pytest.mark.parametrize(
    "revision", ["0123456789a", "0123456789AB", "0123456789ab.", ".0123456789ab", "0123456789ab\n", "../../x"]
)
def test_anything_else_is_no_revision(revision: str) -> None:
    assert code_of(CatalogRequest, revision=revision) == "INVALID_PARAMETER"


def test_an_optional_text_that_is_empty_counts_as_not_given() -> None:
    request = CatalogRequest.of({"revision": "", "knowledge_base_url": "", "consumer": ""})
    assert (request.revision, request.knowledge_base_url, request.consumer) == (None, None, None)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"nonsense": 1, "limit": 0}, "INVALID_PARAMETER"),
        ({"category": "x", "disclosure": "body"}, "CATEGORY_FILTER_NOT_SUPPORTED"),
        ({"disclosure": "body", "limit": 9_999}, "DISCLOSURE_FLAG_NOT_PERMITTED"),
    ],
)
def test_of_several_faults_the_most_telling_is_told(arguments: dict[str, Any], code: str) -> None:
    assert code_of(CatalogRequest, **arguments) == code
