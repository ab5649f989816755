"""resolve: one document by URI, after following what supersedes it to the end."""

from __future__ import annotations

from typing import Any, ClassVar

from lamina.actions.action import Action
from lamina.actions.document import absent, answered
from lamina.actions.reading import Reading
from lamina.contract.envelope import CIRCULAR_SUPERSESSION, Answer
from lamina.contract.request import DocumentRequest
from lamina.index.snapshot import Snapshot


class ResolveRequest(DocumentRequest):
    """The parameters of resolve."""

    action: ClassVar[str] = "resolve"


def resolve(request: ResolveRequest, reading: Reading) -> Answer:
    """The last document of the chain; a chain that closes on itself or ends in nothing is told with its links."""
    snapshot = reading.snapshot
    found = snapshot.find(request.uri)
    if found is None:
        return absent(request, reading, {"supersession_chain": []})
    links = [found]
    while (target := snapshot.superseded_by.get(links[-1])) is not None:
        following = _successor(snapshot, links[-1], target)
        if following is None:
            broken = {"supersession_chain": _chain(snapshot, links), "superseded_by": target}
            reason = f"{snapshot.uris[links[-1]]} is superseded by {target!r}, which names no document."
            return absent(request, reading, {"reason": reason, **broken}, suggest=False)
        if following in links:
            circle = {"supersession_chain": _chain(snapshot, [*links, following])}
            return absent(request, reading, circle, status=CIRCULAR_SUPERSESSION, suggest=False)
        links.append(following)
    return answered(request, reading, links[-1], {"supersession_chain": _chain(snapshot, links)})


def _successor(snapshot: Snapshot, number: int, target: str) -> int | None:
    """What a `superseded_by` value names: a URI, or a path that means the document's own source first."""
    own = snapshot.mask(snapshot.origin[number])
    named = snapshot.find(target) if "://" in target else snapshot.find(target, own)
    return snapshot.find(target) if named is None else named


def _chain(snapshot: Snapshot, links: list[int]) -> list[dict[str, Any]]:
    return [{"uri": snapshot.uris[number], "title": snapshot.titles[number]} for number in links]


ACTION = Action(
    "resolve",
    "One document by its URI or path, after following superseded_by to the document in force.",
    ResolveRequest,
    resolve,
)
