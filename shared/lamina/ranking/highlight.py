"""Decides which passage of a text holds most of what is looked for, and shows it as plain text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import AnyStr, Final, NamedTuple

from lamina.index.terms import Term, fold
from lamina.ranking.lookup import TermMatch

LONGEST_SEARCHED: Final = 100_000
"""Characters of a text that are searched for a passage."""
SHORT_TERM: Final = 3
"""A highlight term of so few letters must be the whole word."""
LONGEST_SNIPPET: Final = 240
MOST_HIGHLIGHT_TERMS: Final = 6
MOST_SNIPPET_SIGHTINGS: Final = 16
"""Places of one highlight term that are looked at for a snippet."""
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

HighlightTerms = tuple[tuple[str, float], ...]
"""Beginnings of words to look for, in lower case, with their weights, heaviest first."""


class Sought(NamedTuple):
    """What is looked for: any of its `spellings` (beginnings of words, in lower case) shows it. Weighs above zero."""

    spellings: tuple[str, ...]
    weight: float


class Snippet(NamedTuple):
    """What is shown of a body, and where in it that was seen; `position` is None where nothing was."""

    text: str
    position: int | None


class Passage(NamedTuple):
    """Where a passage begins, what all that is seen in it weighs, and what is seen nowhere in the text.

    `position` is None where nothing is seen at all.
    """

    position: int | None
    weight: float
    unseen: float


def highlight_terms(matches: Sequence[TermMatch]) -> HighlightTerms:
    """What shows that a document holds the words of a query."""
    weights: dict[str, float] = {}
    for match in matches:
        if match.parts or not match.word.surface.isascii():
            weights[match.word.surface.casefold()] = match.weight
        for postings in (match.whole, *match.parts):
            weights.setdefault(common_beginning(postings.term), postings.idf * match.word.term_weight)
        for synonym in match.synonyms:
            weights.setdefault(common_beginning(synonym.term), synonym.idf / 4)
    heaviest = sorted(weights.items(), key=lambda weighed: (-weighed[1], weighed[0]))
    return tuple(heaviest[:MOST_HIGHLIGHT_TERMS])


@lru_cache(maxsize=1024)
def common_beginning(term: Term) -> str:
    """What a word and its stem share: it finds the word's other forms as well. In several languages, the least."""
    return min((_shared(term.name, stem) for stem in term.stems), key=len)


def _shared(name: str, stem: str) -> str:
    shared = next((at for at, (a, b) in enumerate(zip(name, stem, strict=False)) if a != b), len(stem))
    # The stemmer turns a final y into i (policy, policies: polici).
    if shared == len(stem) > SHORT_TERM and stem.endswith("i"):
        shared -= 1
    return name[:shared] if shared > SHORT_TERM else name


def snippet(
    body: str, terms: HighlightTerms, limit: int = LONGEST_SNIPPET, aside: Callable[[], str] = lambda: ""
) -> Snippet:
    """The best-matching passage, at most `limit` characters, cut at word boundaries, without Markdown marks.

    `terms` come with the ranking (`Ranked.highlight_terms`). Where none stands in the body, a passage of what `aside`
    gives is shown, and where none stands there, how the body begins.
    """
    position = in_body = _sighted(body, terms, limit)
    if position is None and terms:
        other = aside()
        position = _sighted(other, terms, limit)
        body = body if position is None else other
    start = 0 if position is None else _passage_start(body, position)
    # Marks fall away in cleaning, hence more is cut out than is shown.
    return Snippet(_cut(plain(body[start : start + 2 * limit]), limit).removesuffix(" —"), in_body)


def _sighted(text: str, terms: HighlightTerms, limit: int) -> int | None:
    """Where the best passage begins; accents are folded away only where nothing is seen otherwise."""
    sought = [Sought((spelling,), weight) for spelling, weight in terms]
    position = best_passage(text, sought, limit - LEAD, MOST_SNIPPET_SIGHTINGS).position
    if position is None and terms and not text.isascii():
        folded = fold(text[:LONGEST_SEARCHED])
        # Where folding changes how long the text is, places in it are not those of the text.
        if len(folded) == len(text[:LONGEST_SEARCHED]):
            position = best_passage(folded, sought, limit - LEAD, MOST_SNIPPET_SIGHTINGS).position
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


def best_passage(text: str, sought: Sequence[Sought], width: int, most_sightings: int) -> Passage:
    """The passage of `width` characters in which what is seen weighs most, each counted once; the first of equals.

    At most so many sightings of one spelling are looked at, so that a long text takes no longer than a short one.
    """
    spellings = [(spelling, number) for number, each in enumerate(sought) for spelling in each.spellings]
    sightings = _sightings(text[:LONGEST_SEARCHED], spellings, most_sightings)
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


def _sightings(text: str, spellings: Sequence[tuple[str, int]], most: int) -> list[tuple[int, int]]:
    """Where spellings stand in the text, ascending, each with the number of what it shows."""
    if all(spelling.isascii() for spelling, _ in spellings):
        # Bytes are lowered and searched several times faster than text with a dash or a quotation mark in it.
        encoded = text.encode("utf-8", "replace")
        encoded_spellings = [(spelling.encode(), number) for spelling, number in spellings]
        places = _find_all(encoded.lower(), encoded_spellings, most)
        return places if len(encoded) == len(text) else _in_characters(encoded, places)
    lowered = text.lower()
    # A few letters grow in lower case; then positions would not fit, and only lower-case words are found.
    return _find_all(lowered if len(lowered) == len(text) else text, spellings, most)


def _in_characters(encoded: bytes, places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    converted: list[tuple[int, int]] = []
    at = characters = 0
    for place, number in places:
        characters += len(encoded[at:place].decode("utf-8", "ignore"))
        at = place
        converted.append((characters, number))
    return converted


def _find_all(text: AnyStr, spellings: Sequence[tuple[AnyStr, int]], most: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for spelling, number in spellings:
        position = text.find(spelling)
        for _ in range(most):
            if position < 0:
                break
            end = position + len(spelling)
            if _stands_alone(text, position, end):
                found.append((position, number))
            position = text.find(spelling, end)
    found.sort()
    return found


def _stands_alone(text: AnyStr, start: int, end: int) -> bool:
    """Whether a word begins at `start`, and ends at `end` where it is short. Text without spaces has no words."""
    if not text[start:end].isascii():
        return True
    if start and text[start - 1 : start].isalnum():
        return False
    return end - start > SHORT_TERM or not text[end : end + 1].isalnum()
