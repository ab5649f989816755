"""The resolution stack: a required file comes from the live knowledge base, the live baseline, or the bundle."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from lamina.contract.errors import LaminaError
from lamina.contract.request import SearchScope
from lamina.contract.schema import TEXT, AnswerField
from lamina.index.snapshot import ORIGINS, Origin, Snapshot
from lamina.ranking.scope import required_document


class GovernanceSource(StrEnum):
    """The lowest tier that served any file read, best first."""

    KNOWLEDGE_BASE = "knowledge_base"
    BUNDLED = "bundled"
    MINIMAL = "minimal"
    INCOMPLETE = "incomplete"


_ORDER = tuple(GovernanceSource)

GOVERNANCE_SOURCE = AnswerField(
    "governance_source",
    TEXT,
    f"the lowest tier that served a governance file: {', '.join(f'`{source}`' for source in GovernanceSource)}",
)


def lowest(sources: Iterable[GovernanceSource]) -> GovernanceSource:
    """The lowest of the tiers read; the knowledge base where nothing was."""
    return max(sources, key=_ORDER.index, default=GovernanceSource.KNOWLEDGE_BASE)


def read_required(
    snapshot: Snapshot, path: str, scope: SearchScope, knowledge_base: str | None
) -> tuple[int | None, GovernanceSource]:
    """The document that serves a required file in a scope, and the tier it is from.

    Under `kb_only` a missing file is None and `incomplete`. Elsewhere a file that no tier has raises
    REQUIRED_GOVERNANCE_MISSING.
    """
    if scope == SearchScope.KB_ONLY:
        found = required_document(snapshot, path, (Origin.OVERLAY,))
        return found, GovernanceSource.INCOMPLETE if found is None else GovernanceSource.KNOWLEDGE_BASE
    found = required_document(snapshot, path, ORIGINS)
    if found is None:
        where = f"the knowledge base {knowledge_base!r}, the baseline" if knowledge_base else "the baseline"
        raise LaminaError(
            "REQUIRED_GOVERNANCE_MISSING",
            f"the required file {path} is in no tier: not in {where}, and not bundled. Add it to the baseline.",
            path=path,
            knowledge_base=knowledge_base,
        )
    bundled = snapshot.origin[found] == Origin.BUNDLED
    return found, GovernanceSource.BUNDLED if bundled else GovernanceSource.KNOWLEDGE_BASE
