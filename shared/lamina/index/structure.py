"""What a body is made of: its headings with their sections, and the line of the file on which it begins."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import Final, NamedTuple

from lamina.contract.ids import slug
from lamina.corpus.document import Document

_LINE_END: Final = re.compile(r"\r\n|\n|\r")


class Section(NamedTuple):
    """A heading and its section with its subsections, `body[start:end]`. `anchors` are further names of it."""

    level: int
    heading: str
    slug: str
    start: int
    end: int
    anchors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Structure:
    """The sections of a body in order. `first_line` is the number of the body's first line in its file, from 1."""

    first_line: int
    sections: tuple[Section, ...]

    @classmethod
    def of(cls, document: Document) -> Structure:
        """The structure of a parsed document."""
        return cls(
            document.first_line,
            tuple([Section(h.level, h.text, h.slug, h.start, h.end, h.anchors) for h in document.headings]),
        )

    @classmethod
    def read(cls, text: str) -> Structure:
        """The structure of the text that `written` gave."""
        first_line, *sections = json.loads(text)
        return cls(first_line, tuple([_section(*entry) for entry in sections]))

    def written(self) -> str:
        """The structure as text."""
        entries = [[*section[:-1], *section.anchors] for section in self.sections]
        return json.dumps([self.first_line, *entries], ensure_ascii=False, separators=(",", ":"))

    def at(self, position: int) -> int | None:
        """The number of the section of the last heading at or before a position; None before the first heading."""
        number = bisect_right(self.sections, position, key=lambda section: section.start) - 1
        return None if number < 0 else number

    def own_end(self, number: int) -> int:
        """Where the text of a section ends that is not in a subsection: at the next heading, of whatever level."""
        return self.sections[number + 1].start if number + 1 < len(self.sections) else self.sections[number].end

    def named(self, wanted: str) -> Section | None:
        """The section that a name means: heading, slug or anchor, else the only heading that it is a part of."""
        name, wanted_slug = " ".join(wanted.split()).lstrip("# "), slug(wanted)
        folded = name.casefold()
        exact = [s for s in self.sections if s.heading.casefold() == folded or s.slug in (name, folded, wanted_slug)]
        anchored = [s for s in self.sections if name in s.anchors or wanted_slug in s.anchors]
        if exact or anchored:
            return (exact or anchored)[0]
        holding = [s for s in self.sections if folded and (folded in s.heading.casefold() or folded in s.slug)]
        loosely = holding or [s for s in self.sections if wanted_slug and wanted_slug in s.slug]
        return loosely[0] if len(loosely) == 1 else None


def _section(level: int, heading: str, name: str, start: int, end: int, *anchors: str) -> Section:
    return Section(level, heading, name, start, end, anchors)


def line_starts(body: str) -> list[int]:
    """Where each line of a body begins."""
    starts = [0, *(end.end() for end in _LINE_END.finditer(body))]
    return starts[:-1] if len(starts) > 1 and starts[-1] == len(body) else starts
