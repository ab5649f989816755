"""What an answer reports of itself: corpus sizes, hits by origin, and what the old shape would have cost."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from lamina.contract.envelope import CallFacts
from lamina.index.snapshot import Snapshot
from lamina.ranking.scope import Scope

_FLOOR, _METADATA = 0, 2
MOST_TOP = 5
"""Hits whose origin is recorded as that of the top."""


def scope_facts(scope: Scope, *, legacy: int | None = None) -> CallFacts:
    """Facts of a list-shaped answer."""
    overlay, baseline = scope.overlay_count, scope.baseline_count
    return CallFacts(overlay + baseline, overlay, baseline, tokens_legacy_equivalent=legacy)


def ranked_facts(scope: Scope, *, hits: NDArray[np.bool_], top: NDArray[np.bool_], legacy: int) -> CallFacts:
    """Facts of a ranked answer; `hits` has an entry a match, `top` one for each of the first: is it of the overlay."""
    overlay, baseline = scope.overlay_count, scope.baseline_count
    return CallFacts(
        index_size=overlay + baseline,
        overlay_documents=overlay,
        baseline_documents=baseline,
        overlay_hits=int(np.count_nonzero(hits)),
        baseline_hits=int(np.count_nonzero(~hits)),
        overlay_hits_in_top_5=int(np.count_nonzero(top)),
        baseline_hits_in_top_5=int(np.count_nonzero(~top)),
        tokens_legacy_equivalent=legacy,
    )


def legacy_tokens(snapshot: Snapshot, documents: Iterable[int]) -> int:
    """cl100k_base tokens of the documents in the old shape: URI, title and whole frontmatter of each."""
    rows = snapshot.tokens[list(documents)]
    return int(rows[:, [_FLOOR, _METADATA]].sum())
