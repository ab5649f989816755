"""Decides what a term is: one analysis that turns document text and query text into the same index terms."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import chain
from typing import Final, NamedTuple

import Stemmer

from lamina.corpus.languages import ENGLISH, STEMMED
from lamina.index.english import SINGULARS

ANALYSIS_VERSION: Final = "7"
"""Changes whenever any text could be analysed differently, so that older snapshots are rebuilt."""

LONGEST_TERM: Final = 64
"""Characters of a term that count; a longer run (base64, a minified line) is cut, never lost."""

FORM_MARK: Final = "="
"""Begins the term of an exact form (`=policies`), which stands beside the stem (`polici`) where they differ."""
HEAD_MARK: Final = "^"
"""Begins the term of a word in the head of a document (`^polici`), which stands beside the term itself."""

# Scripts written without spaces (Thai to Khmer, kana, Han, Hangul) are indexed by pairs of characters.
_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
# Combining marks and invisible joiners are no \w in Python, yet they stand inside words.
_MARKS: Final = (
    "\u00ad\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u0670\u0900-\u0963\u0966-\u0dff\u200b-\u200d\ufeff"
)
_EMOJI: Final = "\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff"
_LETTERS: Final = rf"(?:[^\W{_UNSPACED}]+|[{_MARKS}]+)+"
_CHUNK: Final = re.compile(
    rf"[{_UNSPACED}]+"
    rf"|[{_EMOJI}]|(?<!\w)[A-Za-z](?:\+\+|#)(?!\w)"
    rf"|{_LETTERS}(?:(?:[-.@'’]|[/:]{{1,3}}|,(?=\d{{3}})){_LETTERS})*"
)
_UNSPACED_RUN: Final = re.compile(rf"[{_UNSPACED}]+")
SPACED_LETTER: Final = rf"[^\W{_UNSPACED}]"
"""A letter, figure or underscore of a script in which words begin and end."""
PHRASE_WORD: Final = re.compile(rf"[\w{_UNSPACED}]+")
"""A word of a phrase; in scripts without spaces marks that are no \\w stand inside it."""
_SYMBOL: Final = re.compile(rf"[{_EMOJI}]|[A-Za-z](?:\+\+|#)")
_DROPPED_MARKS: Final = re.compile(
    "[\u00ad\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u200b-\u200d\ufeff]"
)
_UMLAUT: Final = re.compile("[äöüÄÖÜ\u0308]")
_UMLAUTS: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})
_SEGMENTS: Final = re.compile(r"[/:@]+")
_EXTENSION: Final = re.compile(r"(?<=..)\.([A-Za-z][A-Za-z0-9]{0,4})$")
_PIECES: Final = re.compile(r"[-_'’,]+")
_HUMPS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# Letters and figures that others write apart: EC660, CT41G, 500ms. One letter (v2, E0008) makes no word.
_NUMBERED: Final = re.compile(r"([^\W\d_]{2,})(\d+)([^\W\d_]*)|(\d+)([^\W\d_]{2,})")
_VOWELLESS_PLURAL: Final = re.compile(r"[b-df-hj-np-tv-xz]{2,}[b-df-hj-np-rtv-xz]s")
_JOINT_DOT: Final = re.compile(r"(?<!\d)\.|\.(?!\d)")
_ACRONYM_PLURAL: Final = re.compile(r"[A-Z]{2,}s")
_CONTRACTION: Final = re.compile(r"['’](?:s|t|re|ve|ll|d|m)$", re.IGNORECASE)


class Term(NamedTuple):
    """A name of a word, folded and in lower case, with its stem: indexed by both where they differ.

    `others` are the stems that it has in further languages than English, where they differ from the first.
    """

    name: str
    stem: str
    others: tuple[str, ...] = ()

    @property
    def stems(self) -> tuple[str, ...]:
        """All stems under which a document may hold it."""
        return (self.stem, *self.others)


@dataclass(frozen=True, slots=True)
class Word:
    """A word or identifier of a text: as it was written, and as terms.

    `parts` are what it is made of (`submit_typeset`: `submittypeset`, then `submit` and `typeset`) and how else
    it is spelled (`schluessel`); a plain word has none.
    """

    surface: str
    whole: Term
    parts: tuple[Term, ...] = ()


def words(text: str, languages: Sequence[str] = ()) -> list[Word]:
    """The words of a text in order, each with its parts. Any string is safe, the cost linear.

    With `languages` (of `STEMMED`, beside English) their terms know their stems in these too.
    """
    found = [word for chunk in _CHUNK.findall(text) for word in _words_of(chunk)]
    return [_in_languages(word, tuple(languages)) for word in found] if languages else found


def terms_in(text: str, language: str) -> Iterator[Term]:
    """The terms of a text in order, wholes before their parts, with their stems in one of the languages `STEMMED`."""
    for chunk in _CHUNK.findall(text):
        for word in _words_of(chunk):
            yield Term(word.whole.name, _stem_as_written(word, language))
            for part in word.parts:
                yield Term(part.name, stem(part.name, language))


def names(text: str) -> Iterator[str]:
    """The names of the words of a text in order, wholes before their parts. Any string is safe, the cost linear."""
    # A long run is not remembered: it will hardly come again, and the memo would hold it.
    return chain.from_iterable(
        [_names(chunk) if len(chunk) <= LONGEST_TERM else _names.__wrapped__(chunk) for chunk in _CHUNK.findall(text)]
    )


def sequence(read: Iterable[Word]) -> Iterator[Term]:
    """The terms that stand one after another in a text: of a compound its parts, else the word itself."""
    return (each for word in read for each in (word.parts or (word.whole,)))


def term(name: str, languages: Sequence[str] = ()) -> Term:
    """A name with its stem, and those that it has in further languages."""
    found = Term(name, stem(name))
    return _with_stems(found, [stem(name, language) for language in languages]) if languages else found


def terms_of(name: str, stemmed: str | None = None) -> tuple[str, ...]:
    """The terms that a name is indexed under: its stem (None: the English one) and, where it differs, its form."""
    stemmed = stem(name) if stemmed is None else stemmed
    return (stemmed,) if stemmed == name else (stemmed, FORM_MARK + name)


@lru_cache(maxsize=1 << 16)
def stem(name: str, language: str = ENGLISH) -> str:
    """The term of a name: its stem in one of the languages `STEMMED`, or the name itself if it is no plain word."""
    # The stemmer keeps the s of a word without a vowel, which here is the plural of an acronym (LLMs, PDFs).
    if _VOWELLESS_PLURAL.fullmatch(name):
        return name[:-1]
    if not name.isalpha():
        return name
    return str(_stemmer(language).stemWord(SINGULARS.get(name, name) if language == ENGLISH else name))


@cache
def _stemmer(language: str) -> Stemmer.Stemmer:
    return Stemmer.Stemmer(STEMMED[language], 0)


@lru_cache(maxsize=1 << 14)
def _in_languages(word: Word, languages: tuple[str, ...]) -> Word:
    """A word whose terms know their stems in further languages."""
    whole = _with_stems(word.whole, [_stem_as_written(word, language) for language in languages])
    return replace(word, whole=whole, parts=tuple(term(part.name, languages) for part in word.parts))


def _with_stems(found: Term, stems: Iterable[str]) -> Term:
    return found._replace(others=tuple(dict.fromkeys(each for each in stems if each != found.stem)))


def _stem_as_written(word: Word, language: str) -> str:
    """The stem of a word by its own letters, accents and all, which are folded after; of a compound by its name."""
    if language == ENGLISH or not word.surface.isalpha() or len(word.surface) > LONGEST_TERM:
        return stem(word.whole.name, language)
    return fold(stem(unicodedata.normalize("NFC", word.surface).casefold(), language))[:LONGEST_TERM]


def fold(text: str) -> str:
    """Text with compatibility forms, accents and pointing folded away; case is kept."""
    if text.isascii():
        return text
    decomposed = _DROPPED_MARKS.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFC", decomposed)


def unspaced(character: str) -> bool:
    """Whether a character is of a script that is written without spaces."""
    return _UNSPACED_RUN.match(character) is not None


def umlauts_spelled_out(text: str) -> str:
    """Text with its umlauts in two letters, as German is written where there are none: Schluessel."""
    return unicodedata.normalize("NFC", text).translate(_UMLAUTS) if _UMLAUT.search(text) else text


def _words_of(chunk: str) -> tuple[Word, ...]:
    return _read(chunk) if len(chunk) <= LONGEST_TERM else _read.__wrapped__(chunk)


def _pairs(run: str) -> tuple[Word, ...]:
    if len(run) == 1:
        return (_word(run, run),)
    return tuple(_word(run[i : i + 2], run[i : i + 2], (run[i], run[i + 1])) for i in range(len(run) - 1))


def _word(surface: str, whole: str, parts: Iterable[str] = ()) -> Word:
    return Word(surface, term(whole), tuple(map(term, parts)))


@lru_cache(maxsize=1 << 14)
def _names(chunk: str) -> tuple[str, ...]:
    return tuple(each.name for word in _words_of(chunk) for each in (word.whole, *word.parts))


@lru_cache(maxsize=1 << 14)
def _read(chunk: str) -> tuple[Word, ...]:
    if _UNSPACED_RUN.match(chunk):
        return _pairs(fold(chunk))
    if _SYMBOL.fullmatch(chunk):
        return (_word(chunk, chunk.lower()),)
    segments = _segments(fold(chunk))
    found = [name for segment in segments for name in _segment_names(segment)]
    if not found:
        return ()
    if (spelled := umlauts_spelled_out(chunk)) is not chunk:
        # Folding makes `schlussel` of Schlüssel, which others write Schluessel.
        others = [name for segment in _segments(fold(spelled)) for name in _segment_names(segment)]
        found += [name for name in others if name not in found]
    if len(segments) == 1:
        return (_word(chunk, found[0], found[1:]),)
    path = "/".join(segment.lower() for segment in segments)[:LONGEST_TERM]
    return (_word(chunk, path, found),)


def _segments(folded: str) -> list[str]:
    return [segment for segment in _SEGMENTS.split(folded) if segment.strip("-_.'’,")]


def _segment_names(segment: str) -> list[str]:
    """Whole first, then parts: of a file name and its extension, of the name alone."""
    suffix = _EXTENSION.search(segment)
    if suffix is None or segment[: suffix.start()].replace(".", "").isdigit():
        return _kebab_names(segment)
    return [_joined(segment), *_kebab_names(segment[: suffix.start()]), _name(suffix.group(1))]


def _kebab_names(segment: str) -> list[str]:
    pieces = [piece for piece in _PIECES.split(_CONTRACTION.sub(_contracted, segment)) if piece.strip(".")]
    if len(pieces) <= 1:
        return _dotted_names(pieces[0]) if pieces else []
    return [_joined(segment), *(name for piece in pieces for name in _dotted_names(piece))]


def _contracted(match: re.Match[str]) -> str:
    ending = match.group()[1:]
    return "" if ending in "sS" else ending


def _dotted_names(piece: str) -> list[str]:
    pieces = [name for name in piece.split(".") if name]
    if len(pieces) == 1:
        return _hump_names(pieces[0])
    return [_joined(piece), *(name for piece in pieces for name in _hump_names(piece))]


def _hump_names(name: str) -> list[str]:
    if not name.isalpha() and (numbered := _NUMBERED.fullmatch(name)):
        return [_name(name), *(part for run in numbered.groups() if run for part in _hump_names(run))]
    if _ACRONYM_PLURAL.fullmatch(name) or name.islower() or name.isupper() or not name.isascii():
        return [_name(name)]
    humps = _HUMPS.split(name)
    # A hump of one letter (OAuth, LaTeX, iPhone) is spelling, not structure.
    if len(humps) == 1 or min(map(len, humps)) < 2:
        return [_name(name)]
    return [_name(name), *map(_name, humps)]


def _joined(name: str) -> str:
    """One name for every way of joining the same words: kebab-case, snake_case, camelCase, dotted.name."""
    # A dot between digits means something (1.2 is not 12); any other is only a joint.
    return _name(_JOINT_DOT.sub("", _PIECES.sub("", name)))


def _name(text: str) -> str:
    return text.casefold()[:LONGEST_TERM]
