"""Decides which addresses are spelled most like one that is not there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from heapq import nlargest
from typing import Final

from lamina.corpus.address import spellings

LONGEST_COMPARED: Final = 512
"""Characters of a name past which nothing is offered."""
_JOINTS: Final = re.compile(r"[\s_-]+|%20")
_LETTERS: Final = 3
_MOST_COMPARED: Final = 50
_LIKE: Final = 0.6
"""Share of equal letters below which a name is not taken for a misspelling."""


def nearest(name: str, uris: Sequence[str], paths: Sequence[str], most: int) -> list[int]:
    """Numbers of the documents whose URI or path is spelled most like a name, the likest first, ties by number.

    Those that share most runs of three letters with it are compared letter by letter: by the whole address, and by
    its last part, which people remember best.
    """
    wanted = _plain(name)
    if not wanted or len(wanted) > LONGEST_COMPARED:
        return []
    runs = {wanted[at : at + _LETTERS] for at in range(max(1, len(wanted) - _LETTERS + 1))}
    shared = []
    for number, uri in enumerate(uris):
        names = _JOINTS.sub("-", f"{uri}\n{paths[number]}".casefold())
        count = sum(run in names for run in runs)
        if 2 * count >= len(runs):
            shared.append((count / (len(names) + len(wanted)), -number))
    compared = []
    for _, negative in nlargest(_MOST_COMPARED, shared):
        number = -negative
        likeness = max(_likeness(wanted, _plain(other)) for other in (uris[number], paths[number]))
        if likeness >= _LIKE:
            compared.append((-likeness, number))
    return [number for _, number in sorted(compared)[:most]]


def _plain(name: str) -> str:
    """An address without its scheme, in lower case, with one way of joining words."""
    return _JOINTS.sub("-", spellings(name)[-1].rpartition("://")[2].casefold())


def _likeness(wanted: str, other: str) -> float:
    """Mean of the likeness of two addresses and that of their last parts; of the latter alone for a name alone."""
    last = SequenceMatcher(None, wanted.rpartition("/")[2], other.rpartition("/")[2], autojunk=False).ratio()
    if "/" not in wanted:
        return last
    return (SequenceMatcher(None, wanted, other, autojunk=False).ratio() + last) / 2
