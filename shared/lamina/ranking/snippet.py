"""Decides which passage of a document shows best why it matched, as plain text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from lamina.index.terms import fold
from lamina.ranking.evidence import Evidence
from lamina.ranking.passage import LONGEST_SEARCHED, Sought, beginning, best_passage

LONGEST_SNIPPET: Final = 240
MOST_NEEDLES: Final = 6
MOST_SIGHTINGS: Final = 16
"""Places looked at for one needle."""
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
        if each.parts or not each.word.surface.isascii():
            weights[each.word.surface.casefold()] = each.weight
        for leaf in (each.whole, *each.parts):
            weights.setdefault(beginning(leaf.name), leaf.idf * each.word.telling)
        for synonym in each.synonyms:
            weights.setdefault(beginning(synonym.name), synonym.idf / 4)
    heaviest = sorted(weights.items(), key=lambda needle: (-needle[1], needle[0]))
    return tuple(heaviest[:MOST_NEEDLES])


def snippet(body: str, needles: Needles, limit: int = LONGEST_SNIPPET, aside: Callable[[], str] = lambda: "") -> str:
    """The best-matching passage, at most `limit` characters, cut at word boundaries, without Markdown marks.

    `needles` come with the ranking (`Ranked.needles`). Where none stands in the body, a passage of what `aside`
    gives is shown, and where none stands there, how the body begins.
    """
    position = _sighted(body, needles, limit)
    if position is None and needles:
        other = aside()
        position = _sighted(other, needles, limit)
        body = body if position is None else other
    start = 0 if position is None else _passage_start(body, position)
    # Marks fall away in cleaning, hence more is cut out than is shown.
    return _cut(plain(body[start : start + 2 * limit]), limit).removesuffix(" —")


def _sighted(text: str, needles: Needles, limit: int) -> int | None:
    """Where the best passage begins; accents are folded away only where nothing is seen otherwise."""
    sought = [Sought((needle,), weight) for needle, weight in needles]
    position = best_passage(text, sought, limit - LEAD, MOST_SIGHTINGS).position
    if position is None and needles and not text.isascii():
        folded = fold(text[:LONGEST_SEARCHED])
        # Where folding changes how long the text is, places in it are not those of the text.
        if len(folded) == len(text[:LONGEST_SEARCHED]):
            position = best_passage(folded, sought, limit - LEAD, MOST_SIGHTINGS).position
    return position


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
