"""Decides which documents a call searches, with the statistics of that scope alone, and which pass its filters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamina.contract.errors import LaminaError
from lamina.contract.filters import AUDIENCES, EXPOSURES, TIERS, Filters, Kind
from lamina.contract.ids import folded_tag
from lamina.contract.request import SearchScope
from lamina.corpus.languages import LANGUAGES
from lamina.index.arrays import CodedColumn
from lamina.index.scope_postings import ScopePostings
from lamina.index.snapshot import Origin, Snapshot
from lamina.index.vectors import Vectors


@dataclass(frozen=True, slots=True)
class Scope:
    """The documents of one scope: a mask over the snapshot, and the same by origin.

    `searched` never holds two documents of one URI.
    """

    searched: NDArray[np.bool_]
    overlay: NDArray[np.bool_]
    postings: ScopePostings

    @property
    def overlay_count(self) -> int:
        """Documents of the overlay in scope."""
        return int(np.count_nonzero(self.overlay))

    @property
    def baseline_count(self) -> int:
        """Documents of the baseline (or the bundle) in scope."""
        return int(np.count_nonzero(self.searched)) - self.overlay_count


@dataclass(frozen=True)
class Scopes:
    """The scopes of one snapshot, each worked out once. `required` are the paths of the required governance files.

    `vectors` gives the vectors of its documents' pieces, which are read only when they are needed; None where the
    snapshot has none or they cannot be had.
    """

    snapshot: Snapshot
    required: tuple[str, ...]
    vectors: Callable[[], Vectors | None] = lambda: None
    _made: dict[SearchScope, Scope] = field(default_factory=dict)

    def __getitem__(self, scope: SearchScope) -> Scope:
        if scope not in self._made:
            self._made[scope] = _scope(self.snapshot, scope, self.required)
        return self._made[scope]

    @cached_property
    def overlay_postings(self) -> ScopePostings:
        """The postings of the overlay by itself, which say what it knows."""
        return ScopePostings.of(self.snapshot.postings, self.snapshot.mask(Origin.OVERLAY))


def _scope(snapshot: Snapshot, scope: SearchScope, required: Sequence[str]) -> Scope:
    overlay = snapshot.mask(Origin.OVERLAY)
    searched = overlay.copy()
    if scope == SearchScope.MERGED:
        searched |= snapshot.mask(Origin.BASELINE)
    elif scope == SearchScope.KB_WITH_REQUIRED_BASELINE:
        for path in required:
            found = required_document(snapshot, path)
            if found is not None:
                searched[found] = True
    _shadow(snapshot, searched)
    return Scope(
        searched=searched,
        overlay=overlay,
        postings=ScopePostings.of(snapshot.postings, searched),
    )


def required_document(snapshot: Snapshot, path: str, origins: Sequence[Origin] = tuple(Origin)) -> int | None:
    """The document that serves a required path: of the first origin that has it, overlay, baseline, bundle."""
    for origin in origins:
        for number in snapshot.with_path(path):
            if snapshot.origin[number] == origin:
                return number
    return None


def _shadow(snapshot: Snapshot, searched: NDArray[np.bool_]) -> None:
    """Leaves one document a URI: numbers run in order of (URI, origin), so the first of equals stays."""
    previous = ""
    for number in np.flatnonzero(searched):
        uri = snapshot.uris[number]
        if uri == previous:
            searched[number] = False
        previous = uri


def check_values(filters: Filters, snapshot: Snapshot) -> None:
    """Raises INVALID_FILTER_VALUE for a value that is neither canonical nor anywhere in the snapshot."""
    _check("audience", filters.audience, AUDIENCES, snapshot.audience)
    _check("exposure", filters.exposure, EXPOSURES, snapshot.exposure)
    _check("tier", filters.tier, TIERS, snapshot.tier)
    _check("language", filters.language, LANGUAGES, snapshot.language)


def passing(filters: Filters, snapshot: Snapshot) -> NDArray[np.bool_]:
    """Mask of the documents that match every filter; one that lacks a filtered field does not match."""
    kinds = filters.kinds
    mask = snapshot.kind.where(lambda kind: kind in kinds)
    for wanted, column in (
        (filters.audience, snapshot.audience),
        (filters.exposure, snapshot.exposure),
        (filters.tier, snapshot.tier),
        (filters.language, snapshot.language),
    ):
        if wanted:
            mask &= column.where(frozenset(wanted).intersection)
    if filters.public is not None:
        mask &= snapshot.public.where(lambda value: value is filters.public)
    if filters.start_here is not None:
        mask &= snapshot.start_here.where(lambda value: value is filters.start_here)
    if filters.tags:
        mask &= snapshot.tags.where(_carrying(filters.tags))
    if filters.exclude_invalidated:
        mask &= snapshot.invalidated.where(lambda value: value is False)
    if filters.path_prefix:
        mask &= np.fromiter((path.startswith(filters.path_prefix) for path in snapshot.paths), np.bool_, len(snapshot))
    return mask


def left_out_by(filters: Filters, snapshot: Snapshot, documents: NDArray[np.int32]) -> dict[str, int]:
    """How many of the documents each filter leaves out: a kind that is not allowed by its name, else the filter's.

    Each document is counted once, under the first that leaves it out.
    """
    allowed = snapshot.kind.where(filters.kinds.__contains__)[documents]
    of_kind = np.bincount(snapshot.kind.codes[documents[~allowed]], minlength=len(snapshot.kind.values))
    counts = Counter({str(snapshot.kind.values[code]): int(of_kind[code]) for code in np.flatnonzero(of_kind)})
    rest = documents[allowed]
    every = Filters(include=tuple(Kind))
    for axis in fields(filters):
        if axis.name in ("include", "exclude") or getattr(filters, axis.name) == getattr(every, axis.name):
            continue
        passed = passing(replace(every, **{axis.name: getattr(filters, axis.name)}), snapshot)[rest]
        if not passed.all():
            counts[axis.name] = int(np.count_nonzero(~passed))
        rest = rest[passed]
    return dict(counts.most_common())


def _carrying(wanted: Sequence[str]) -> Callable[[Sequence[str]], bool]:
    """Whether tags hold all that are wanted, each as it is or as the parent of one: `project` of `project/alpha`."""
    asked = [folded_tag(tag) for tag in wanted]

    def carries(tags: Sequence[str]) -> bool:
        carried = {folded_tag(tag) for tag in tags}
        return all(tag in carried or any(other.startswith(f"{tag}/") for other in carried) for tag in asked)

    return carries


def _check(axis: str, asked: Iterable[Any], canonical: Sequence[Any], column: CodedColumn) -> None:
    unknown = [value for value in asked if value not in canonical]
    if not unknown:
        return
    occurring = {value for values in column.values for value in values}
    for value in unknown:
        if value not in occurring:
            possible = [*canonical, *sorted(occurring - set(canonical))]
            shown = ", ".join(str(value) for value in possible)
            raise LaminaError(
                "INVALID_FILTER_VALUE",
                f"{axis} {value!r} is neither canonical nor used by any document here. Possible: {shown}.",
                parameter=axis,
                requested_value=value,
                possible_values=possible,
            )
