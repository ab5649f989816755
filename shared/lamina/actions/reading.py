"""What the retrieval actions are given to work with."""

from __future__ import annotations

from dataclasses import dataclass

from lamina.index.snapshot import Snapshot
from lamina.ranking.scope import Scopes


@dataclass(frozen=True, slots=True)
class Reading:
    """A snapshot with its scopes, and the name of the knowledge base that was asked for."""

    scopes: Scopes
    knowledge_base: str | None = None

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot that answers."""
        return self.scopes.snapshot
