"""Decides how a query is read: its words with their weights, its quoted phrases, its last unfinished word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from lamina.index.stopwords import COMMON_WORDS, STOP_WORDS
from lamina.index.terms import PHRASE_WORD, Word, fold, sequence, stem, umlauts_spelled_out, unspaced, words

MOST_WORDS: Final = 128
"""Distinct words of a query that are searched; the rest are ignored, so that no query takes unbounded time."""
MOST_PARTS: Final = 32
"""Parts of one identifier that are looked up, so that no word costs more than a long query does."""
MOST_TIMES: Final = 100
"""How often a repeated word counts: a text that says nothing else must not outgrow what a score is kept in."""
MOST_PHRASES: Final = 8
LONGEST_SEARCH: Final = 16
"""Words of a query in which quotation marks ask for a phrase; a longer text that holds some is prose."""
COMMON_WORD_WEIGHT: Final = 0.4
"""What a word of every subject counts, by what its rarity says."""

_QUOTED: Final = re.compile(r'["“”„«»]([^"“”„«»]{2,400})["“”„«»]')


class QueryWord(NamedTuple):
    """A distinct word of a query: names as in `lamina.index.terms.Word`, and how often it was asked.

    `telling`, 0 to 1, is how much it says of what is looked for.
    """

    surface: str
    whole: str
    parts: tuple[str, ...]
    times: int
    telling: float


class Phrase(NamedTuple):
    """A quoted phrase: its words as they are compared, in one or two spellings, and terms that its holders hold."""

    spellings: tuple[tuple[str, ...], ...]
    terms: frozenset[str]


@dataclass(frozen=True, slots=True)
class Query:
    """A read query.

    `words` are distinct. `unfinished` is the last word where it may be the beginning of a longer one.
    """

    words: tuple[QueryWord, ...]
    phrases: tuple[Phrase, ...]
    unfinished: QueryWord | None


def read(text: str, *, prefix: bool = False) -> Query:
    """Reads a query. Stop words are left out unless there is nothing else. Any string is safe."""
    every = words(text)
    telling = [word for word in every if word.whole not in STOP_WORDS] or every
    firsts: list[Word] = []
    times: dict[str, int] = {}
    for word in telling:
        if word.whole in times:
            times[word.whole] += 1
        elif len(firsts) < MOST_WORDS:
            times[word.whole] = 1
            firsts.append(word)
    return Query(
        words=tuple([_query_word(word, times[word.whole]) for word in firsts]),
        phrases=_phrases(text) if len(every) <= LONGEST_SEARCH else (),
        unfinished=_unfinished(text, every) if prefix else None,
    )


def _query_word(word: Word, times: int) -> QueryWord:
    telling = COMMON_WORD_WEIGHT if word.whole in COMMON_WORDS else 1.0
    return QueryWord(word.surface, word.whole, word.parts[:MOST_PARTS], min(times, MOST_TIMES), telling)


def phrase_words(text: str) -> tuple[str, ...]:
    """The words of a quoted phrase as they are compared: folded, lower case, punctuation aside."""
    return tuple(PHRASE_WORD.findall(fold(text).casefold()))


def _phrases(text: str) -> tuple[Phrase, ...]:
    quoted = (match.group(1) for match in _QUOTED.finditer(text))
    return tuple(dict.fromkeys(_phrase(one) for one in quoted if _is_phrase(phrase_words(one))))[:MOST_PHRASES]


def _is_phrase(quoted: Sequence[str]) -> bool:
    """One quoted word is emphasis, as in: what "complete" means. More than a search has are prose."""
    if len(quoted) == 1:
        return len(quoted[0]) > 1 and any(map(unspaced, quoted[0]))
    return 1 < len(quoted) <= LONGEST_SEARCH


def _phrase(quoted: str) -> Phrase:
    spellings = dict.fromkeys((phrase_words(quoted), phrase_words(umlauts_spelled_out(quoted))))
    # A word with an umlaut has two spellings, of which a document may hold either.
    plain = [word for word in words(quoted) if umlauts_spelled_out(word.surface) is word.surface]
    return Phrase(tuple(spellings), frozenset(map(stem, sequence(plain))))


def _unfinished(text: str, every: Sequence[Word]) -> QueryWord | None:
    """The last word, unless a space or another mark after it says that it is finished."""
    if not every or not text.endswith(every[-1].surface):
        return None
    return _query_word(every[-1], 1)
