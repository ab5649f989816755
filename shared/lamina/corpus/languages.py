"""Decides which language a document is written in: by what it says itself, else where it lies, else its text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from lamina.corpus.prose import code_spans

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

ENGLISH: Final = "en"
STEMMED: Final[Mapping[str, str]] = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek", "en": "english",
    "eo": "esperanto", "es": "spanish", "et": "estonian", "eu": "basque", "fa": "persian", "fi": "finnish",
    "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian", "hy": "armenian", "id": "indonesian",
    "it": "italian", "lt": "lithuanian", "ne": "nepali", "nl": "dutch", "no": "norwegian", "pl": "polish",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "st": "sesotho", "sv": "swedish",
    "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
"""Languages whose words have rules for their endings: two letters → the name that Snowball gives them."""
UNSTEMMED: Final = ("bg", "he", "ja", "ko", "sk", "uk", "vi", "zh")
"""Further languages that are told apart, whose words are found as they stand."""
LANGUAGES: Final = tuple(sorted((*STEMMED, *UNSTEMMED)))

_SAME: Final = {"nb": "no", "nn": "no", "in": "id", "iw": "he", "ji": "yi"}
_NAMED: Final = {name: code for code, name in STEMMED.items()} | {"japanese": "ja", "chinese": "zh", "korean": "ko"}
_TAG: Final = re.compile(r"([a-z]{2})(?:[-_][a-z0-9]{2,8}){0,3}", re.IGNORECASE)
# Folders whose children are named after languages, in the layouts that site generators have.
_ABOVE_LANGUAGES: Final = frozenset(
    {"i18n", "l10n", "locale", "locales", "lang", "langs", "language", "languages", "translations", "content", "docs"}
)
_WORD: Final = re.compile(r"[^\W\d_]+")
_KANA: Final = re.compile("[\u3041-\u30ff]")
_HAN: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_HANGUL: Final = re.compile("[\uac00-\ud7af]")
LOOKED_AT: Final = 3_000
"""Characters of a text by which its language is told."""
FEWEST_WORDS: Final = 12
"""Words below which a text says too little of its language."""
CERTAIN: Final = 0.9
"""How probable a language has to be, of all that are told apart."""
ENGLISH_SHARE: Final = 0.2
"""Share of English words that name nothing from which on a text is English without further question."""
OWN_SHARE: Final = 0.2
"""Share of a language's words that name nothing below which no text is taken for it."""


def language_of(path: str, declared: object, body: str) -> str:
    """Two letters; English where nothing tells another.

    A place that names a language does not outweigh a text that is plainly English: `docs/it/` may be of a department,
    and a page below `i18n/` may wait for its translation.
    """
    stated = code_of(declared)
    if stated is not None:
        return stated
    placed = _of_path(path)
    if placed is not None:
        return ENGLISH if _is_english(_words_of(_running(body))) else placed
    return detected(body) or ENGLISH


def code_of(name: object) -> str | None:
    """The two letters of a language tag (`de`, `pt-BR`, `zh_Hans`) or of an English name; None for anything else."""
    if not isinstance(name, str):
        return None
    folded = name.strip().lower()
    tag = _TAG.fullmatch(folded)
    if tag is not None:
        return _SAME.get(tag[1], tag[1])
    return _NAMED.get(folded)


def detected(body: str) -> str | None:
    """The language that a Markdown text is written in; None where it is too short, or none is certain.

    By script where that decides, by English words that name nothing, else by py3langid: Lui and Baldwin, langid.py:
    An Off-the-shelf Language Identification Tool, 2012.
    """
    text = _running(body)
    if of_script := _of_script(text):
        return of_script
    words = _words_of(text)
    if len(words) < FEWEST_WORDS or _is_english(words):
        return None
    # Loading the identifier takes longer than parsing a hundred pages.
    if "".join(words).isascii() and all(_share(words, other) < OWN_SHARE for other in STEMMED):
        return None
    found, certainty = _identifier().classify(" ".join(words))
    code = _SAME.get(found, found)
    if certainty < CERTAIN or (stop_words(code) and _share(words, code) < OWN_SHARE):
        return None
    return str(code)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


STOP_WORDS: Final = _words(
    "a about after again all also am an and any are arent as at be been before being between both but by can "
    "cant could couldnt did didnt do does doesnt doing done dont during each either else ever few for from "
    "further had hadnt has hasnt have havent having he hence her here hers him his how i if im in into is "
    "isnt it its ive just let may me might more most much must my neither no nor not of off on once only or "
    "other our ours out over own per please quite rather same shall she should shouldnt since so some such "
    "than that thats the their theirs them then there these they this those though through thus to too under "
    "until up upon us very was wasnt we were werent what whats when where whether which while who whom whose "
    "why will with within without wont would wouldnt yet you your yours"
)
"""Words of English that name nothing; they are searched only where a query has no others."""


@cache
def stop_words(language: str) -> frozenset[str]:
    """The words of a language that name nothing, in lower case as they are written; none where there is no list."""
    if language == ENGLISH:
        return STOP_WORDS
    from stop_words import AVAILABLE_LANGUAGES, get_stop_words  # 20 ms, which English alone need not pay

    name = STEMMED.get(language, "")
    return frozenset(get_stop_words(name)) if name in AVAILABLE_LANGUAGES else frozenset()


def _words_of(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _is_english(words: Sequence[str]) -> bool:
    if len(words) < FEWEST_WORDS:
        return False
    share = _share(words, ENGLISH)
    return share >= ENGLISH_SHARE or share > max(_share(words, other) for other in STEMMED if other != ENGLISH)


def _share(words: Iterable[str], language: str) -> float:
    known = stop_words(language)
    held = [word in known for word in words]
    return sum(held) / len(held)


def _of_path(path: str) -> str | None:
    """`i18n/de/…`, `docs/zh-cn/…` by the folder below one for languages; `page.fr.md` by the name."""
    *folders, name = PurePosixPath(path).parts
    for above, folder in zip(["", *folders], folders, strict=False):
        if above.lower() in _ABOVE_LANGUAGES and (code := _known(folder)):
            return code
    stem = PurePosixPath(name).stem
    return _known(stem.rpartition(".")[2]) if "." in stem else None


def _known(tag: str) -> str | None:
    code = code_of(tag) if _TAG.fullmatch(tag) else None
    return code if code in LANGUAGES else None


def _running(body: str) -> str:
    """The beginning of a text without its code."""
    text = body[:LOOKED_AT]
    pieces, at = [], 0
    for start, end in code_spans(text):
        pieces.append(text[at:start])
        at = end
    return "".join((*pieces, text[at:]))


def _of_script(text: str) -> str | None:
    """Japanese, Korean and Chinese by their letters, where these are a tenth of the text."""
    kana, hangul, han = (len(script.findall(text)) for script in (_KANA, _HANGUL, _HAN))
    if not kana + hangul + han or 10 * (kana + hangul + han) < len(text):
        return None
    if hangul > kana + han:
        return "ko"
    return "ja" if kana else "zh"


@cache
def _identifier() -> LanguageIdentifier:
    # 0.2 s, which only a build pays that meets another language.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages({*LANGUAGES, *_SAME} & set(identifier.labels))
    return identifier
