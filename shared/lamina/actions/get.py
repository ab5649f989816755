"""get: one document by URI, alias or path."""

from __future__ import annotations

from typing import ClassVar

from lamina.actions.action import Action, QueryContext
from lamina.actions.by_uri import DocumentRequest, absent, answered, cached_with_body, document_answer
from lamina.contract.envelope import Answer


class GetRequest(DocumentRequest):
    """The parameters of get."""

    action: ClassVar[str] = "get"


def get(request: GetRequest, context: QueryContext) -> Answer:
    """The document, the overlay's before the baseline's before the bundle's."""
    found = context.snapshot.find(request.uri)
    return absent(request, context) if found is None else answered(request, context, found)


ACTION = Action(
    GetRequest.action,
    "One document by its URI or path, with its body.",
    GetRequest,
    get,
    document_answer(GetRequest),
    cached=cached_with_body,
)
