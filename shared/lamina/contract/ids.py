"""Names for things: digests of bytes, revisions of snapshots, slugs of headings."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass

SHORT_DIGEST = 12
MARKDOWN_SUFFIXES = (".md", ".markdown", ".mdx", ".mdown", ".mkdn", ".mkd", ".qmd", ".rmd")
"""Endings of the files that are read, in any case; where two files differ in nothing else, the first comes first."""

REVISION_PATTERN = r"^(?:([0-9a-f]{12})\.)?([0-9a-f]{12})(?:~([0-9a-f]{12}))?$"
"""How a revision is spelt, as a regular expression."""
_REVISION = re.compile(REVISION_PATTERN)
_NOT_SLUG = re.compile(r"[^\w\- ]+")


def sha256_hex(content: bytes) -> str:
    """SHA-256 as 64 lowercase hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


@dataclass(frozen=True, slots=True)
class Revision:
    """The exact sources that a snapshot was built from, as their first twelve hexadecimal digits.

    `overlay` is None where a call has no knowledge base of its own, `vectors` where the snapshot has none.
    """

    baseline: str
    overlay: str | None = None
    vectors: str | None = None

    def __str__(self) -> str:
        sources = self.baseline if self.overlay is None else f"{self.overlay}.{self.baseline}"
        return sources if self.vectors is None else f"{sources}~{self.vectors}"

    @classmethod
    def parse(cls, text: str) -> Revision | None:
        """The revision that `text` spells, or None where it spells none."""
        spelt = _REVISION.fullmatch(text)
        return None if spelt is None else cls(baseline=spelt[2], overlay=spelt[1], vectors=spelt[3])


def slug(heading: str) -> str:
    """The anchor that Markdown hosts give a heading: lower case, spaces to hyphens, punctuation dropped."""
    folded = unicodedata.normalize("NFKC", heading).casefold().strip()
    return _NOT_SLUG.sub("", folded).replace(" ", "-")


def without_suffix(path: str) -> str:
    """The path without the suffix of a Markdown file."""
    lowered = path.lower()
    suffix = next((suffix for suffix in MARKDOWN_SUFFIXES if lowered.endswith(suffix)), "")
    return path[: len(path) - len(suffix)]


def folded_tag(tag: str) -> str:
    """What two spellings of one tag share: case, composed or decomposed letters and `#` do not tell them apart."""
    return unicodedata.normalize("NFC", tag).strip().lstrip("#").strip("/").casefold()
