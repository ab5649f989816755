"""Which documents a call searches: the scope, after shadowing, with the statistics of that scope alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lamina.contract.request import SearchScope
from lamina.index.scope_postings import ScopePostings
from lamina.index.snapshot import Origin, Snapshot


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
    """The scopes of one snapshot, each worked out once. `required` are the paths of the governance floor."""

    snapshot: Snapshot
    required: tuple[str, ...]
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
            found = floor_document(snapshot, path)
            if found is not None:
                searched[found] = True
    _shadow(snapshot, searched)
    return Scope(
        searched=searched,
        overlay=overlay,
        postings=ScopePostings.of(snapshot.postings, searched),
    )


def floor_document(snapshot: Snapshot, path: str, origins: Sequence[Origin] = tuple(Origin)) -> int | None:
    """The document that serves a required path: of the first origin that has it, overlay, baseline, bundle."""
    for origin in origins:
        for number in snapshot.with_path(path):
            if snapshot.origin[number] == origin:
                return number
    return None


def _shadow(snapshot: Snapshot, searched: NDArray[np.bool_]) -> None:
    """Leaves one document a URI: numbers run in order of (URI, origin), so the first of equals is the one."""
    previous = ""
    for number in np.flatnonzero(searched):
        uri = snapshot.uris[number]
        if uri == previous:
            searched[number] = False
        previous = uri
