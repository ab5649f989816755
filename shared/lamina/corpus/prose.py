"""Which characters of a body are its words: what only a site generator reads is blanked, place by place.

The text keeps its length and its lines, so that a place in it is a place in the body.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

Span = tuple[int, int]
"""Where something begins and ends, in characters."""

_FENCE: Final = re.compile(r"`{3,}|~{3,}")
# What may stand before a fence on its line: blanks, marks of quotations, that of a list.
_BEFORE_FENCE: Final = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,3}[.)])[ \t]+)?")
_CODE: Final = re.compile(r"(?<!`)(?:`[^`\r\n]+`(?!`)|``[^\r\n]{1,500}?(?<!`)``(?!`)|```[^\r\n]{1,500}?(?<!`)```(?!`))")
_LINE_END: Final = re.compile(r"[\r\n]")
_NOT_LINE_END: Final = re.compile(r"[^\r\n]")

# {{< figure caption="…" >}}, {{% note %}}, {% include x %}
_SHORTCODE: Final = re.compile(r"\{\{[<%][^{}\r\n]*?[%>]\}\}|\{%-?[^%{}\r\n]*?-?%\}")
_INSERTED: Final = re.compile(r"^[ \t]*-+8<-+[^\r\n]*$", re.MULTILINE)
_DATA_URI: Final = re.compile(r"data:[\w.+-]+/[\w.+-]+;base64,[A-Za-z0-9+/=]{64,}")
# > [!note], :::tip, !!! note "Title", === "Tab"
_CALLOUT: Final = re.compile(
    r"^[ \t]*(?:>[ \t]*\[!(?P<alert>[\w-]+)\][+-]?|:{3,}|(?:!!!|\?\?\?)\+?(?=[ \t]+[\w-])|===[!+]?(?=[ \t]+\"))",
    re.MULTILINE,
)
# import X from "y" and export const x = …, as MDX has them at the beginning of a line.
_MODULE: Final = re.compile(
    r"^(?:import\s+(?:[\w*{][^;'\"`]{0,2000}?\sfrom\s+)?(?P<quote>['\"])[^'\"\r\n]+(?P=quote)[ \t]*;?[ \t]*$"
    r"|export\s+(?:const|let|var|default|function|async|class|\{|\*)[^\r\n]*$)",
    re.MULTILINE,
)
_EXPRESSION_COMMENT: Final = re.compile(r"\{/\*.*?\*/\}", re.DOTALL)
_BRACES: Final = r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}"
_TAG: Final = re.compile(
    r"</?[A-Za-z][\w.-]*(?:\s+[\w:.-]+(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|"
    + _BRACES
    + r"))?|\s*\{\.\.\.[^{}]*\})*\s*/?>|</?>"
)
_SPOKEN: Final = re.compile(
    r"\b(?:title|label|caption|alt|summary|description|heading)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')"
)
# Characters that statements of modules may be looked through for their ends, in one body.
_MOST_STATEMENTS: Final = 200_000
_TELLING: Final = ("{{", "{%", "8<", ";base64,", "import ", ":::", "!!! ", "??? ", '=== "', "[!")


def prose(body: str, *, mdx: bool = False) -> str:
    """The body without imports and exports of MDX, shortcodes and the marks of callouts, blanks in their places.

    What they say in quotes to a reader (titles, labels, captions) stays, and code stays whole. Tags are marks in
    MDX alone. The time is linear in the length of the body.
    """
    if not mdx and not any(mark in body for mark in _TELLING):
        return body
    code = code_spans(body)
    text = body
    for pattern, kept in _RULES:
        text = _blanked(text, pattern, kept, code)
    if mdx or "import" in text:
        text = _without_modules(text, code, mdx)
    if mdx:
        text = _blanked(text, _EXPRESSION_COMMENT, _nothing, code)
        text = _blanked(text, _TAG, _spoken, code)
    return text


def code_spans(body: str) -> list[Span]:
    """Where fenced code and code in a line stand, in order."""
    if "`" not in body and "~~~" not in body:
        return []
    spans: list[Span] = []
    position = 0
    for start, end in [*_fenced(body), (len(body), len(body))]:
        spans += [match.span() for match in _CODE.finditer(body, position, start)]
        spans.append((start, end))
        position = end
    return spans[:-1]


def _fenced(body: str) -> Iterator[Span]:
    """Where fenced code blocks stand, fences included; one that is never closed ends with the body."""
    opened: tuple[int, str] | None = None
    for match in _FENCE.finditer(body):
        line_start = body.rfind("\n", 0, match.start()) + 1
        line_start = max(line_start, body.rfind("\r", line_start, match.start()) + 1)
        if not _BEFORE_FENCE.fullmatch(body, line_start, match.start()):
            continue
        found = _LINE_END.search(body, match.end())
        line_end = len(body) if found is None else found.start()
        rest, fence = body[match.end() : line_end], match.group()
        if opened is None:
            # Backticks further on the line make code within it of this.
            if fence[0] != "`" or "`" not in rest:
                opened = (line_start, fence)
        elif fence.startswith(opened[1]) and not rest.strip():
            yield opened[0], line_end
            opened = None
    if opened is not None:
        yield opened[0], len(body)


Kept = Callable[[re.Match[str]], Iterator[Span]]


def _nothing(match: re.Match[str]) -> Iterator[Span]:
    return iter(())


def _spoken(match: re.Match[str]) -> Iterator[Span]:
    """What attributes say to a reader."""
    for said in _SPOKEN.finditer(match.string, match.start(), match.end()):
        yield said.span(1) if said[1] is not None else said.span(2)


def _alert(match: re.Match[str]) -> Iterator[Span]:
    if match["alert"]:
        # The mark of the quotation stays too.
        yield match.start(), match.start() + match.group().index("[")
        yield match.span("alert")


_RULES: Final[tuple[tuple[re.Pattern[str], Kept], ...]] = (
    (_SHORTCODE, _spoken),
    (_INSERTED, _nothing),
    (_DATA_URI, _nothing),
    (_CALLOUT, _alert),
)


def _blanked(text: str, pattern: re.Pattern[str], kept: Kept, code: Sequence[Span]) -> str:
    """The text without what the pattern finds outside code, but for the places that are kept."""
    pieces: list[str] = []
    position = number = 0
    for match in pattern.finditer(text):
        start, end = match.span()
        while number < len(code) and code[number][1] <= start:
            number += 1
        if number < len(code) and code[number][0] < end:
            continue
        pieces.append(text[position:start])
        for first, last in kept(match):
            pieces += [_blank(text[start:first]), text[first:last]]
            start = last
        pieces.append(_blank(text[start:end]))
        position = end
    return "".join([*pieces, text[position:]]) if pieces else text


def _blank(text: str) -> str:
    return _NOT_LINE_END.sub(" ", text)


def _without_modules(text: str, code: Sequence[Span], mdx: bool) -> str:
    """The text without its import and export statements, which end where their braces do."""
    pieces: list[str] = []
    position = number = 0
    left = _MOST_STATEMENTS
    for match in _MODULE.finditer(text):
        start = match.start()
        while number < len(code) and code[number][1] <= start:
            number += 1
        is_code = number < len(code) and code[number][0] <= start
        # In plain Markdown a line that begins with `export` is a sentence unless imports stand above.
        if is_code or start < position or (match["quote"] is None and not mdx and not pieces):
            continue
        end, looked_at = _statement_end(text, start, match.end(), min(len(text), start + left))
        left = max(0, left - looked_at)
        pieces += [text[position:start], _blank(text[start:end])]
        position = end
    return "".join([*pieces, text[position:]]) if pieces else text


def _statement_end(text: str, start: int, line_end: int, last: int) -> tuple[int, int]:
    """Where a statement ends, and how many characters that took: at the first end of a line with no brace open.

    One whose braces are not closed by `last` ends with its first line.
    """
    depth = 0
    for at in range(start, last):
        character = text[at]
        if character in "{[(":
            depth += 1
        elif character in "}])":
            depth -= 1
        elif character in "\r\n" and depth <= 0:
            return at, at - start
    return (last if last == len(text) and depth <= 0 else line_end), last - start
