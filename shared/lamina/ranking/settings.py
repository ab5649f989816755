"""The settings that decide a ranking, gathered so that one added tomorrow is among them without being listed."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Final

from lamina.index import bm25, fields, postings, stopwords, terms, vocabulary
from lamina.index.plurals import SINGULARS
from lamina.ranking import evidence, match, order, passage, phrases, query, snippet, spelling
from lamina.ranking.synonyms import SYNONYMS

_DECIDING: Final = (
    bm25,
    fields,
    postings,
    terms,
    vocabulary,
    evidence,
    match,
    order,
    passage,
    phrases,
    query,
    snippet,
    spelling,
)


def ranking_settings() -> dict[str, Any]:
    """Every number and version of the modules that rank, as text, and the words that they treat apart; JSON values."""
    return {
        "constants": {module.__name__.removeprefix("lamina."): _constants(module) for module in _DECIDING},
        "head_fields": sorted(fields.HEAD_FIELDS),
        "stop_words": sorted(stopwords.STOP_WORDS),
        "common_words": sorted(stopwords.COMMON_WORDS),
        "singulars": dict(SINGULARS),
        "synonyms": {stem: sorted(alike) for stem, alike in SYNONYMS.items()},
    }


def _constants(module: ModuleType) -> dict[str, str]:
    return {
        name: repr(value)
        for name, value in vars(module).items()
        if name.isupper() and not name.startswith("_") and isinstance(value, int | float | str)
    }
