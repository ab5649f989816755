"""What a person sees of a proposal before deciding: the note, and each cited source beside what became of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from lamina.knowledge.citation import Cut, cut
from lamina.knowledge.proposals import Reviewed
from lamina.knowledge.workspace import WorkspaceFiles
from lamina.ranking.highlight import MOST_HIGHLIGHT_TERMS, HighlightTerms

EXCERPT_BYTES: Final = 700
_WORD = re.compile(r"\w{4,}")


class SourceState(StrEnum):
    """What became of a source since it was cited."""

    UNCHANGED = "unchanged"
    CHANGED = "changed"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class CitedSource:
    """A source of a proposal; `cut` and `text` are of the file as it is now, None and "" where it is gone."""

    path: str
    cited_sha256: str
    state: SourceState
    cut: Cut | None
    text: str


def cited_sources(reviewed: Reviewed, files: WorkspaceFiles) -> list[CitedSource]:
    """The sources in the order cited, each with the passage that shares most words with the note."""
    capture = reviewed.payload["capture"]
    highlights = _highlights(f"{capture['title']} {capture['body']}")
    return [
        _cited(source["path"], source["sha256"], files, highlights) for source in reviewed.payload["context"]["sources"]
    ]


def _cited(path: str, sha256: str, files: WorkspaceFiles, highlights: HighlightTerms) -> CitedSource:
    content = files.contents.get(path)
    if content is None:
        return CitedSource(path, sha256, SourceState.GONE, None, "")
    state = SourceState.UNCHANGED if files.digests[path] == sha256 else SourceState.CHANGED
    shown = cut(content, content.decode(), highlights, EXCERPT_BYTES)
    return CitedSource(path, sha256, state, shown, content[shown.start : shown.end].decode())


def _highlights(text: str) -> HighlightTerms:
    """The first distinct words of four letters or more, longer ones telling more."""
    words = dict.fromkeys(match.group().lower() for match in _WORD.finditer(text))
    return tuple((word, float(len(word))) for word in list(words)[:MOST_HIGHLIGHT_TERMS])
