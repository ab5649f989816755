"""resolve: one document by URI, after following what supersedes it to the end."""

from __future__ import annotations

from typing import Any, ClassVar

from lamina.actions.action import Action, QueryContext
from lamina.actions.by_uri import DocumentRequest, absent, answered, cached_with_body, document_answer
from lamina.contract.envelope import CIRCULAR_SUPERSESSION, FOUND, NOT_FOUND, Answer
from lamina.contract.schema import TEXT, AnswerField, list_of, object_of
from lamina.index.snapshot import Snapshot


class ResolveRequest(DocumentRequest):
    """The parameters of resolve."""

    action: ClassVar[str] = "resolve"


def resolve(request: ResolveRequest, context: QueryContext) -> Answer:
    """The last document of the chain; a chain that closes on itself or ends in nothing is told with its links."""
    snapshot = context.snapshot
    found = snapshot.find(request.uri)
    if found is None:
        return absent(request, context, {"supersession_chain": []})
    links = [found]
    while (following := snapshot.successors.get(links[-1])) is not None:
        if following in links:
            circle = {"supersession_chain": _chain(snapshot, [*links, following])}
            return absent(request, context, circle, status=CIRCULAR_SUPERSESSION, suggest=False)
        links.append(following)
    if (target := snapshot.dangling.get(links[-1])) is not None:
        broken = {"supersession_chain": _chain(snapshot, links), "superseded_by": target}
        reason = f"{snapshot.uris[links[-1]]} is superseded by {target!r}, which names no document."
        return absent(request, context, {"reason": reason, **broken}, suggest=False)
    return answered(request, context, links[-1], {"supersession_chain": _chain(snapshot, links)})


def _chain(snapshot: Snapshot, links: list[int]) -> list[dict[str, Any]]:
    return [{"uri": snapshot.uris[number], "title": snapshot.titles[number]} for number in links]


_CHAIN = AnswerField(
    "supersession_chain",
    list_of(object_of(AnswerField("uri", TEXT), AnswerField("title", TEXT))),
    "`{uri, title}` of each document from what was asked to what answered",
)
_SUPERSEDED_BY = AnswerField("superseded_by", TEXT, "with NOT_FOUND: the link that leads nowhere", always=False)

ACTION = Action(
    ResolveRequest.action,
    "One document by its URI or path, after following superseded_by to the document in force.",
    ResolveRequest,
    resolve,
    document_answer(ResolveRequest, _CHAIN, _SUPERSEDED_BY, statuses=(FOUND, NOT_FOUND, CIRCULAR_SUPERSESSION)),
    cached=cached_with_body,
)
