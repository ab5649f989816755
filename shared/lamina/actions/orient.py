"""orient: where to start in a knowledge base, for a run that has no task yet. A tool alone; it has no route."""

from __future__ import annotations

from typing import Any, ClassVar, Final

import numpy as np

from lamina.actions.action import Action, QueryContext
from lamina.actions.entry import SOURCE, floor
from lamina.actions.ranked import ranked_facts
from lamina.contract.envelope import FOUND, Answer
from lamina.contract.filters import DRAFT, HIDDEN, Kind
from lamina.contract.request import Request, SearchScope
from lamina.contract.schema import REVISION, STALE, TEXT, AnswerField, list_of, object_of, opening
from lamina.governance.manifest import required_files
from lamina.governance.resolution import GOVERNANCE_SOURCE, lowest, read_required
from lamina.index.snapshot import Snapshot
from lamina.ranking.scope import Scope

GOVERNANCE, START, JOURNAL = "governance", "start_here", "journal"
MOST_STARTS: Final = 10
MOST_JOURNALS: Final = 5


class OrientRequest(Request):
    """The parameters of orient."""

    action: ClassVar[str] = "orient"


def orient(request: OrientRequest, context: QueryContext) -> Answer:
    """The governance documents, the pages that ask to be read first, and the newest journals, each once."""
    snapshot, scope = context.snapshot, context.scopes[SearchScope.MERGED]
    governing, tiers = [], []
    for required in required_files():
        # An optional file that is nowhere is none of the places to start; the others raise.
        where = SearchScope.KB_ONLY if required.optional else SearchScope.MERGED
        found, tier = read_required(snapshot, required.path, where, context.knowledge_base)
        tiers += [] if required.optional else [tier]
        governing += [] if found is None else [found]
    roles: dict[int, str] = {}
    for role, numbers in (
        (GOVERNANCE, governing),
        (START, _starts(snapshot, scope)),
        (JOURNAL, _newest(snapshot, scope)),
    ):
        for number in numbers:
            roles.setdefault(number, role)
    with_source = request.knowledge_base_url is not None
    envelope: dict[str, Any] = {
        "status": FOUND,
        "action": request.action,
        "data": [{**floor(snapshot, number, with_source=with_source), "role": role} for number, role in roles.items()],
        "governance_source": str(lowest(tiers)),
        "revision": str(snapshot.revision),
    }
    named = scope.overlay[np.array(list(roles), dtype=np.int64)]
    return Answer(envelope, snapshot.revision, ranked_facts(scope, hits=named))


def _starts(snapshot: Snapshot, scope: Scope) -> list[int]:
    """The documents of the scope that ask to be read first."""
    asking = scope.searched & snapshot.start_here.where(lambda value: value is True)
    return [int(number) for number in np.flatnonzero(asking)[:MOST_STARTS]]


def _newest(snapshot: Snapshot, scope: Scope) -> list[int]:
    """The newest dated journals that are for others to find."""
    unseen = snapshot.exposure.where(lambda values: DRAFT in values or HIDDEN in values)
    journals = np.flatnonzero(scope.searched & snapshot.kind.where(lambda kind: kind == Kind.JOURNALS) & ~unseen)
    dated = [int(number) for number in journals if snapshot.dates[number] is not None]
    return sorted(dated, key=lambda number: snapshot.dates[number] or "", reverse=True)[:MOST_JOURNALS]


_ENTRY = object_of(
    AnswerField("uri", TEXT, "the document's address, for get"),
    AnswerField("title", TEXT, "its title"),
    AnswerField("source", SOURCE, "where it comes from; with a knowledge base", always=False),
    AnswerField("role", {"type": "string", "enum": [GOVERNANCE, START, JOURNAL]}, "why it is here"),
)

ACTION = Action(
    OrientRequest.action,
    "Where to start: governance, start pages, newest journals.",
    OrientRequest,
    orient,
    object_of(
        *opening(OrientRequest.action, FOUND), AnswerField("data", list_of(_ENTRY)), GOVERNANCE_SOURCE, REVISION, STALE
    ),
    takes_prefix=False,
)
