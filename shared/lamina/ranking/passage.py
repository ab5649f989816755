"""Decides which passage of a text holds most of what is looked for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import AnyStr, Final, NamedTuple

from lamina.index.terms import stem

LONGEST_SEARCHED: Final = 100_000
"""Characters of a text that are searched for a passage."""
SHORT_NEEDLE: Final = 3
"""A needle of so few letters must be the whole word."""


class Sought(NamedTuple):
    """What is looked for: any of its `needles` (beginnings of words, in lower case) shows it. Weighs above zero."""

    needles: tuple[str, ...]
    weight: float


class Passage(NamedTuple):
    """Where a passage begins, what all that is seen in it weighs, and what is seen nowhere in the text.

    `position` is None where nothing is seen at all.
    """

    position: int | None
    weight: float
    unseen: float


@lru_cache(maxsize=1024)
def beginning(name: str) -> str:
    """What a word and its stem share: it finds the word's other forms as well."""
    stemmed = stem(name)
    shared = next((at for at, (a, b) in enumerate(zip(name, stemmed, strict=False)) if a != b), len(stemmed))
    # The stemmer turns a final y into i (policy, policies: polici).
    if shared == len(stemmed) > SHORT_NEEDLE and stemmed.endswith("i"):
        shared -= 1
    return name[:shared] if shared > SHORT_NEEDLE else name


def best_passage(text: str, sought: Sequence[Sought], width: int, most_sightings: int) -> Passage:
    """The passage of `width` characters in which what is seen weighs most, each counted once; the first of equals.

    At most so many sightings of one needle are looked at, so that a long text takes no longer than a short one.
    """
    needles = [(needle, number) for number, each in enumerate(sought) for needle in each.needles]
    sightings = _sightings(text[:LONGEST_SEARCHED], needles, most_sightings)
    if not sightings:
        return Passage(None, 0.0, sum(each.weight for each in sought))
    best, best_weight = sightings[0][0], 0.0
    held = [0] * len(sought)
    weight = 0.0
    first = 0
    for position, number in sightings:
        if not held[number]:
            weight += sought[number].weight
        held[number] += 1
        while sightings[first][0] < position - width:
            gone = sightings[first][1]
            held[gone] -= 1
            if not held[gone]:
                weight -= sought[gone].weight
            first += 1
        if weight > best_weight + 1e-9:
            best, best_weight = sightings[first][0], weight
    seen = {number for _, number in sightings}
    return Passage(best, best_weight, sum(each.weight for number, each in enumerate(sought) if number not in seen))


def _sightings(text: str, needles: Sequence[tuple[str, int]], most: int) -> list[tuple[int, int]]:
    """Where needles stand in the text, ascending, each with the number of what it shows."""
    if all(needle.isascii() for needle, _ in needles):
        # Bytes are lowered and searched several times faster than text with a dash or a quotation mark in it.
        encoded = text.encode("utf-8", "replace")
        places = _find_all(encoded.lower(), [(needle.encode(), number) for needle, number in needles], most)
        return places if len(encoded) == len(text) else _in_characters(encoded, places)
    lowered = text.lower()
    # A few letters grow in lower case; then positions would not fit, and only lower-case words are found.
    return _find_all(lowered if len(lowered) == len(text) else text, needles, most)


def _in_characters(encoded: bytes, places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    converted: list[tuple[int, int]] = []
    at = characters = 0
    for place, number in places:
        characters += len(encoded[at:place].decode("utf-8", "ignore"))
        at = place
        converted.append((characters, number))
    return converted


def _find_all(text: AnyStr, needles: Sequence[tuple[AnyStr, int]], most: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for needle, number in needles:
        position = text.find(needle)
        for _ in range(most):
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
