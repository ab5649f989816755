"""Decides which text of a document is searched, and how much a term in each field counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lamina.corpus.document import Document

FIELD_WEIGHTS: Final[dict[str, int]] = {
    "title": 3,
    "headings": 1,
    "path": 2,
    "tags": 3,
    "blockquote": 1,
    "body": 1,
}
"""Occurrences that one occurrence in a field counts as. Title, headings and blockquote usually stand in the
body too, so that a term there counts this much more. Whole numbers keep folded frequencies exact."""


PLACED_FIELD: Final = "body"
"""The field in which the places of words are kept."""


def field_texts(document: Document) -> Iterator[tuple[str, str]]:
    """The searched fields of a document as (field, text)."""
    yield "title", document.title
    yield "headings", "\n".join(heading.text for heading in document.headings)
    yield "path", document.path
    yield "tags", "\n".join(document.tags)
    yield "blockquote", document.blockquote or ""
    yield "body", document.body
