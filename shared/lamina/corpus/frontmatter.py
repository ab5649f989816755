"""Frontmatter: where it ends, what it says as JSON values, and what is wrong with it. What is no mapping is body."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from lamina.corpus.plain import MAX_CHARACTERS, MAX_DEPTH, NotPlain, as_plain, plain_yaml
from lamina.corpus.remarks import Remark, Topic

BOM: Final = "\ufeff"
# A repeated or unreadable key is told; a file of nothing else would tell as often as it has lines.
_MOST_TOLD: Final = 20
_LINE_END: Final = re.compile(r"\r\n|\n|\r")
_YAML_ENTRY: Final = re.compile(r"""(?P<key>[^\W\d][\w.-]*|"[^"\n]*"|'[^'\n]*')[ \t]*:(?=\s|$)""")
_TOML_ENTRY: Final = re.compile(r"(?P<key>[A-Za-z_][\w.-]*)[ \t]*=")
_ITEM: Final = re.compile(r"[ \t]*-[ \t]+(?P<value>\S.*)")
_QUOTED: Final = re.compile(r"""(["'])(.*)\1""")
# The parser takes quadratic time for a.b.c.
_DEEP_KEY: Final = re.compile(rf"(?:[^\s.=]+[ \t]*\.[ \t]*){{{MAX_DEPTH}}}")
_WORD: Final = re.compile(r"\w")
_BRACKET: Final = re.compile(r"[\[\]{}]")
# A key of so many words is the beginning of a sentence.
_WORDS_OF_PROSE: Final = 3


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """`metadata` is JSON-ready, `{}` if the block is empty, None if there is none; `body` is all after it.

    `first_line` is the number of the body's first line in the file, from 1. `fences` are the lines of the body that
    set a text apart as frontmatter is, and mark no heading.
    """

    metadata: dict[str, Any] | None
    body: str
    remarks: tuple[Remark, ...] = ()
    first_line: int = 1
    fences: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class _Read:
    """What a block says; `values` is None where it is no mapping."""

    values: dict[str, Any] | None
    remarks: tuple[Remark, ...] = ()


def split(text: str) -> Frontmatter:
    """Separates a document's frontmatter from its body. Never raises: what is wrong is told, the text is kept."""
    text = text.removeprefix(BOM)
    if text.startswith("{"):
        return _json_block(text)
    for fence, read in (("---", _read_yaml), ("+++", _read_toml)):
        if _line(text, 0)[0].rstrip() == fence:
            return _fenced(text, fence, read)
    return Frontmatter(None, text)


def _fenced(text: str, fence: str, read: Callable[[str, int], _Read]) -> Frontmatter:
    start = _line(text, 0)[1]
    end = _closing(text, start, fence)
    if end is None:
        is_meant = _entry_of(fence).match(_line(text, start)[0]) is not None
        unclosed = Remark(Topic.OPEN_FRONTMATTER, f"the frontmatter is not closed by {fence}", 1)
        return Frontmatter(None, text, (unclosed,) if is_meant else ())
    first = read(text[start : end[0]], 2)
    if first.values is None:
        return Frontmatter(None, text, first.remarks, fences=((0, start), end))
    body = end[1]
    values, remarks = first.values, first.remarks
    second = _second_block(text, body, fence, read)
    if second is not None:
        more, after = second
        line = _lines_before(text, body)
        told = Remark(Topic.SECOND_BLOCK, "a second block directly after the first is read as frontmatter too", line)
        values, remarks, body = {**(more.values or {}), **values}, (*remarks, told, *more.remarks), after
    return Frontmatter(values, text[body:], remarks, _lines_before(text, body))


def _second_block(text: str, start: int, fence: str, read: Callable[[str, int], _Read]) -> tuple[_Read, int] | None:
    """A further block with something in it that begins where the first ends, and where it ends itself."""
    opening, inside = _line(text, start)
    if opening.rstrip() != fence or (end := _closing(text, inside, fence)) is None:
        return None
    block = read(text[inside : end[0]], _lines_before(text, inside))
    return (block, end[1]) if block.values else None


def _read_yaml(block: str, first_line: int) -> _Read:
    try:
        loaded, repeated = plain_yaml(block)
    except NotPlain as error:
        if len(block) > MAX_CHARACTERS or error.too_large:
            return _Read(None, (Remark(Topic.LOST_FIELD, f"frontmatter is {error}", first_line),))
        return _salvaged(block, first_line, _YAML_ENTRY, _yaml_entry)
    if loaded is None:
        return _Read({} if not block.strip() else _comments_alone(block))
    if not isinstance(loaded, dict) or _is_prose(loaded):
        return _Read(None)
    remarks = tuple(
        Remark(Topic.REPEATED_KEY, f"frontmatter repeats the key {key!r}; the last one counts", first_line + line)
        for key, line in repeated[:_MOST_TOLD]
    )
    return _Read(loaded, remarks)


def _comments_alone(block: str) -> dict[str, Any] | None:
    """An empty mapping where every line is a YAML comment; a document that is `null` or `~` is text."""
    lines = (line.strip() for line in block.splitlines())
    return {} if all(not line or line.startswith("#") for line in lines) else None


def _is_prose(mapping: dict[str, Any]) -> bool:
    return bool(mapping) and all(len(key.split()) >= _WORDS_OF_PROSE for key in mapping)


def _read_toml(block: str, first_line: int) -> _Read:
    if len(block) > MAX_CHARACTERS or _is_deep(block):
        return _Read(None, (Remark(Topic.LOST_FIELD, "frontmatter is nested too deep or too large", first_line),))
    try:
        return _Read(as_plain(tomllib.loads(_LINE_END.sub("\n", block))))
    except NotPlain as error:
        return _Read(None, (Remark(Topic.LOST_FIELD, f"frontmatter is {error}", first_line),))
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return _salvaged(block, first_line, _TOML_ENTRY, _toml_entry)


def _is_deep(block: str) -> bool:
    """Whether keys or brackets go deeper than values may: the parser would take minutes to find out."""
    depth = deepest = 0
    for bracket in _BRACKET.findall(block):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    return deepest > MAX_DEPTH or _DEEP_KEY.search(block) is not None


def _json_block(text: str) -> Frontmatter:
    repeated: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key, value in items:
            if key in made:
                repeated.append(key)
            made[key] = value
        return made

    try:
        loaded, end = json.JSONDecoder(object_pairs_hook=pairs).raw_decode(text[:MAX_CHARACTERS])
        values = as_plain(loaded)
    except (ValueError, RecursionError, NotPlain):
        return Frontmatter(None, text)
    rest, after = _line(text, end)
    if not values or rest.strip():
        return Frontmatter(None, text)
    remarks = tuple(
        Remark(Topic.REPEATED_KEY, f"frontmatter repeats the key {key!r}; the last one counts", 1)
        for key in repeated[:_MOST_TOLD]
    )
    return Frontmatter(values, text[after:], remarks, _lines_before(text, after))


def _salvaged(
    block: str, first_line: int, entry: re.Pattern[str], read: Callable[[str], dict[str, Any] | None]
) -> _Read:
    """The fields of a block that is refused as a whole, each read by itself; as text where that fails too."""
    entries = list(_entries(block, entry))
    if not entries or entries[0][0] is None:
        return _Read(None)
    values: dict[str, Any] = {}
    remarks: list[Remark] = []
    for key, source, line in entries:
        if key is None:
            continue
        own = read(source)
        if own is None:
            text = _as_text(source, entry)
            if _WORD.search(str(text)):
                values[key] = text
                said = f"the value of {key} cannot be read as it stands and is taken as plain text; put it in quotes"
                remarks.append(Remark(Topic.SALVAGED_FIELD, said, first_line + line))
            else:
                said = f"the value of {key} cannot be read and is passed over"
                remarks.append(Remark(Topic.LOST_FIELD, said, first_line + line))
        else:
            values |= own
    return _Read(values, tuple(remarks[:_MOST_TOLD]))


def _entries(block: str, entry: re.Pattern[str]) -> Iterator[tuple[str | None, str, int]]:
    """The top-level fields of a block as (key, source, line from 0); the key is None for what stands before any."""
    key: str | None = None
    held: list[str] = []
    began = 0
    for number, line in enumerate(_LINE_END.split(block)):
        found = entry.match(line)
        if found is None:
            if held or (line.strip() and not line.lstrip().startswith("#")):
                held.append(line)
            continue
        if held:
            yield key, "\n".join(held), began
        key, held, began = found["key"].strip("\"'"), [line], number
    if held:
        yield key, "\n".join(held), began


def _yaml_entry(source: str) -> dict[str, Any] | None:
    try:
        loaded, _ = plain_yaml(source)
    except NotPlain:
        return None
    return loaded if isinstance(loaded, dict) else None


def _toml_entry(source: str) -> dict[str, Any] | None:
    try:
        made = as_plain(tomllib.loads(source))
    except (tomllib.TOMLDecodeError, RecursionError, ValueError, NotPlain):
        return None
    return made if isinstance(made, dict) else None


def _as_text(source: str, entry: re.Pattern[str]) -> str | list[str]:
    """The value of a field as it is written: the items of a list one by one, anything else as one text."""
    found = entry.match(source)
    rest = source[found.end() :] if found else source
    first, *further = rest.split("\n")
    items = [_ITEM.fullmatch(line) for line in further if line.strip()]
    if not first.strip() and items and all(items):
        return [_unquoted(item["value"].strip()) for item in items if item]
    return _unquoted(" ".join(rest.split()))


def _unquoted(text: str) -> str:
    quoted = _QUOTED.fullmatch(text)
    return quoted.group(2) if quoted else text


def _entry_of(fence: str) -> re.Pattern[str]:
    return _YAML_ENTRY if fence == "---" else _TOML_ENTRY


def _line(text: str, start: int) -> tuple[str, int]:
    """The line that begins at `start`, without its end, and where the next one begins."""
    found = _LINE_END.search(text, start)
    return (text[start:], len(text)) if found is None else (text[start : found.start()], found.end())


def _closing(text: str, start: int, fence: str) -> tuple[int, int] | None:
    """Where the line of the closing fence begins, and where the line after it does."""
    position = start
    while position < len(text):
        line, following = _line(text, position)
        if line.rstrip() == fence or (fence == "---" and line.rstrip() == "..."):
            return position, following
        position = following
    return None


def _lines_before(text: str, position: int) -> int:
    """The number of the line that begins at a position, from 1."""
    return 1 + sum(1 for _ in _LINE_END.finditer(text, 0, position))
