"""The legacy envelopes: their fields, for callers that still read them, and what they would have cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from lamina.actions.entry import Entry
from lamina.contract.envelope import Envelope
from lamina.index.snapshot import Snapshot
from lamina.ranking.scope import Scope

# A rollup is a courtesy to old callers; the long tail of tags would cost them the page.
_MOST_CATEGORIES = 50
_MOST_START_HERE = 25
_FLOOR, _METADATA = 0, 2
_SHOWN = ("uri", "title", "score", "snippet")


def search_fields(snapshot: Snapshot, documents: Sequence[int], entries: Sequence[Entry], searched: int) -> Envelope:
    """`hits`, with the path, tags and source of each document, and `docs_considered`."""
    hits = [
        {
            **{name: entry[name] for name in _SHOWN if name in entry},
            "path": snapshot.paths[number],
            "tags": list(snapshot.tags[number]),
            "source": str(snapshot.origin[number]),
        }
        for number, entry in zip(documents, entries, strict=True)
    ]
    return {"hits": hits, "docs_considered": searched}


def catalog_fields(snapshot: Snapshot, scope: Scope) -> Envelope:
    """`categories` (the commonest tags), `start_here` and `total_documents`."""
    tags = Counter(tag for number in np.flatnonzero(scope.searched) for tag in snapshot.tags[number])
    commonest = sorted(tags, key=lambda tag: (-tags[tag], tag))[:_MOST_CATEGORIES]
    return {
        "categories": [{"name": tag, "count": tags[tag]} for tag in commonest],
        "start_here": start_here(snapshot, scope),
        "total_documents": int(np.count_nonzero(scope.searched)),
    }


def start_here(snapshot: Snapshot, scope: Scope) -> list[dict[str, str]]:
    """The documents that ask to be read first."""
    first = np.flatnonzero(scope.searched & snapshot.start_here.where(lambda value: value is True))
    return [{"uri": snapshot.uris[n], "title": snapshot.titles[n]} for n in first[:_MOST_START_HERE]]


def legacy_tokens(snapshot: Snapshot, documents: Iterable[int]) -> int:
    """cl100k_base tokens of the documents in the legacy shape: URI, title and whole frontmatter of each."""
    rows = snapshot.tokens[list(documents)]
    return int(rows[:, [_FLOOR, _METADATA]].sum())
