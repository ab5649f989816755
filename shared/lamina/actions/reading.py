"""What the retrieval actions are given to work with."""

from __future__ import annotations

from dataclasses import dataclass

from lamina.index.snapshot import Snapshot
from lamina.ranking.scope import Scopes


@dataclass(frozen=True, slots=True)
class Reading:
    """A snapshot with its scopes, and the name of the knowledge base that was asked for.

    `stale` says that a newer snapshot may exist but could not be had; a page counts that word in its budget.
    """

    scopes: Scopes
    knowledge_base: str | None = None
    stale: bool = False

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot that answers."""
        return self.scopes.snapshot
