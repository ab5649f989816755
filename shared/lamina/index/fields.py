"""Decides which text of a document is searched, and which of it is the document's head."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from lamina.corpus.document import Document

HEAD_FIELDS: Final = frozenset({"title", "path", "tags"})
"""Fields that say what a document is about. Together they are scored a second time, by themselves."""
_FIELDS_OF_THEIR_OWN: Final = frozenset({"title", "uri", "tags"})


def field_texts(document: Document) -> Iterator[tuple[str, str]]:
    """The searched fields of a document as (field, text).

    Title, headings and blockquote usually stand in the body too, so that a word there counts once more.
    """
    yield "title", document.title
    yield "headings", "\n".join(heading.text for heading in document.headings)
    yield "path", document.path
    yield "tags", "\n".join(document.tags)
    yield "frontmatter", "\n".join(frontmatter_texts(document.metadata or {}))
    yield "blockquote", document.blockquote or ""
    yield "body", document.body


def frontmatter_texts(metadata: Mapping[str, Any]) -> Iterator[str]:
    """What the frontmatter says beside the fields that are searched by themselves, at any depth."""
    left: list[Any] = [{name: value for name, value in metadata.items() if name not in _FIELDS_OF_THEIR_OWN}]
    while left:
        value = left.pop()
        if isinstance(value, Mapping):
            yield from map(str, value)
            left += value.values()
        elif isinstance(value, list | tuple):
            left += value
        elif value is not None:
            yield str(value)
