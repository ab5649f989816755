"""Which passages answer a query within a budget, and what was left out by which bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lamina.contract.ids import SHORT_DIGEST, without_suffix
from lamina.contract.ports import SourceFile
from lamina.contract.tokens import count_tokens
from lamina.index.build import SourceRevision, build
from lamina.index.parsed import ParseCache
from lamina.index.scope_postings import ScopePostings
from lamina.index.snapshot import Origin, Snapshot
from lamina.knowledge.citation import cut
from lamina.knowledge.note import NOTES
from lamina.knowledge.protocol import Budget, FactName, Query, Response, encoded
from lamina.knowledge.workspace import Digests, WorkspaceFiles
from lamina.ranking.highlight import HighlightTerms
from lamina.ranking.rank import rank

PASSAGE_BYTES: Final = 2000
"""A passage is at most so long where the budget allows it: a section, not a document."""
LEAST_PASSAGE_BYTES: Final = 240
# What a passage's text costs more in JSON, and what stands around it; a first guess, the true size is counted.
_ENCODED_SHARE: Final = 1.1
_AROUND_BYTES: Final = 260
_BYTES_A_TOKEN: Final = 3
_LINE_END: Final = 1
"""A command line prints the response with a line feed."""


@dataclass(frozen=True)
class WorkspaceIndex:
    """The committed files of a workspace, ready to be asked. `facts` has an entry a document."""

    snapshot: Snapshot
    facts: tuple[FactName, ...]
    cache: ParseCache | None = field(repr=False)

    @cached_property
    def _every(self) -> ScopePostings:
        return ScopePostings.of(self.snapshot.postings)

    def postings(self, mask: NDArray[np.bool_]) -> ScopePostings:
        """The postings of some documents; those of all are worked out once."""
        return self._every if mask.all() else ScopePostings.of(self.snapshot.postings, mask)


@dataclass(frozen=True, slots=True)
class Basis:
    """What a query's answer rests on. `partial` marks a workspace that was never initialised."""

    head: str | None
    manifest: str
    policy: str
    partial: bool


@dataclass(slots=True)
class _Omitted:
    """Candidates that are not shown, by the bound that kept them out."""

    bytes: int = 0
    tokens: int = 0
    time: int = 0
    limit: int = 0

    def value(self) -> dict[str, int]:
        return {"bytes": self.bytes, "tokens": self.tokens, "time": self.time, "limit": self.limit}


def index_of(files: WorkspaceFiles, manifest: Digests, digest: str, cache: ParseCache | None) -> WorkspaceIndex:
    """The index of exactly the files that a manifest names; `cache` makes a changed workspace quick."""
    sealed = tuple(SourceFile(path, files.contents[path]) for path in manifest)
    source_revision = SourceRevision(Origin.BASELINE, digest[:SHORT_DIGEST], sealed, files.settings)
    snapshot, fresh = build([source_revision], cache)
    return WorkspaceIndex(snapshot, facts_of(snapshot), fresh)


def facts_of(snapshot: Snapshot) -> tuple[FactName, ...]:
    """The identity of each document."""
    return tuple(fact_of(path, str(snapshot.kind[number])) for number, path in enumerate(snapshot.paths))


def fact_of(path: str, kind: str) -> FactName:
    """The identity of a document: `note` below notes/, else its kind; the path without first folder and suffix."""
    folder, slash, rest = path.partition("/")
    return FactName(type="note" if path.startswith(NOTES) else kind, id=without_suffix(rest if slash else folder))


def query(
    index: WorkspaceIndex,
    files: WorkspaceFiles,
    operation: Query,
    facts: Sequence[FactName],
    basis: Basis,
    budget: Budget,
    is_late: Callable[[], bool],
) -> dict[str, Any]:
    """The result of a query, best passage first, one a document; `is_late` is asked before each passage.

    A candidate that does not fit is passed over and counted, and the next is tried. The counts of `omitted`
    add up to `additional_candidates`.
    """
    documents, highlights = _candidates(index, operation, facts)
    asked = documents[: operation.limit]
    omitted = _Omitted(limit=len(documents) - len(asked))
    room = budget.max_output_bytes - _size_without_passages(basis, len(documents)) - _LINE_END
    tokens_left = budget.max_tokens
    most_bytes = _passage_bytes(room, tokens_left, len(asked))
    passages: list[dict[str, Any]] = []
    for number, document in enumerate(asked):
        if is_late():
            omitted.time = len(asked) - number
            break
        passage = _passage(index, files, document, highlights, most_bytes)
        size = len(encoded(passage).encode()) + 1
        if size > room:
            omitted.bytes += 1
            continue
        if tokens_left is not None:
            tokens = count_tokens(passage["text"])
            if tokens > tokens_left:
                omitted.tokens += 1
                continue
            tokens_left -= tokens
        room -= size
        passages.append(passage)
    return _result(basis, passages, omitted.value(), len(documents) - len(passages))


def _candidates(index: WorkspaceIndex, operation: Query, facts: Sequence[FactName]) -> tuple[list[int], HighlightTerms]:
    """Every document of the selection that matches, best first: the selection comes before the ranking."""
    mask = _selected(index, operation.type, facts)
    if not mask.any():
        return [], ()
    snapshot = index.snapshot
    ranked = rank(index.postings(mask), operation.query, text_of=snapshot.body)
    return ranked.in_order.tolist(), ranked.highlight_terms


def _selected(index: WorkspaceIndex, kind: str | None, facts: Sequence[FactName]) -> NDArray[np.bool_]:
    wanted = {(fact.type, fact.id) for fact in facts}
    chosen = (
        (kind is None or fact.type == kind) and (not wanted or (fact.type, fact.id) in wanted) for fact in index.facts
    )
    return np.fromiter(chosen, np.bool_, len(index.facts))


def _passage(
    index: WorkspaceIndex, files: WorkspaceFiles, document: int, highlights: HighlightTerms, most_bytes: int
) -> dict[str, Any]:
    path = index.snapshot.paths[document]
    content = files.contents[path]
    shown = cut(content, content.decode(), highlights, most_bytes)
    fact = index.facts[document]
    return {
        "fact": {"type": fact.type, "id": fact.id},
        "path": path,
        "bytes": [shown.start, shown.end],
        "lines": [shown.first_line, shown.last_line],
        "sha256": files.digests[path],
        "text": content[shown.start : shown.end].decode(),
    }


def _passage_bytes(room: int, tokens: int | None, count: int) -> int:
    """How long a passage may be so that all that was asked for has a chance to fit."""
    each = int((room // max(count, 1) - _AROUND_BYTES) / _ENCODED_SHARE)
    if tokens is not None:
        each = min(each, tokens * _BYTES_A_TOKEN // max(count, 1))
    return max(LEAST_PASSAGE_BYTES, min(PASSAGE_BYTES, each))


def _size_without_passages(basis: Basis, candidates: int) -> int:
    """Bytes of the response around its passages, with every count at its longest."""
    counts = dict.fromkeys(_Omitted().value(), candidates)
    return len(Response(_result(basis, [], counts, candidates)).text().encode())


def _result(basis: Basis, passages: list[dict[str, Any]], omitted: dict[str, int], additional: int) -> dict[str, Any]:
    return {
        "head": basis.head,
        "source_manifest_sha256": basis.manifest,
        "policy_sha256": basis.policy,
        "partial": basis.partial,
        "passages": passages,
        "omitted": omitted,
        "additional_candidates": additional,
    }
