"""Decides which passage of a document shows best why it matched, as plain text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from os.path import commonprefix
from typing import Final

from lamina.index.terms import stem
from lamina.ranking.evidence import Evidence

LONGEST_SNIPPET: Final = 240
MOST_NEEDLES: Final = 12
MOST_SIGHTINGS: Final = 40
"""Places looked at for one needle, so that a long document takes no longer than a short one."""
SHORT_NEEDLE: Final = 3
"""A needle of so few letters must be the whole word."""
LEAD: Final = 60
"""Characters before the first sighting within which a snippet looks for the start of its line or sentence."""

_MARKS: Final = (
    (re.compile(r"^\s*(?:```|~~~).*$|^\s*(?:[-*_]\s*){3,}$|^[\s|:-]+$", re.MULTILINE), " "),
    (re.compile(r"!?\[([^\]\n]*)\](?:\([^)\s]*(?:\s[^)]*)?\)|\[[^\]\n]*\])"), r"\1"),
    (re.compile(r"<!--.*?-->|</?[A-Za-z][^<>]*>|<(?=https?:)|(?<=\S)>(?=\s)"), " "),
    (re.compile(r"^[ \t]*(?:>[ \t]?)+|^[ \t]*#{1,6}[ \t]+|^[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t])?", re.MULTILINE), ""),
    (re.compile(r"[*`~]+|\\(?=[^\w\s])|(?<!\w)_+(?=\w)|(?<=\w)_+(?!\w)|\s\|\s?|^\||\|$", re.MULTILINE), " "),
)
_SPACES: Final = re.compile(r"\s+")
_SPACE_BEFORE_STOP: Final = re.compile(r"\s+([.,;:!?)\]])")


Needles = tuple[tuple[str, float], ...]
"""Beginnings of words to look for, in lower case, with their weights, heaviest first."""


def needles_of(evidence: Sequence[Evidence]) -> Needles:
    """What shows that a document holds the words of a query."""
    weights: dict[str, float] = {}
    for each in evidence:
        if each.parts:
            weights[each.word.surface.casefold()] = each.weight
        for leaf in each.parts or (each.whole,):
            # What a word and its stem share finds the word's other forms as well.
            shared = commonprefix([leaf.name, stem(leaf.name)])
            needle = shared[:-1] if len(shared) > SHORT_NEEDLE and shared.endswith("i") else shared
            weights.setdefault(needle or leaf.name, leaf.stemmed.idf)
    heaviest = sorted(weights.items(), key=lambda needle: (-needle[1], needle[0]))
    return tuple(heaviest[:MOST_NEEDLES])


def snippet(body: str, needles: Needles, limit: int = LONGEST_SNIPPET) -> str:
    """The best-matching passage, at most `limit` characters, cut at word boundaries, without Markdown marks.

    `needles` come with the ranking (`Ranked.needles`). Where none stands in the body the snippet is its beginning.
    """
    start = _best_start(body, needles, limit)
    # Marks fall away in cleaning, hence more is cut out than is shown.
    return _cut(plain(body[start : start + 3 * limit]), limit)


def plain(markdown: str) -> str:
    """Markdown with its marks removed and its lines joined."""
    text = markdown
    for pattern, replacement in _MARKS:
        text = pattern.sub(replacement, text)
    return _SPACE_BEFORE_STOP.sub(r"\1", _SPACES.sub(" ", text)).strip()


def _best_start(body: str, needles: Needles, limit: int) -> int:
    sightings = _sightings(body, needles)
    if not sightings:
        return 0
    best, best_weight = sightings[0][0], 0.0
    width = limit - LEAD
    first = 0
    held: dict[int, int] = {}
    weight = 0.0
    for position, needle in sightings:
        if held.get(needle, 0) == 0:
            weight += needles[needle][1]
        held[needle] = held.get(needle, 0) + 1
        while sightings[first][0] < position - width:
            gone = sightings[first][1]
            held[gone] -= 1
            if held[gone] == 0:
                weight -= needles[gone][1]
            first += 1
        if weight > best_weight + 1e-9:
            best, best_weight = sightings[first][0], weight
    return _passage_start(body, best)


def _sightings(body: str, needles: Needles) -> list[tuple[int, int]]:
    lowered = body.lower()
    if len(lowered) != len(body):
        lowered = body
    found: list[tuple[int, int]] = []
    for number, (needle, _) in enumerate(needles):
        position = lowered.find(needle)
        for _ in range(MOST_SIGHTINGS):
            if position < 0:
                break
            end = position + len(needle)
            if _stands_alone(lowered, position, end):
                found.append((position, number))
            position = lowered.find(needle, end)
    found.sort()
    return found


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether a word begins at `start`, and ends at `end` where it is short. Text without spaces has no words."""
    if not text[start].isascii():
        return True
    if start and text[start - 1].isalnum():
        return False
    return end - start > SHORT_NEEDLE or not text[end : end + 2].rstrip("s").isalnum()


def _passage_start(body: str, position: int) -> int:
    lead = body[max(0, position - LEAD) : position]
    for mark in ("\n", ". ", "? ", "! "):
        at = lead.rfind(mark)
        if at >= 0:
            return position - len(lead) + at + len(mark)
    if position <= LEAD:
        return 0
    space = lead.find(" ", LEAD // 2)
    return position if space < 0 else position - len(lead) + space + 1


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    if text[limit].isspace():
        return text[:limit].rstrip()
    space = text.rfind(" ", limit // 2, limit)
    return text[: space if space > 0 else limit].rstrip()
