"""What a build remembers of each file, so that unchanged files are not parsed again."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from lamina.contract.ids import sha256_hex
from lamina.contract.ports import SourceFile
from lamina.corpus.document import Document, TierTokens
from lamina.corpus.links import Link
from lamina.corpus.markdown import Heading
from lamina.corpus.remarks import Remark, Topic
from lamina.corpus.standing import Successor
from lamina.index.postings import TermCounts
from lamina.index.terms import ANALYSIS_VERSION

# Changes whenever parsing or analysis would give another result for the same bytes.
PARSER_VERSION = "5"
ANALYSIS = f"{PARSER_VERSION}/{ANALYSIS_VERSION}"


@dataclass(frozen=True, slots=True)
class Parsed:
    """A document with the terms it is found by."""

    document: Document
    terms: TermCounts


@dataclass(frozen=True, slots=True)
class ParseCache:
    """Parsed files by digest of path and content."""

    entries: dict[str, Parsed]

    def find(self, file: SourceFile) -> Parsed | None:
        """What an earlier build made of the same bytes under the same path."""
        return self.entries.get(cache_entry(file.path, sha256_hex(file.content)))

    def keep(self, file: SourceFile, parsed: Parsed) -> None:
        """Remembers a file for the next build."""
        self.entries[cache_entry(file.path, parsed.document.content_hash)] = parsed

    def to_data(self) -> dict[str, Any]:
        """Plain data, to be signed."""
        return {
            "analysis": ANALYSIS,
            "entries": {key: (_fields(entry.document), entry.terms) for key, entry in self.entries.items()},
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> ParseCache:
        """The cache of plain data; empty where another version made it."""
        try:
            return cls._from_data(data)
        except (LookupError, ValueError, TypeError, AttributeError):
            return cls({})

    @classmethod
    def _from_data(cls, data: dict[str, Any]) -> ParseCache:
        if data["analysis"] != ANALYSIS:
            return cls({})
        return cls({key: Parsed(_document(kept), terms) for key, (kept, terms) in data["entries"].items()})


def cache_entry(path: str, content_hash: str) -> str:
    """The name of a file in the cache, by its path and the SHA-256 of its bytes."""
    return f"{content_hash}:{path}"


def _fields(document: Document) -> dict[str, Any]:
    """Plain data: a topic is kept as its text."""
    # asdict copies whatever is within, which takes a tenth of a build.
    kept = {field.name: getattr(document, field.name) for field in fields(document)}
    return {
        **kept,
        "headings": tuple(asdict(heading) for heading in document.headings),
        "tokens": asdict(document.tokens),
        "links": tuple(asdict(link) for link in document.links),
        "successor": None if document.successor is None else asdict(document.successor),
        "remarks": tuple((str(remark.topic), remark.text, remark.line) for remark in document.remarks),
    }


def _document(kept: dict[str, Any]) -> Document:
    successor = kept["successor"]
    return Document(
        **{
            **kept,
            "headings": tuple(Heading(**heading) for heading in kept["headings"]),
            "tokens": TierTokens(**kept["tokens"]),
            "links": tuple(Link(**link) for link in kept["links"]),
            "successor": None if successor is None else Successor(**successor),
            "remarks": tuple(Remark(Topic(topic), text, line) for topic, text, line in kept["remarks"]),
        }
    )
