"""Which keys every store takes, so that a key good for one adapter is good for all."""

from __future__ import annotations

import re

LONGEST_KEY = 900
LONGEST_SEGMENT = 200

_KEY = re.compile(
    rf"(?!\.)[^\x00-\x1f\x7f\\/]{{1,{LONGEST_SEGMENT}}}(/(?!\.)[^\x00-\x1f\x7f\\/]{{1,{LONGEST_SEGMENT}}})*"
)


def check_key(key: str) -> None:
    """ValueError for an empty part, one that starts with a dot, a backslash, a control code, or length."""
    if not _KEY.fullmatch(key) or len(key.encode("utf-8", "surrogatepass")) > LONGEST_KEY:
        raise ValueError(f"not a key of an object store: {key[:LONGEST_SEGMENT]!r}")
