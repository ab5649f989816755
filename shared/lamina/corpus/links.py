"""The links of a document to others, as they are written: where each points, and on which line it stands."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from lamina.corpus.prose import Span, code_spans

MOST_LINKS: Final = 2_000
"""Links of one document that are followed."""
_LONGEST: Final = 500
_WIKI: Final = re.compile(r"\[\[(?P<wiki>[^\s\[\]|][^\[\]\r\n]{0,500}?)\]\](?!\()")
_INLINE: Final = re.compile(
    r"\]\([ \t]*(?:<(?P<angled>[^<>\r\n]{1,500})>|(?P<plain>[^\s()<>]{1,500}(?:\([^\s()]{0,200}\)[^\s()<>]{0,500})?))"
)
_DEFINED: Final = re.compile(r"^ {0,3}\[[^\]^\r\n][^\]\r\n]{0,200}\]:[ \t]*<?(?P<defined>[^\s<>]{1,500})", re.MULTILINE)
_TAG_HREF: Final = re.compile(r"<a\s[^<>]{0,500}?\bhref\s*=\s*[\"'](?P<href>[^\"'<>\s]{1,500})", re.IGNORECASE)
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]{1,31}\Z")
_LONGEST_SCHEME: Final = 32
_WEB: Final = ("http", "https", "ftp", "file", "ssh", "git")
_PATH: Final = re.compile(r"[^\s<>()\[\]`\"'*]{1,500}")
_OUTSIDE: Final = re.compile(r"(?:https?|mailto|tel|ftp|data|javascript|file|ssh|git):|//|#", re.IGNORECASE)
_LINE_END: Final = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Link:
    """`target` is an address without its fragment, `line` counts from 1 in the file, `wiki` says `[[…]]`.

    `bare` is an address in running text, of which nobody says that it is a link.
    """

    target: str
    line: int
    wiki: bool = False
    bare: bool = False


def links(body: str, first_line: int) -> tuple[Link, ...]:
    """The links of a body to other documents, in order; not those in code, to the web, or within the page."""
    found: list[tuple[int, Link]] = []
    ends: list[int] | None = None
    for place, target, kind in _outside_code(_written(body), body):
        name = target.split("|")[0] if kind == "wiki" else target
        name = name.partition("#")[0].partition("?")[0].strip().rstrip("\\")
        if not name or len(name) > _LONGEST or _OUTSIDE.match(name):
            continue
        if ends is None:
            ends = [match.end() for match in _LINE_END.finditer(body)]
        line = first_line + bisect_right(ends, place)
        found.append((place, Link(name, line, wiki=kind == "wiki", bare=kind == "bare")))
        if len(found) >= MOST_LINKS:
            break
    found.sort(key=lambda pair: pair[0])
    return tuple(link for _, link in found)


Written = tuple[int, str, str]
"""Where a link stands, its target, and how it is written."""


def _outside_code(written: Iterator[Written], body: str) -> Iterator[Written]:
    code: list[Span] | None = None
    starts: list[int] = []
    for place, target, kind in written:
        if code is None:
            code = code_spans(body)
            starts = [start for start, _ in code]
        before = bisect_right(starts, place) - 1
        if before < 0 or place >= code[before][1]:
            yield place, target, kind


def _written(body: str) -> Iterator[Written]:
    """Everything that is written as a link, or as an address in running text."""
    for mark, pattern in (("[[", _WIKI), ("](", _INLINE), ("]:", _DEFINED), ("href", _TAG_HREF)):
        if mark in body:
            for match in pattern.finditer(body):
                kind = match.lastgroup or ""
                yield match.start(), match[kind], kind
    at = body.find("://")
    while at >= 0:
        scheme = _SCHEME.search(body, max(0, at - _LONGEST_SCHEME), at)
        path = _PATH.match(body, at + 3)
        # Within a link it is not bare, and was read above.
        if scheme and path and body[max(0, scheme.start() - 1)] not in "(<\"'" and scheme.group() not in _WEB:
            yield scheme.start(), f"{scheme.group()}://{path.group().rstrip('.,;:!?')}", "bare"
        at = body.find("://", at + 3)
