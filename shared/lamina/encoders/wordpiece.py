"""Text → numbers of word pieces, as BERT's uncased vocabulary counts them.

Source: J. Devlin et al., BERT, 2018, and M. Schuster and K. Nakajima, Japanese and Korean voice search, 2012, for the
longest-match-first cut of a word. The tests hold it against the library `tokenizers`.
"""

from __future__ import annotations

import gzip
import unicodedata
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final

UNKNOWN: Final = 100
FIRST: Final = 101
LAST: Final = 102
LONGEST_WORD: Final = 100
"""Characters; a longer word is unknown."""
# The scripts whose characters are words of their own: the blocks of CJK ideographs.
_IDEOGRAPHS: Final = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)
_NO_TEXT: Final = frozenset({"Cc", "Cf", "Co", "Cs"})


def token_ids(text: str, most: int) -> list[int]:
    """The first `most` numbers of a text, the marks of its beginning and end among them.

    >>> token_ids("Déjà-vu", 8)
    [101, 19569, 3900, 1011, 24728, 102]
    """
    ids = [FIRST]
    for word in _words(text):
        ids += _pieces(word)
        if len(ids) >= most:
            break
    return [*ids[: most - 1], LAST]


def _words(text: str) -> list[str]:
    """Lower-case words without accents; each mark and each ideograph is one of its own."""
    kept = "".join(map(_spaced, text))
    return "".join(map(_bare, unicodedata.normalize("NFD", kept))).split()


@lru_cache(maxsize=20_000)
def _spaced(character: str) -> str:
    code = ord(character)
    if character in "\t\n\r":
        return " "
    if code in (0, 0xFFFD) or unicodedata.category(character) in _NO_TEXT:
        return ""
    return f" {character} " if any(first <= code <= last for first, last in _IDEOGRAPHS) else character


@lru_cache(maxsize=20_000)
def _bare(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Mn":
        return ""
    # Every mark of ASCII parts words, also those that Unicode calls symbols.
    is_mark = category.startswith("P") or (character.isascii() and character.isprintable() and not character.isalnum())
    return f" {character} " if is_mark else character.lower()


@lru_cache(maxsize=20_000)
def _pieces(word: str) -> tuple[int, ...]:
    """The longest pieces of the vocabulary from left to right; unknown as a whole where one is missing."""
    if len(word) > LONGEST_WORD:
        return (UNKNOWN,)
    vocabulary = _vocabulary()
    pieces: list[int] = []
    start = 0
    while start < len(word):
        mark = "##" if start else ""
        end = next((end for end in range(len(word), start, -1) if mark + word[start:end] in vocabulary), None)
        if end is None:
            return (UNKNOWN,)
        pieces.append(vocabulary[mark + word[start:end]])
        start = end
    return tuple(pieces)


@cache
def _vocabulary() -> dict[str, int]:
    """Each piece's number, which is its line in the file."""
    packed = (files("lamina.encoders") / "vocabulary" / "bert-uncased.txt.gz").read_bytes()
    return {piece: number for number, piece in enumerate(gzip.decompress(packed).decode("utf-8").split("\n"))}
