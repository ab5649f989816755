"""Decides which text of a document is searched, and which of it is the document's head."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lamina.corpus.document import Document

HEAD_FIELDS: Final = frozenset({"title", "path", "tags"})
"""Fields that say what a document is about. Together they are scored a second time, by themselves."""


def field_texts(document: Document) -> Iterator[tuple[str, str]]:
    """The searched fields of a document as (field, text).

    Title, headings and blockquote usually stand in the body too, so that a word there counts once more.
    """
    yield "title", document.title
    yield "headings", "\n".join(heading.text for heading in document.headings)
    yield "path", document.path
    yield "tags", "\n".join(document.tags)
    yield "blockquote", document.blockquote or ""
    yield "body", document.body
