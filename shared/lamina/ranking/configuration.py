"""What decides a ranking beside documents and query, for its digest; a new constant is in it without being listed."""

from __future__ import annotations

from typing import Any, Final

from lamina.contract import vectors
from lamina.corpus import languages
from lamina.index import bm25, english, fields, pieces, postings, terms, vocabulary
from lamina.ranking import (
    calibration,
    expansion,
    highlight,
    lookup,
    match,
    meaning,
    order,
    phrases,
    query,
    rank,
    score,
    spelling,
    titles,
)
from lamina.ranking.synonyms import SYNONYMS

_DECIDING: Final = (
    bm25,
    fields,
    postings,
    terms,
    vocabulary,
    pieces,
    vectors,
    query,
    lookup,
    expansion,
    spelling,
    score,
    meaning,
    calibration,
    phrases,
    titles,
    order,
    highlight,
    match,
    rank,
)


def ranking_configuration() -> dict[str, Any]:
    """Every number and version of the modules that rank, as text, and the words that they treat apart; JSON values.

    A constant goes by its name alone, so that one that moves to another module changes nothing.
    """
    return {
        "constants": sorted({constant for module in _DECIDING for constant in _constants(vars(module))}),
        "head_fields": sorted(fields.HEAD_FIELDS),
        "stop_words": sorted(languages.STOP_WORDS),
        "common_words": sorted(english.COMMON_WORDS),
        "singulars": dict(english.SINGULARS),
        "match_rules": {name: repr(rule) for name, rule in calibration.RULES.items()},
        "synonyms": {stem: sorted(alike) for stem, alike in SYNONYMS.items()},
    }


def _constants(module: dict[str, Any]) -> list[str]:
    return [
        f"{name} = {value!r}"
        for name, value in module.items()
        if name.isupper() and not name.startswith("_") and isinstance(value, int | float | str)
    ]
