"""Decides what a query asks for: its words as terms with their weights, and its quoted phrases."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from lamina.corpus.languages import ENGLISH, STOP_WORDS, stop_words
from lamina.index.english import COMMON_WORDS
from lamina.index.terms import (
    PHRASE_WORD,
    Term,
    Word,
    fold,
    sequence,
    umlauts_spelled_out,
    unspaced,
    words,
)

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
    """A distinct word of a query: as it was written, as terms, and how often it was asked.

    `whole` and `parts` are as in `lamina.index.terms.Word`. `term_weight`, 0 to 1, is what the word counts by what it
    says of a subject. `unfinished` marks the beginning of a word that is still being typed.
    """

    surface: str
    whole: Term
    parts: tuple[Term, ...]
    times: int
    term_weight: float
    unfinished: bool = False


class Phrase(NamedTuple):
    """A quoted phrase: its words as they are compared, in one or two spellings, and what its holders hold.

    Of each of `stems`, which are those of one word in the languages of the index, they hold at least one.
    """

    spellings: tuple[tuple[str, ...], ...]
    stems: frozenset[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Query:
    """An analysed query. `words` are distinct, the unfinished one last."""

    words: tuple[QueryWord, ...]
    phrases: tuple[Phrase, ...]


def analyse(text: str, *, prefix: bool = False, languages: Sequence[str] = ()) -> Query:
    """Analyses a query. Stop words are left out unless there is nothing else. Any string is safe.

    `prefix` says that the last word may be the beginning of a longer one. `languages` are those of the index beside
    English: words get their stems in each of them, and the stop words are those of the query's own.
    """
    every = words(text, languages)
    saying_nothing = _stop_words(every, languages) if languages else STOP_WORDS
    asked = [word for word in every if word.whole.name not in saying_nothing] or every
    firsts: list[Word] = []
    times: dict[Term, int] = {}
    for word in asked:
        if word.whole in times:
            times[word.whole] += 1
        elif len(firsts) < MOST_WORDS:
            times[word.whole] = 1
            firsts.append(word)
    found = [_query_word(word, times[word.whole]) for word in firsts]
    # A space or another mark after a word says that it is finished.
    if prefix and every and text.endswith(every[-1].surface):
        last = _query_word(every[-1], 1)._replace(unfinished=True)
        found = [*(word for word in found if word.whole != last.whole), last]
    return Query(tuple(found), _phrases(text, languages) if len(every) <= LONGEST_SEARCH else ())


def _stop_words(asked: Sequence[Word], languages: Sequence[str]) -> frozenset[str]:
    """The stop words, folded, of the language that most of a query's words are stop words of; English before others."""
    known = [frozenset(map(fold, stop_words(language))) for language in (ENGLISH, *languages)]
    return max(known, key=lambda listed: sum(word.whole.name in listed for word in asked))


def _query_word(word: Word, times: int) -> QueryWord:
    term_weight = COMMON_WORD_WEIGHT if word.whole.name in COMMON_WORDS else 1.0
    return QueryWord(word.surface, word.whole, word.parts[:MOST_PARTS], min(times, MOST_TIMES), term_weight)


def _phrases(text: str, languages: Sequence[str]) -> tuple[Phrase, ...]:
    quoted = (_phrase(match.group(1), languages) for match in _QUOTED.finditer(text))
    return tuple(dict.fromkeys(phrase for phrase in quoted if phrase is not None))[:MOST_PHRASES]


def _phrase(quoted: str, languages: Sequence[str]) -> Phrase | None:
    """A quoted phrase, its words folded, in lower case, punctuation aside.

    None for a single word, which is emphasis, as in: what "complete" means; and for more words than a search has,
    which are prose.
    """
    # A word with an umlaut has two spellings, of which a document may hold either.
    spellings = [PHRASE_WORD.findall(fold(text).casefold()) for text in (quoted, umlauts_spelled_out(quoted))]
    first = spellings[0]
    unspaced_text = len(first) == 1 and len(first[0]) > 1 and any(map(unspaced, first[0]))
    if not (unspaced_text or 1 < len(first) <= LONGEST_SEARCH):
        return None
    plain = [word for word in words(quoted, languages) if umlauts_spelled_out(word.surface) is word.surface]
    stems = frozenset(each.stems for each in sequence(plain))
    return Phrase(tuple(dict.fromkeys(map(tuple, spellings))), stems)
