"""One address for every way to write it: what a name comes to, and which URI a path makes."""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import quote, unquote

from lamina.contract.ids import without_suffix

INDEX_STEMS = ("index", "_index", "readme")
"""Files that stand for their folder, the first before the others; case does not matter."""
# What an ordinary path has nothing of: then only its suffix may be wrong.
_TO_MEND = re.compile(r"[^!-~]|%|\A/|//|/\Z|(?:\A|/)\.{1,2}(?:/|\Z)")
_KEPT = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")


def encoded(path: str) -> str:
    """A path as part of a URI: letters and figures of all scripts stay, blanks and other marks become %20."""
    return "".join(_as_part(character) for character in unicodedata.normalize("NFC", path))


def _as_part(character: str) -> str:
    if character in _KEPT or (not character.isascii() and unicodedata.category(character)[0] in "LMN"):
        return character
    return quote(character, safe="")


def bare(path: str) -> str:
    """A path or address as it is compared: composed, without slashes around it, `./`, and a Markdown suffix."""
    if not _TO_MEND.search(path):
        return without_suffix(path)
    scheme, mark, rest = unicodedata.normalize("NFC", path).rpartition("://")
    parts: list[str] = []
    for part in rest.split("/"):
        if part == ".." and parts:
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return scheme + mark + without_suffix("/".join(parts))


def spellings(name: str) -> tuple[str, ...]:
    """What a name may stand for: itself, and what it is where it is percent-encoded."""
    own = bare(name)
    decoded = bare(unquote(name, errors="replace")) if "%" in name else own
    return (own,) if decoded == own else (own, decoded)


def folder_of(path: str) -> str | None:
    """The folder that a file stands for, `""` for the root; None for any other file."""
    folder, _, name = without_suffix(path).rpartition("/")
    return folder if name.lower() in INDEX_STEMS else None
