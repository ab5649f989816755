"""The structural axes of a slice: kinds, canonical values, and the shape of a set of filters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What role a document plays. Five, fixed for all repositories."""

    CANON = "canon"
    DOCS = "docs"
    JOURNALS = "journals"
    ESSAYS = "essays"
    APOCRYPHA = "apocrypha"


KINDS: Mapping[str, Kind] = {kind.value: kind for kind in Kind}

# Journals and apocrypha record how things came to be; they appear when asked for.
DEFAULT_INCLUDE = (Kind.CANON, Kind.DOCS, Kind.ESSAYS)

AUDIENCES = ("canon", "docs", "public", "odd", "operators", "apocrypha")
EXPOSURES = ("nav", "public", "draft", "hidden", "internal")
DRAFT, HIDDEN = "draft", "hidden"
"""Exposures of what is not, or not yet, for everybody to find."""
TIERS = (1, 2, 3, 4)

# The parameters that select a slice: what a category filter is pointed to, and what no call by URI takes.
STRUCTURAL_FILTERS = (
    "audience",
    "exposure",
    "tier",
    "public",
    "start_here",
    "path_prefix",
    "language",
    "include",
    "exclude",
)
FILTERS = (*STRUCTURAL_FILTERS, "tags")
UNSUPPORTED_FILTERS = ("category", "categories", "tag")


@dataclass(frozen=True, slots=True)
class Filters:
    """Alternatives within an axis, "and" between axes; an empty tuple or None does not filter.

    `include` and `exclude` are what the caller sent; `kinds` is what they come to.
    """

    audience: tuple[str, ...] = ()
    exposure: tuple[str, ...] = ()
    tier: tuple[int, ...] = ()
    public: bool | None = None
    start_here: bool | None = None
    path_prefix: tuple[str, ...] = ()
    language: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    include: tuple[Kind, ...] = ()
    exclude: tuple[Kind, ...] = ()
    exclude_invalidated: bool = False

    @property
    def included(self) -> tuple[Kind, ...]:
        """The allow list: what was sent, else the default."""
        return self.include or DEFAULT_INCLUDE

    @property
    def kinds(self) -> frozenset[Kind]:
        """First allow, then deny."""
        return frozenset(self.included) - frozenset(self.exclude)

    def echo(self) -> dict[str, list[str] | list[int] | list[bool]]:
        """The active filters as arrays, `include` always: the envelope's `filters_applied`."""
        active: dict[str, list[str] | list[int] | list[bool]] = {"include": [str(kind) for kind in self.included]}
        if self.exclude:
            active["exclude"] = [str(kind) for kind in self.exclude]
        for axis in ("audience", "exposure", "path_prefix", "language", "tags"):
            if values := getattr(self, axis):
                active[axis] = list(values)
        if self.tier:
            active["tier"] = list(self.tier)
        for axis in ("public", "start_here"):
            if (flag := getattr(self, axis)) is not None:
                active[axis] = [flag]
        if self.exclude_invalidated:
            active["exclude_invalidated"] = [True]
        return active
