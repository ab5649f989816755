"""get: one document by URI, alias or path."""

from __future__ import annotations

from typing import ClassVar

from lamina.actions.action import Action
from lamina.actions.document import absent, answered
from lamina.actions.reading import Reading
from lamina.contract.envelope import Answer
from lamina.contract.request import DocumentRequest


class GetRequest(DocumentRequest):
    """The parameters of get."""

    action: ClassVar[str] = "get"


def get(request: GetRequest, reading: Reading) -> Answer:
    """The document, the overlay's before the baseline's before the bundle's."""
    found = reading.snapshot.find(request.uri)
    return absent(request, reading) if found is None else answered(request, reading, found)


ACTION = Action("get", "One document by its URI or path, with its body.", GetRequest, get)
