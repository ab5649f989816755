"""What the check says of a file: how grave it is, what it is about, and where it stands."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Level(StrEnum):
    """How grave a remark is, the gravest first."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Topic(StrEnum):
    """What a remark is about. Remarks of one topic are grouped and counted together."""

    UNREADABLE = "unreadable"
    DUPLICATE_URI = "duplicate-uri"
    UNUSABLE_URI = "unusable-uri"
    LOST_FIELD = "lost-field"
    OPEN_FRONTMATTER = "open-frontmatter"
    SETTINGS = "settings"
    DRAFT = "draft"
    DANGLING_SUPERSESSION = "dangling-supersession"
    BROKEN_LINK = "broken-link"
    ODD_DATE = "odd-date"
    ODD_FIELD = "odd-field"
    REPEATED_KEY = "repeated-key"
    SALVAGED_FIELD = "salvaged-field"
    MISSING_FIELD = "missing-field"
    UNKNOWN_KIND = "unknown-kind"
    UNREAD_FORMAT = "unread-format"
    SECOND_BLOCK = "second-block"
    HEADINGS = "headings"
    LONG_TITLE = "long-title"
    LONG_FILE = "long-file"
    EMPTY = "empty"


_ERRORS: Final = (
    Topic.UNREADABLE,
    Topic.DUPLICATE_URI,
    Topic.UNUSABLE_URI,
    Topic.LOST_FIELD,
    Topic.OPEN_FRONTMATTER,
    Topic.SETTINGS,
)
_NOTES: Final = (Topic.DRAFT, Topic.SECOND_BLOCK, Topic.HEADINGS, Topic.LONG_TITLE, Topic.LONG_FILE, Topic.EMPTY)


def level_of(topic: Topic) -> Level:
    """An error where something is lost or cannot be reached, a note where it is a matter of style."""
    if topic in _ERRORS:
        return Level.ERROR
    return Level.NOTE if topic in _NOTES else Level.WARNING


@dataclass(frozen=True, slots=True)
class Remark:
    """One thing to mend in a file. `line` counts from 1 in the whole file, frontmatter included; None: all of it."""

    topic: Topic
    text: str
    line: int | None = None

    @property
    def level(self) -> Level:
        """How grave it is."""
        return level_of(self.topic)
