"""The index of a workspace, kept between processes: a command line would otherwise parse every file at each query."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lamina.contract.ports import ObjectStore, StoreUnavailable
from lamina.index.parsed import ANALYSIS, ParseCache
from lamina.index.signed import SnapshotRefused, sign, verify
from lamina.index.snapshot import Snapshot
from lamina.knowledge.query import WorkspaceIndex, facts_of

logger = logging.getLogger(__name__)

_SNAPSHOT, _PARSED = "index/snapshot", "index/parsed"


@dataclass(frozen=True, slots=True)
class IndexCache:
    """The newest index and what was parsed for it, signed; whatever does not verify is built again."""

    objects: ObjectStore
    signing_key: Callable[[], bytes]

    def find(self, manifest: str, policy: str) -> WorkspaceIndex | None:
        """The index of exactly this manifest under this policy."""
        data = self._opened(_SNAPSHOT)
        if data is None or (data["manifest"], data["policy"], data["analysis"]) != (manifest, policy, ANALYSIS):
            return None
        snapshot = Snapshot.from_data(data["snapshot"])
        return WorkspaceIndex(snapshot, facts_of(snapshot), None)

    def parsed(self) -> ParseCache | None:
        """What an earlier build made of each file."""
        data = self._opened(_PARSED)
        return None if data is None else ParseCache.from_data(data)

    def keep(self, index: WorkspaceIndex, manifest: str, policy: str) -> None:
        """Keeps an index for the next process; a store that fails is not the query's failure."""
        named = {"manifest": manifest, "policy": policy, "analysis": ANALYSIS}
        self._put(_SNAPSHOT, {**named, "snapshot": index.snapshot.to_data()}, len(index.snapshot))
        if index.cache is not None:
            self._put(_PARSED, index.cache.to_data(), len(index.cache.entries))

    def _put(self, key: str, data: dict[str, Any], documents: int) -> None:
        try:
            stored = sign(data, self.signing_key(), kind=key, documents=documents, revision="", config=ANALYSIS)
            self.objects.replace(key, stored)
        except StoreUnavailable as error:
            logger.warning("the index of the workspace is not kept: %s", error)

    def _opened(self, key: str) -> dict[str, Any] | None:
        try:
            stored = self.objects.get(key)
            return None if stored is None else verify(stored.content, self.signing_key(), kind=key)[1]
        except (StoreUnavailable, SnapshotRefused) as error:
            logger.warning("the kept index of the workspace is not used: %s", error)
            return None
