"""Where a Markdown text may be cut: between blocks, which blank lines part outside of code fences."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from lamina.contract.tokens import count_each, count_tokens

_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+\Z")
_FENCE: Final = re.compile(r"[ \t>]*(`{3,}(?=[^`\r\n]*$)|~{3,})", re.MULTILINE)


def blocks(text: str) -> list[str]:
    """The blocks of a text in order, each with the blank lines after it; joined they are the text."""
    found: list[str] = []
    start = at = 0
    fence = ""
    blank = False
    for line in _LINE.findall(text):
        bare = line.strip()
        if bare and blank and not fence:
            found.append(text[start:at])
            start = at
        if (mark := _FENCE.match(line)) is not None:
            if not fence:
                fence = mark[1]
            elif bare.lstrip("> \t").startswith(fence) and not bare.lstrip("> \t").strip(fence[0]):
                fence = ""
        blank = not bare
        at += len(line)
    if start < len(text):
        found.append(text[start:])
    return found


def fitting(text: str, most_tokens: int, *, cut_lines: bool = True) -> str:
    """The longest beginning of a text in whole blocks that costs at most so many cl100k_base tokens.

    Where not one block fits it is of whole lines, where not one line fits of that line's beginning, or of that line
    whole with `cut_lines` false.
    """
    if len(text.encode("utf-8", "replace")) <= most_tokens:
        return text
    for parts in (blocks(text), _LINE.findall(text)):
        taken = "".join(parts[: _first(parts, most_tokens)])
        if taken.strip():
            return taken
    first = str(_LINE.findall(text)[0])
    return _beginning(first, most_tokens) if cut_lines else first


def _first(parts: Sequence[str], most_tokens: int) -> int:
    """How many parts fit; what they cost apart is a guess, what they cost together is counted."""
    count = cost = 0
    for each in count_each(parts):
        if cost + each > most_tokens:
            break
        count, cost = count + 1, cost + each
    while count and count_tokens("".join(parts[:count])) > most_tokens:
        count -= 1
    return count


def _beginning(line: str, most_tokens: int) -> str:
    """The longest beginning of a line that fits, found by halving."""
    fits, fails = 0, len(line) + 1
    while fails - fits > 1:
        middle = (fits + fails) // 2
        if count_tokens(line[:middle]) <= most_tokens:
            fits = middle
        else:
            fails = middle
    return line[:fits]
