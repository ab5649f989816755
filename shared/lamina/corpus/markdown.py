"""The structure of a Markdown body: its headings with their sections, its title, blockquote and Summary."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from lamina.contract.ids import slug
from lamina.corpus.remarks import Remark, Topic

# The heading may be numbered, and may go on: `2. Summary`, `Summary — One Contract`.
_SUMMARY: Final = re.compile(r"(?:[\W\d_]+\s)?summary\b", re.IGNORECASE)
_NOTHING_BUT_SUMMARY: Final = re.compile(r"[\W\d_]*summary[\W_]*", re.IGNORECASE)
_MARKUP: Final = re.compile(r"[*_`\[\]<>&\\!~{]")
_QUOTE_MARK: Final = re.compile(r"^ {0,3}> ?", re.MULTILINE)
_ALERT: Final = re.compile(r"\A\[!(?P<kind>[\w-]+)\][+-]?[ \t]*(?P<title>[^\n]*)")
_FENCE: Final = re.compile(r" {0,3}(`{3,}(?=[^`\r\n]*$)|~{3,})")
_ATX: Final = re.compile(r" {0,3}(#{1,6})(?:[ \t]+([^\r\n]*))?$")
_CLOSING: Final = re.compile(r"(?:^|[ \t])#+[ \t]*$")
_COMMENT: Final = re.compile(r"<!--.*?(?:-->|$)|\{/\*(?P<id>.*?)\*/\}", re.DOTALL)
# {#id}, {: #id .class}, {.unnumbered}, {-} at the end of a heading
_ATTRIBUTES: Final = re.compile(
    r"[ \t]*\{:?(?P<list>(?:[ \t]*(?:[#.][^\s{}]+|[\w-]+=(?:\"[^\"{}]*\"|[^\s{}\"]+)|-))+)[ \t]*\}[ \t]*$"
)
_ATTRIBUTE_ID: Final = re.compile(r"(?:^|\s)#([^\s{}]+)")
_HTML_HEADING: Final = re.compile(
    r"<h(?P<level>[1-6])\b(?P<attributes>[^<>]{0,300})>(?P<text>.{0,300}?)</h(?P=level)\s*>", re.IGNORECASE | re.DOTALL
)
_TAG: Final = re.compile(r"<(?P<closing>/)?(?P<name>[A-Za-z][\w.-]*)(?P<attributes>[^<>]*?)(?P<void>/)?>")
_TAG_ID: Final = re.compile(r"\b(?:id|name)\s*=\s*[\"']?([^\s\"'<>]+)", re.IGNORECASE)
_SLUG_ID: Final = re.compile(r"[\w.:-]{1,200}")
_BREAKS: Final = frozenset({"softbreak", "hardbreak"})
_HTML_NAMES: Final = frozenset(
    [
        "a",
        "abbr",
        "b",
        "bdi",
        "bdo",
        "big",
        "br",
        "button",
        "center",
        "cite",
        "code",
        "del",
        "details",
        "dfn",
        "div",
        "em",
        "figure",
        "font",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "hr",
        "i",
        "img",
        "input",
        "ins",
        "kbd",
        "label",
        "li",
        "link",
        "mark",
        "meta",
        "nobr",
        "ol",
        "p",
        "picture",
        "pre",
        "q",
        "ruby",
        "rt",
        "s",
        "samp",
        "script",
        "small",
        "source",
        "span",
        "strike",
        "strong",
        "style",
        "sub",
        "summary",
        "sup",
        "svg",
        "table",
        "td",
        "th",
        "tr",
        "tt",
        "u",
        "ul",
        "var",
        "video",
        "wbr",
    ]
)

# Parsing a line costs up to 0.05 ms, so a file of nothing but short lines would take a minute.
MOST_LINES: Final = 40_000
# A heading of more characters, and the headings after so many, keep their marks: removing them costs 0.05 ms each.
_LONGEST_PARSED: Final = 2_000
_MOST_PARSED: Final = 20_000


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading and its section: `body[start:end]` begins with the heading and holds its subsections.

    `slug` is unique within the document: the id that the heading declares, else one made of its text, where a
    repeated one carries `-1`, `-2` and so on. `anchors` are further names that links may give it.
    """

    level: int
    text: str
    slug: str
    start: int
    end: int
    anchors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outline:
    """What the tiers of a document are cut from; offsets count characters of the body."""

    headings: tuple[Heading, ...]
    title: str | None
    blockquote: str | None
    opening_quote: str | None
    summary: tuple[int, int] | None
    remarks: tuple[Remark, ...]


@dataclass(frozen=True, slots=True)
class _Mark:
    """A heading as it stands: its source between `start` and `end`, and its place among the parser's tokens.

    `after` is the token that follows it, -1 where it was not parsed.
    """

    level: int
    source: str
    start: int
    end: int
    after: int
    anchors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Text:
    """The words of a heading, the ids that it declares, and the names that anchors in it give."""

    words: str
    ids: tuple[str, ...] = ()


def outline(body: str, prose: str | None = None) -> Outline:
    """Parses the block structure of `body` (CommonMark), so that a heading in a code fence is no heading.

    Headings are read from `prose`, the body with marks of other kinds blanked, of the same length.
    """
    text = body if prose is None else prose
    lines = _line_offsets(text)
    head = text if len(lines) <= MOST_LINES else text[: lines[MOST_LINES]]
    tokens = _BLOCKS.parse(head)
    marks = _marks(text, tokens, lines)
    if len(head) < len(text):
        marks += _marks_by_line(text, lines)
    headings: list[Heading] = []
    used: dict[str, int] = {}
    ends = _section_ends([(mark.level, mark.start) for mark in marks], len(body))
    for number, (mark, end) in enumerate(zip(marks, ends, strict=True)):
        read = _heading_text(mark.source) if number < _MOST_PARSED else _Text(" ".join(mark.source.split()))
        ids = [*read.ids, *mark.anchors]
        own = slug(read.words)
        chosen = _unique(ids[0] if ids else own, used)
        anchors = tuple(dict.fromkeys(name for name in (*ids, own) if name and name != chosen))
        headings.append(Heading(mark.level, read.words, chosen, mark.start, end, anchors))

    leads = bool(headings) and headings[0].level == 1 and not _NOTHING_BUT_SUMMARY.fullmatch(headings[0].text)
    return Outline(
        headings=tuple(headings),
        title=headings[0].text or None if leads else None,
        blockquote=_blockquote(body, tokens, marks[0].after, lines) if leads else None,
        opening_quote=_blockquote(body, tokens, 0, lines),
        summary=_summary(body, headings, [mark.end for mark in marks]),
        remarks=(*_remarks(headings), *_cut_short(head, text)),
    )


def plain_text(source: str) -> str:
    """The words of one line of Markdown without its marks, tags, comments and badges."""
    return _heading_text(source).words


def _heading_text(source: str) -> _Text:
    if len(source) > _LONGEST_PARSED or not _MARKUP.search(source):
        return _Text(" ".join(source.split()))
    ids: list[str] = []
    if "{" in source:
        while (found := _ATTRIBUTES.search(source)) is not None:
            ids += _ATTRIBUTE_ID.findall(found["list"])
            source = source[: found.start()]
    for comment in _COMMENT.finditer(source):
        if comment["id"] is not None and _SLUG_ID.fullmatch(comment["id"].strip()):
            ids.append(comment["id"].strip())
    source = _COMMENT.sub(" ", source)
    children = [child for token in _INLINE.parseInline(source) for child in token.children or ()]
    words, pictures = [], []
    for child in children:
        if child.type == "image":
            pictures.append(child.content)
        elif child.type in _BREAKS:
            words.append(" ")
        elif child.type != "html_inline" or (tag := _tag_of(child.content, source)) is None:
            words.append(child.content)
        else:
            ids += _TAG_ID.findall(tag)
            words.append(" ")
    # A heading that is nothing but a picture is named by it.
    text = " ".join("".join(words).split()) or " ".join(" ".join(pictures).split())
    return _Text(text, tuple(dict.fromkeys(name for name in ids if _SLUG_ID.fullmatch(name))))


def _tag_of(written: str, heading: str) -> str | None:
    """The attributes of a tag, or None for what only looks like a tag: `Vec<T>`, `<sha>`."""
    found = _TAG.fullmatch(written)
    if found is None:
        return ""
    name = found["name"]
    is_tag = name.lower() in _HTML_NAMES or found["void"] or "=" in found["attributes"] or f"</{name}" in heading
    return found["attributes"] if is_tag else None


def _marks(body: str, tokens: list[Token], lines: list[int]) -> list[_Mark]:
    """The headings that the parser sees: of Markdown at the top level, and of HTML in blocks of it."""
    marks: list[_Mark] = []
    for at, token in enumerate(tokens):
        if token.level:
            continue
        if token.type == "heading_open":
            # heading_open, inline, heading_close
            marks.append(_Mark(int(token.tag[1]), tokens[at + 1].content, *_span(token, lines), at + 3))
        elif token.type == "html_block" and "</h" in token.content.lower():
            start, end = _span(token, lines)
            block = _COMMENT.sub(lambda comment: " " * len(comment.group()), body[start:end])
            for found in _HTML_HEADING.finditer(block):
                ids = tuple(_TAG_ID.findall(found["attributes"]))
                marks.append(
                    _Mark(int(found["level"]), found["text"], start + found.start(), start + found.end(), at + 1, ids)
                )
    return marks


def _marks_by_line(body: str, lines: list[int]) -> list[_Mark]:
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
            found.append(_Mark(len(heading.group(1)), text, start, end, -1))
    return found


def _cut_short(head: str, body: str) -> tuple[Remark, ...]:
    if len(head) == len(body):
        return ()
    text = f"over {MOST_LINES} lines; after them only lines that begin with # are taken for headings"
    return (Remark(Topic.LONG_FILE, text),)


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


def _blockquote(body: str, tokens: list[Token], at: int, lines: list[int]) -> str | None:
    """The block that a token opens if it is a blockquote, without its marks; comments are no blocks."""
    if at < 0:
        return None
    while at < len(tokens) and tokens[at].type == "html_block" and not _COMMENT.sub("", tokens[at].content).strip():
        at += 1
    if at >= len(tokens) or tokens[at].type != "blockquote_open":
        return None
    start, end = _span(tokens[at], lines)
    text = _QUOTE_MARK.sub("", body[start:end].replace("\r\n", "\n").replace("\r", "\n")).strip()
    # A callout is a quote with a mark before it: `[!WARNING]` says Warning.
    return _ALERT.sub(lambda mark: mark["title"].strip() or f"{mark['kind'].capitalize()}:", text)


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


def _remarks(headings: list[Heading]) -> tuple[Remark, ...]:
    count = sum(heading.level == 1 for heading in headings)
    if count > 1:
        return (Remark(Topic.HEADINGS, f"{count} level-1 headings; the first is the title"),)
    return ()
