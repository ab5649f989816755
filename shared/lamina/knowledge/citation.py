"""Which bytes of a raw file are cited: whole lines around where the query's words stand closest together."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from typing import Final

from lamina.ranking.highlight import HighlightTerms

MOST_SIGHTINGS: Final = 200
"""Places looked at for one highlight, so that a long file takes no longer than a short one."""
_LEAD_SHARE: Final = 3
"""At most one part in so many of a passage stands before the first word that was looked for."""


@dataclass(frozen=True, slots=True)
class Cut:
    """`content[start:end]`, which is whole characters; its lines are numbered from 1, both ends included."""

    start: int
    end: int
    first_line: int
    last_line: int


def cut(content: bytes, text: str, highlights: HighlightTerms, most_bytes: int) -> Cut:
    """The passage of a file to show: at most `most_bytes`, whole lines unless a single line is longer.

    `text` is the content decoded. A line ends with its line feed. Without any highlight it is the file's beginning.
    """
    starts = _line_starts(content)
    if len(content) <= most_bytes:
        return _lines(starts, len(content), 0, max(len(starts) - 1, 0))
    sightings = _sightings(text, highlights)
    first, last, at = _best_lines(starts, len(content), sightings, highlights, most_bytes)
    ends = [*starts[1:], len(content)]
    if ends[last] - starts[first] > most_bytes:
        return _within_line(content, starts[first], ends[first], at, first, most_bytes)
    lead = (most_bytes - (ends[last] - starts[first])) // _LEAD_SHARE
    opening = first
    while opening > 0 and starts[first] - starts[opening - 1] <= lead:
        opening -= 1
        if content.startswith(b"#", starts[opening]):
            break
    first = opening
    while last + 1 < len(starts) and ends[last + 1] - starts[first] <= most_bytes:
        if content.startswith(b"#", starts[last + 1]):
            break
        last += 1
    return _lines(starts, len(content), first, last)


def _line_starts(content: bytes) -> list[int]:
    starts = [0]
    at = content.find(b"\n")
    while at >= 0:
        starts.append(at + 1)
        at = content.find(b"\n", at + 1)
    if len(starts) > 1 and starts[-1] == len(content):
        starts.pop()  # the last line feed ends a line, it does not begin one
    return starts


def _lines(starts: list[int], size: int, first: int, last: int) -> Cut:
    end = starts[last + 1] if last + 1 < len(starts) else size
    return Cut(starts[first], end, first + 1, last + 1)


def _sightings(text: str, highlights: HighlightTerms) -> list[tuple[int, int]]:
    """(byte offset, highlight) of words that begin with a highlight, in order."""
    lowered = text.lower()
    if len(lowered) != len(text):
        lowered = text
    found: list[tuple[int, int]] = []
    for number, (highlight, _) in enumerate(highlights):
        position = lowered.find(highlight)
        for _ in range(MOST_SIGHTINGS):
            if position < 0:
                break
            if position == 0 or not (highlight[0].isascii() and lowered[position - 1].isalnum()):
                found.append((position, number))
            position = lowered.find(highlight, position + len(highlight))
    found.sort()
    if text.isascii():
        return found
    sightings, before, size = [], 0, 0
    for position, number in found:
        size += len(text[before:position].encode())
        before = position
        sightings.append((size, number))
    return sightings


def _best_lines(
    starts: list[int], size: int, sightings: list[tuple[int, int]], highlights: HighlightTerms, most_bytes: int
) -> tuple[int, int, int]:
    """First and last line of the span that holds most of the highlights' weight, and the byte of its first one."""
    ends = [*starts[1:], size]
    lines = [bisect_right(starts, position) - 1 for position, _ in sightings]
    best, best_weight = (0, 0, 0), 0.0
    held: Counter[int] = Counter()
    opening = 0
    for number, (_, highlight) in enumerate(sightings):
        held[highlight] += 1
        while lines[opening] < lines[number] and ends[lines[number]] - starts[lines[opening]] > most_bytes:
            held[sightings[opening][1]] -= 1
            opening += 1
        weight = sum(highlights[entry][1] for entry, count in held.items() if count > 0)
        if weight > best_weight + 1e-9:
            best, best_weight = (lines[opening], lines[number], sightings[opening][0]), weight
    return best


def _within_line(content: bytes, start: int, end: int, at: int, line: int, most_bytes: int) -> Cut:
    """A part of a line that is longer than a passage may be, cut between characters."""
    opening = max(start, min(at - most_bytes // _LEAD_SHARE, end - most_bytes))
    while opening > start and content[opening] & 0xC0 == 0x80:
        opening -= 1
    closing = min(opening + most_bytes, end)
    while closing < len(content) and closing > opening and content[closing] & 0xC0 == 0x80:
        closing -= 1
    return Cut(opening, closing, line + 1, line + 1)
