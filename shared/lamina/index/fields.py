"""Decides which text of a document is searched, and which of it is the document's head."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from lamina.corpus.document import Document

HEAD_FIELDS: Final = frozenset({"title", "path", "tags"})
"""Fields that say what a document is about. Together they are scored a second time, by themselves."""
APART: Final = " " * 9
"""More than may stand between the words of a quoted phrase."""
_FIELDS_OF_THEIR_OWN: Final = frozenset({"title", "uri", "tags"})


def field_texts(document: Document, words: str) -> Iterator[tuple[str, str]]:
    """The searched fields of a document as (field, text); `words` is its body as it is searched.

    Title, headings and blockquote usually stand in the body too, so that a word there counts once more.
    """
    yield "title", document.title
    yield "headings", "\n".join(heading.text for heading in document.headings)
    yield "path", document.path
    yield "tags", "\n".join(document.tags)
    yield "frontmatter", searched_frontmatter(document)
    # A description that stands in for it is searched with the frontmatter.
    if document.blockquote != (document.metadata or {}).get("description"):
        yield "blockquote", document.blockquote or ""
    yield "body", words


def searched_frontmatter(document: Document) -> str:
    """What the frontmatter says beside the fields that are searched by themselves."""
    return "\n".join(frontmatter_lines(document.metadata or {}, _FIELDS_OF_THEIR_OWN))


def frontmatter_lines(metadata: Mapping[str, Any], apart: Collection[str]) -> Iterator[str]:
    """The fields of a frontmatter but for some, as lines: name and values, at any depth, `APART` from each other."""
    return (
        f"{name}:{APART}{f',{APART}'.join(_values(value))}" for name, value in metadata.items() if name not in apart
    )


def _values(top: Any) -> Iterator[str]:
    left = [top]
    while left:
        value = left.pop()
        if isinstance(value, Mapping):
            left += [part for pair in value.items() for part in pair][::-1]
        elif isinstance(value, list | tuple):
            left += value[::-1]
        elif value is not None:
            yield str(value)
