"""How bm25s splits texts: English stop words left out, Snowball stems."""

from __future__ import annotations

from collections.abc import Sequence

import bm25s
import Stemmer

_STEMMER = Stemmer.Stemmer("english")


def bm25s_words(texts: Sequence[str]) -> list[list[str]]:
    """The words of each text, none where it holds stop words alone."""
    found: list[list[str]] = bm25s.tokenize(
        list(texts), stopwords="en", stemmer=_STEMMER, return_ids=False, show_progress=False
    )
    return found
