"""Decides which passage of a document shows best why it matched, as plain text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import AnyStr, Final

from lamina.index.terms import stem
from lamina.ranking.evidence import Evidence

LONGEST_SNIPPET: Final = 240
MOST_NEEDLES: Final = 6
MOST_SIGHTINGS: Final = 16
"""Places looked at for one needle, so that a long document takes no longer than a short one."""
LONGEST_SEARCHED: Final = 100_000
"""Characters of a body that are searched for a passage."""
SHORT_NEEDLE: Final = 3
"""A needle of so few letters must be the whole word."""
LEAD: Final = 60
"""Characters before the first sighting within which a snippet looks for the start of its line or sentence."""

_HEADING: Final = re.compile(r"^[ \t]{0,3}#{1,6}[ \t]+([^\n]*?)[ \t#]*$", re.MULTILINE)
_LINE_MARKS: Final = re.compile(
    r"^[ \t]*(?:(?:>[ \t]?)+|\#{1,6}[ \t]+|(?:```|~~~).*$|(?:[-*_][ \t]*){3,}$|[|:\s-]+$|(?:[-*+]|\d{1,3}[.)])[ \t]+)+",
    re.MULTILINE,
)
_LINKS: Final = re.compile(r"!?\[([^\]\[\n]*)\](?:\([^)\n]*\)?|\[[^\]\n]*\])")
_TAGS: Final = re.compile(r"<!--.*?-->|</?[A-Za-z][^<>\n]*>")
_INLINE_MARKS: Final = re.compile(r"[*`|]+|~~+|\\(?=[^\w\s])|(?<!\w)_+|_+(?!\w)")
_RARE_MARKS: Final = re.compile(r"[_\\~]")
_MARKED: Final = re.compile(r"[*`|~\\<\[_]")

Needles = tuple[tuple[str, float], ...]
"""Beginnings of words to look for, in lower case, with their weights, heaviest first."""


def needles_of(evidence: Sequence[Evidence]) -> Needles:
    """What shows that a document holds the words of a query."""
    weights: dict[str, float] = {}
    for each in evidence:
        if each.parts:
            weights[each.word.surface.casefold()] = each.weight
        for leaf in each.parts or (each.whole,):
            weights.setdefault(_beginning(leaf.name), leaf.idf * each.word.telling)
        for synonym in each.synonyms:
            weights.setdefault(_beginning(synonym.name), synonym.idf / 4)
    heaviest = sorted(weights.items(), key=lambda needle: (-needle[1], needle[0]))
    return tuple(heaviest[:MOST_NEEDLES])


def snippet(body: str, needles: Needles, limit: int = LONGEST_SNIPPET) -> str:
    """The best-matching passage, at most `limit` characters, cut at word boundaries, without Markdown marks.

    `needles` come with the ranking (`Ranked.needles`). Where none stands in the body, the snippet is how the body
    begins.
    """
    start = _best_start(body[:LONGEST_SEARCHED], needles, limit)
    # Marks fall away in cleaning, hence more is cut out than is shown.
    return _cut(plain(body[start : start + 2 * limit]), limit).removesuffix(" —")


def plain(markdown: str) -> str:
    """Markdown with its marks removed and its lines joined."""
    # A dash tells a heading from the sentence that follows it.
    text = _LINE_MARKS.sub("", _HEADING.sub(r"\1 —", markdown) if "#" in markdown else markdown)
    if _MARKED.search(text):
        text = _TAGS.sub(" ", _LINKS.sub(r"\1", text))
        if _RARE_MARKS.search(text):
            text = _INLINE_MARKS.sub("", text)
        else:
            text = text.replace("*", "").replace("`", "").replace("|", "")
    return " ".join(text.split()).removesuffix(" —")


@lru_cache(maxsize=1024)
def _beginning(name: str) -> str:
    """What a word and its stem share: it finds the word's other forms as well."""
    stemmed = stem(name)
    shared = next((at for at, (a, b) in enumerate(zip(name, stemmed, strict=False)) if a != b), len(stemmed))
    # The stemmer turns a final y into i (policy, policies: polici).
    if shared == len(stemmed) > SHORT_NEEDLE and stemmed.endswith("i"):
        shared -= 1
    return name[:shared] if shared > SHORT_NEEDLE else name


def _best_start(body: str, needles: Needles, limit: int) -> int:
    """Where the passage begins in which the needles seen weigh most, each counted once; the first of equals."""
    sightings = _sightings(body, needles)
    if not sightings:
        return 0
    best, best_weight = sightings[0][0], 0.0
    width = limit - LEAD
    held = [0] * len(needles)
    weight = 0.0
    first = 0
    for position, needle in sightings:
        if not held[needle]:
            weight += needles[needle][1]
        held[needle] += 1
        while sightings[first][0] < position - width:
            gone = sightings[first][1]
            held[gone] -= 1
            if not held[gone]:
                weight -= needles[gone][1]
            first += 1
        if weight > best_weight + 1e-9:
            best, best_weight = sightings[first][0], weight
    return _passage_start(body, best)


def _sightings(body: str, needles: Needles) -> list[tuple[int, int]]:
    """Where needles stand in the body, ascending, each with the number of the needle."""
    if all(needle.isascii() for needle, _ in needles):
        # Bytes are lowered and searched several times faster than text with a dash or a quotation mark in it.
        encoded = body.encode("utf-8", "replace")
        places = _find_all(encoded.lower(), [needle.encode() for needle, _ in needles])
        return places if len(encoded) == len(body) else _in_characters(encoded, places)
    lowered = body.lower()
    # A few letters grow in lower case; then positions would not fit, and only lower-case words are found.
    return _find_all(lowered if len(lowered) == len(body) else body, [needle for needle, _ in needles])


def _in_characters(encoded: bytes, places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    converted: list[tuple[int, int]] = []
    at = characters = 0
    for place, number in places:
        characters += len(encoded[at:place].decode("utf-8", "ignore"))
        at = place
        converted.append((characters, number))
    return converted


def _find_all(text: AnyStr, needles: Sequence[AnyStr]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for number, needle in enumerate(needles):
        position = text.find(needle)
        for _ in range(MOST_SIGHTINGS):
            if position < 0:
                break
            end = position + len(needle)
            if _stands_alone(text, position, end):
                found.append((position, number))
            position = text.find(needle, end)
    found.sort()
    return found


def _stands_alone(text: AnyStr, start: int, end: int) -> bool:
    """Whether a word begins at `start`, and ends at `end` where it is short. Text without spaces has no words."""
    if not text[start:end].isascii():
        return True
    if start and text[start - 1 : start].isalnum():
        return False
    return end - start > SHORT_NEEDLE or not text[end : end + 1].isalnum()


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
