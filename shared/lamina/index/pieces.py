"""Decides which pieces of a document are turned into vectors: what it is about, how it opens, its first sections."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from lamina.corpus.document import Document
from lamina.index.parsed import ParseCache, cache_entry
from lamina.index.snapshot import Snapshot

MOST_SECTIONS: Final = 6
LEAST_WORDS: Final = 20
"""A section of fewer words says little that its heading, which is on the card, does not say."""
LONGEST_PIECE: Final = 800
"""Characters: more than the small encoder reads of a text."""
PIECES_VERSION: Final = "1"

# What a text is cut down from before it is cut to length: links and marks take room.
_LONGEST_SOURCE = 4 * LONGEST_PIECE
_LINK = re.compile(r"!?\[([^\]\n]*)\]\([^)\n]*\)")
_WIKI_LINK = re.compile(r"\[\[(?:[^\]|\n]*\|)?([^\]\n]*)\]\]")
_ADDRESS = re.compile(r"\w+://\S+")
_LINE_MARK = re.compile(r"^[ \t]*(?:[>#*+|-]|\d+\.)+[ \t]*", re.MULTILINE)
_MARK = re.compile(r"[*_`|~#]+|-{3,}|={3,}")


def pieces(document: Document) -> list[str]:
    """The texts to encode, plain and short: the card, the opening, then sections in their order; one at least.

    The card is title, blockquote and headings. A section is the text from its heading to the next of any level.
    """
    return list(dict.fromkeys([_card(document), *_openings(document), *_sections(document)]))


def pieces_of(snapshot: Snapshot, cache: ParseCache) -> list[list[str]]:
    """The pieces of each document of a snapshot, from what its build remembers."""
    documents = zip(snapshot.hashes, snapshot.paths, strict=True)
    return [pieces(cache.entries[cache_entry(path, digest.hex())].document) for digest, path in documents]


def _card(document: Document) -> str:
    headings = "; ".join(heading.text for heading in document.headings if heading.text != document.title)
    parts = (document.title, _plain(document.blockquote or ""), headings)
    return ". ".join(part for part in parts if part)[:LONGEST_PIECE]


def _openings(document: Document) -> Iterator[str]:
    """The text from the beginning on, but for the heading that opens it."""
    first = next(iter(document.headings), None)
    start = first.start if first is not None and first.level == 1 and not document.body[: first.start].strip() else 0
    text = document.body[start : start + _LONGEST_SOURCE]
    if first is not None and start == first.start:
        text = text.partition("\n")[2]
    opening = _plain(text)
    if opening:
        yield opening[:LONGEST_PIECE]


def _sections(document: Document) -> Iterator[str]:
    found = 0
    starts = [heading.start for heading in document.headings] + [len(document.body)]
    for heading, end in zip(document.headings, starts[1:], strict=True):
        if heading.level == 1:
            continue
        source = document.body[heading.start : min(end, heading.start + _LONGEST_SOURCE)]
        text = _plain(source.partition("\n")[2])
        if len(text.split()) < LEAST_WORDS:
            continue
        yield f"{heading.text}. {text}"[:LONGEST_PIECE]
        found += 1
        if found == MOST_SECTIONS:
            return


def _plain(source: str) -> str:
    """The words of Markdown on one line, without addresses and most marks."""
    text = _WIKI_LINK.sub(r"\1", _LINK.sub(r"\1", source))
    text = _LINE_MARK.sub(" ", _ADDRESS.sub(" ", text))
    return " ".join(_MARK.sub(" ", text).split())
