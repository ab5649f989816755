"""The structure of a Markdown body: its headings with their sections, its H1, blockquote and Summary."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from lamina.contract.ids import slug

_SUMMARY = re.compile(r"summary\b", re.IGNORECASE)
_MARKUP = re.compile(r"[*_`\[\]<>&\\!~]")
_QUOTE_MARK = re.compile(r"^ {0,3}> ?", re.MULTILINE)
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`\r\n]*$)|~{3,})")
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+([^\r\n]*))?$")
_CLOSING = re.compile(r"(?:^|[ \t])#+[ \t]*$")

# Parsing a line costs up to 0.05 ms, so a file of nothing but short lines would take a minute.
MOST_LINES = 40_000
# A heading of more characters, and the headings after so many, keep their marks: removing them costs 0.05 ms each.
_LONGEST_PARSED = 2_000
_MOST_PARSED = 20_000


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading and its section: `body[start:end]` begins with the heading and holds its subsections.

    `slug` is unique within the document: a repeated one carries `-1`, `-2` and so on.
    """

    level: int
    text: str
    slug: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Outline:
    """What the tiers of a document are cut from; offsets count characters of the body."""

    headings: tuple[Heading, ...]
    title: str | None
    blockquote: str | None
    summary: tuple[int, int] | None
    problems: tuple[str, ...]


def outline(body: str) -> Outline:
    """Parses the block structure of `body` (CommonMark), so that a heading in a code fence is no heading."""
    lines = _line_offsets(body)
    head = body if len(lines) <= MOST_LINES else body[: lines[MOST_LINES]]
    tokens = _BLOCKS.parse(head)
    marks = [
        (int(token.tag[1]), tokens[at + 1].content, *_span(token, lines), at)
        for at, token in enumerate(tokens)
        if token.type == "heading_open" and token.level == 0
    ]
    if len(head) < len(body):
        marks += _marks_by_line(body, lines)
    headings: list[Heading] = []
    used: dict[str, int] = {}
    ends = _section_ends([(level, start) for level, _, start, _, _ in marks], len(body))
    for number, ((level, source, start, _, _), end) in enumerate(zip(marks, ends, strict=True)):
        text = plain_text(source) if number < _MOST_PARSED else " ".join(source.split())
        headings.append(Heading(level, text, _unique(slug(text), used), start, end))

    first_h1 = next((number for number, heading in enumerate(headings) if heading.level == 1), None)
    return Outline(
        headings=tuple(headings),
        title=None if first_h1 is None else headings[first_h1].text or None,
        blockquote=None if first_h1 is None else _blockquote(body, tokens, marks[first_h1][4], lines),
        summary=_summary(body, headings, [end for _, _, _, end, _ in marks]),
        problems=(*_problems(headings), *_cut_short(head, body)),
    )


def plain_text(source: str) -> str:
    """The words of one line of Markdown without its marks."""
    if len(source) > _LONGEST_PARSED or not _MARKUP.search(source):
        return " ".join(source.split())
    words = [child.content for token in _INLINE.parseInline(source) for child in token.children or ()]
    return " ".join("".join(words).split())


def _marks_by_line(body: str, lines: list[int]) -> list[tuple[int, str, int, int, int]]:
    """The headings after the lines that are parsed: lines that begin with `#` outside code fences."""
    found = []
    fence = ""
    for number, (start, end) in enumerate(pairwise(lines)):
        line = body[start:end].rstrip("\r\n")
        if (mark := _FENCE.match(line)) is not None:
            if not fence:
                fence = mark.group(1)
            elif line.strip().startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif not fence and number >= MOST_LINES and (heading := _ATX.match(line)) is not None:
            text = _CLOSING.sub("", heading.group(2) or "").strip()
            found.append((len(heading.group(1)), text, start, end, -1))
    return found


def _cut_short(head: str, body: str) -> tuple[str, ...]:
    if len(head) == len(body):
        return ()
    return (f"over {MOST_LINES} lines; after them only lines that begin with # are taken for headings",)


def _engine(*rules: str) -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"maxNesting": 20})
    if rules:
        markdown.core.ruler.enableOnly(list(rules))
    return markdown


_BLOCKS = _engine("normalize", "block")
_INLINE = _engine()


def _line_offsets(body: str) -> list[int]:
    """Where each line starts, by the parser's idea of a line, and the body's end."""
    offsets = [0]
    for match in re.finditer(r"\r\n|\n|\r", body):
        offsets.append(match.end())
    offsets.append(len(body))
    return offsets


def _span(token: Token, lines: list[int]) -> tuple[int, int]:
    first, last = token.map or [0, 0]
    return lines[min(first, len(lines) - 1)], lines[min(last, len(lines) - 1)]


def _section_ends(marks: list[tuple[int, int]], body_end: int) -> list[int]:
    """For each (level, start): where the next heading of its level or a higher one starts, else the body's end."""
    ends = [body_end] * len(marks)
    still_open: list[int] = []
    for number, (level, start) in enumerate(marks):
        while still_open and marks[still_open[-1]][0] >= level:
            ends[still_open.pop()] = start
        still_open.append(number)
    return ends


def _blockquote(body: str, tokens: list[Token], h1: int, lines: list[int]) -> str | None:
    """The first block after the H1 if it is a blockquote, without its marks."""
    following = h1 + 3  # heading_open, inline, heading_close
    if h1 < 0 or following >= len(tokens) or tokens[following].type != "blockquote_open":
        return None
    start, end = _span(tokens[following], lines)
    return _QUOTE_MARK.sub("", body[start:end].replace("\r\n", "\n").replace("\r", "\n")).strip()


def _summary(body: str, headings: list[Heading], heading_ends: list[int]) -> tuple[int, int] | None:
    """Between the first level-2 Summary heading and the next heading of level 1 or 2, blank ends left out."""
    for number, heading in enumerate(headings):
        if heading.level == 2 and _SUMMARY.match(heading.text):
            text = body[heading_ends[number] : heading.end]
            start = heading_ends[number] + len(text) - len(text.lstrip())
            return start, start + len(text.strip())
    return None


def _unique(name: str, used: dict[str, int]) -> str:
    free = name
    while free in used:
        used[name] += 1
        free = f"{name}-{used[name]}"
    used[free] = 0
    return free


def _problems(headings: list[Heading]) -> tuple[str, ...]:
    count = sum(heading.level == 1 for heading in headings)
    if count == 0:
        return ("no level-1 heading",)
    return (f"{count} level-1 headings; the first is the title",) if count > 1 else ()
