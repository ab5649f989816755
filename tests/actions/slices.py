"""Filters with what they mean, said again without the product."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tests.corpora import Fact

KINDS = ["canon", "docs", "journals", "essays", "apocrypha"]
DEFAULT_KINDS = ("canon", "docs", "essays")

Slice = tuple[dict[str, Any], Callable[[Fact], bool]]


def slices(facts: tuple[Fact, ...]) -> Iterator[Slice]:
    """Every filter alone, and some together, each with the documents that pass it."""
    for axis, values in (
        ("audience", ("canon", "docs", "public", "odd", "operators", "apocrypha")),
        ("exposure", ("nav", "public", "draft", "hidden", "internal")),
        ("tier", (1, 2, 3, 4)),
        ("public", (True, False)),
        ("start_here", (True, False)),
    ):
        for value in values:
            yield {axis: value}, _holding(axis, value)
    for kind in KINDS:
        yield {"include": kind}, _of_kind(kind)
        yield {"exclude": kind}, _of_kind(*(other for other in DEFAULT_KINDS if other != kind))
    yield {}, _default
    yield {"tier": [1, 3]}, _holding("tier", 1, 3)
    yield {"audience": ["canon", "odd"]}, _holding("audience", "canon", "odd")
    yield {"path_prefix": "canon/"}, _under("canon/")
    yield {"path_prefix": ["writings/", "docs/"]}, _under("writings/", "docs/")
    yield {"include": KINDS}, _of_kind(*KINDS)
    yield {"include": ["canon", "journals"], "exclude": ["canon"]}, _of_kind("journals")
    yield (
        {"audience": "canon", "tier": [1, 2], "include": ["canon"]},
        lambda fact: fact.kind == "canon" and fact.has("audience", "canon") and fact.has("tier", 1, 2),
    )
    tags = [fact.metadata.get("tags") for fact in facts]
    first, second = next(tag for tag in tags if isinstance(tag, list) and len(tag) > 1)[:2]
    yield (
        {"tags": [first, second], "include": KINDS},
        lambda fact: fact.has("tags", first) and fact.has("tags", second),
    )


def _default(fact: Fact) -> bool:
    return fact.kind in DEFAULT_KINDS


def _holding(axis: str, *values: Any) -> Callable[[Fact], bool]:
    if isinstance(values[0], bool):
        return lambda fact: _default(fact) and fact.metadata.get(axis) is values[0]
    return lambda fact: _default(fact) and fact.has(axis, *values)


def _of_kind(*kinds: str) -> Callable[[Fact], bool]:
    return lambda fact: fact.kind in kinds


def _under(*prefixes: str) -> Callable[[Fact], bool]:
    return lambda fact: _default(fact) and fact.path.startswith(prefixes)
