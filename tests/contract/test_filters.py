"""The shape of a set of filters: allow, then deny, and what of it is echoed."""

from __future__ import annotations

import pytest

from lamina.contract.filters import DEFAULT_INCLUDE, Filters, Kind


@pytest.mark.parametrize(
    ("include", "exclude", "kinds"),
    [
        ((), (), {"canon", "docs", "essays"}),
        ((Kind.JOURNALS,), (), {"journals"}),
        ((), (Kind.DOCS,), {"canon", "essays"}),
        ((), (Kind.JOURNALS,), {"canon", "docs", "essays"}),
        ((Kind.CANON, Kind.JOURNALS), (Kind.CANON,), {"journals"}),
        ((Kind.CANON,), (Kind.CANON,), set()),
    ],
)
def test_include_allows_and_then_exclude_denies(
    include: tuple[Kind, ...], exclude: tuple[Kind, ...], kinds: set[str]
) -> None:
    assert Filters(include=include, exclude=exclude).kinds == kinds


def test_there_are_five_kinds_and_three_are_the_default() -> None:
    assert set(Kind) == {"canon", "docs", "journals", "essays", "apocrypha"}
    assert DEFAULT_INCLUDE == ("canon", "docs", "essays")


def test_only_active_filters_are_echoed_and_as_arrays() -> None:
    assert Filters().echo() == {"include": ["canon", "docs", "essays"]}
    full = Filters(
        audience=("canon",),
        exposure=("nav", "public"),
        tier=(1,),
        public=False,
        start_here=True,
        path_prefix=("docs/",),
        tags=("x",),
        include=(Kind.DOCS,),
        exclude=(Kind.CANON,),
        exclude_invalidated=True,
    )
    assert full.echo() == {
        "include": ["docs"],
        "exclude": ["canon"],
        "audience": ["canon"],
        "exposure": ["nav", "public"],
        "path_prefix": ["docs/"],
        "tags": ["x"],
        "tier": [1],
        "public": [False],
        "start_here": [True],
        "exclude_invalidated": [True],
    }
