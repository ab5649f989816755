"""What kind a document is: its own `kind:` if that is one of the five, else its path decides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lamina.contract.filters import KINDS, Kind

DEFAULT_PREFIXES: Mapping[str, Kind] = {
    "canon/apocrypha/": Kind.APOCRYPHA,
    "canon/": Kind.CANON,
    "docs/": Kind.DOCS,
    "odd/": Kind.JOURNALS,
    "writings/": Kind.ESSAYS,
    "apocrypha/": Kind.APOCRYPHA,
}


def kind_of(declared: Any, path: str, prefixes: Mapping[str, Kind]) -> Kind:
    """The kind of a document; the longest matching prefix wins, and what none covers is `docs`."""
    if is_kind(declared):
        return KINDS[declared]
    matching = [prefix for prefix in prefixes if path.startswith(prefix)]
    return prefixes[max(matching, key=len)] if matching else Kind.DOCS


def is_kind(declared: Any) -> bool:
    """Whether frontmatter names one of the five."""
    return isinstance(declared, str) and declared in KINDS
