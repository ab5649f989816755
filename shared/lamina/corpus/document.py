"""One Markdown file as a document: its tiers, its axes, what each tier costs, and what is wrong with it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from lamina.contract.ids import sha256_hex, without_suffix
from lamina.contract.tokens import count_each
from lamina.corpus.kinds import is_kind

if TYPE_CHECKING:
    from lamina.corpus.frontmatter import Frontmatter
    from lamina.corpus.markdown import Heading

_INVALID_STATUSES = ("invalidated", "refuted", "retracted")
DEFAULT_SCHEME = "kb"


@dataclass(frozen=True, slots=True)
class TierTokens:
    """cl100k_base tokens of each tier's JSON value; a missing tier costs what `null` costs."""

    title: int
    blockquote: int
    metadata: int
    summary: int
    body: int


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed file. `uri` and `kind` are not here: they depend on the knowledge base around it.

    `content_hash` is the SHA-256 of the raw file. `summary_span` cuts the summary from the body.
    """

    path: str
    content_hash: str
    title: str
    blockquote: str | None
    summary_span: tuple[int, int] | None
    body: str
    metadata: dict[str, Any] | None
    headings: tuple[Heading, ...]
    tokens: TierTokens
    declared_uri: str | None
    declared_kind: Any
    audience: tuple[str, ...]
    exposure: tuple[str, ...]
    tier: tuple[int, ...]
    public: bool | None
    start_here: bool | None
    tags: tuple[str, ...]
    date: str | None
    superseded_by: str | None
    aliases: tuple[str, ...]
    invalidated: bool
    problems: tuple[str, ...]

    @property
    def summary(self) -> str | None:
        """The text of the Summary section."""
        return None if self.summary_span is None else self.body[slice(*self.summary_span)]


def parse(path: str, content: bytes) -> Document:
    """The document that a file holds. Raises UnicodeDecodeError where it is not UTF-8, nothing else."""
    from lamina.corpus.frontmatter import split  # the parsers cost a cold start 60 ms, and only builds parse
    from lamina.corpus.markdown import outline

    text = content.decode("utf-8")
    parts = split(text)
    shape = outline(parts.body)
    metadata = parts.metadata or {}
    title = _line(metadata.get("title")) or shape.title or PurePosixPath(path).stem
    superseded_by = _line(metadata.get("superseded_by"))
    summary = None if shape.summary is None else parts.body[slice(*shape.summary)]
    tiers = count_each(
        [
            json.dumps(tier, ensure_ascii=False)
            for tier in (title, shape.blockquote, parts.metadata, summary, parts.body)
        ]
    )
    return Document(
        path=path,
        content_hash=sha256_hex(content),
        title=title,
        blockquote=shape.blockquote,
        summary_span=shape.summary,
        body=parts.body,
        metadata=parts.metadata,
        headings=shape.headings,
        tokens=TierTokens(*tiers),
        declared_uri=_uri(metadata.get("uri")),
        declared_kind=metadata.get("kind"),
        audience=_strings(metadata.get("audience")),
        exposure=_strings(metadata.get("exposure")),
        tier=_integers(metadata.get("tier")),
        public=_boolean(metadata.get("public")),
        start_here=_boolean(metadata.get("start_here")),
        tags=_strings(metadata.get("tags")),
        date=_line(metadata.get("date")),
        superseded_by=superseded_by,
        aliases=_strings(metadata.get("aliases")),
        invalidated=superseded_by is not None
        or _boolean(metadata.get("invalidated")) is True
        or str(metadata.get("status", "")).casefold() in _INVALID_STATUSES,
        problems=(*parts.problems, *_problems(parts), *shape.problems),
    )


def common_scheme(documents: Iterable[Document]) -> str | None:
    """The commonest scheme among declared URIs, the alphabetically first of equals; None if none is declared."""
    counts = Counter(document.declared_uri.split("://")[0] for document in documents if document.declared_uri)
    return min(counts, key=lambda scheme: (-counts[scheme], scheme), default=None)


def uri_of(document: Document, scheme: str) -> str:
    """The document's own URI, else one made of its path."""
    return document.declared_uri or uri_of_path(document.path, scheme)


def uri_of_path(path: str, scheme: str) -> str:
    """`{scheme}://{path without its Markdown suffix}`."""
    return f"{scheme}://{without_suffix(path)}"


def _problems(parts: Frontmatter) -> tuple[str, ...]:
    metadata = parts.metadata
    if metadata is None:
        return () if parts.problems else ("no frontmatter",)
    missing = [axis for axis in ("audience", "exposure", "tier") if metadata.get(axis) is None]
    problems = [f"frontmatter lacks {', '.join(missing)}"] if missing else []
    if (kind := metadata.get("kind")) is not None and not is_kind(kind):
        problems.append(f"kind {kind!r} is not one of the five; the path decides")
    if metadata.get("uri") is not None and _uri(metadata["uri"]) is None:
        problems.append("uri is not of the form scheme://path; one is made of the path")
    return tuple(problems)


def _uri(value: Any) -> str | None:
    text = _line(value)
    if text is None or "://" not in text or any(character.isspace() for character in text):
        return None
    return text if text.split("://")[0] and text.split("://")[1] else None


def _line(value: Any) -> str | None:
    """A scalar as one line of text, or None for anything blank or structured."""
    if value is None or isinstance(value, dict | list):
        return None
    return " ".join(str(value).split()) or None


def _strings(value: Any) -> tuple[str, ...]:
    items = value if isinstance(value, list) else [value]
    return tuple(dict.fromkeys(line for item in items if (line := _line(item)) is not None))


def _integers(value: Any) -> tuple[int, ...]:
    items = value if isinstance(value, list) else [value]
    return tuple(
        int(item)
        for item in items
        if (isinstance(item, int) and not isinstance(item, bool))
        or (isinstance(item, str) and item.strip().isascii() and item.strip().isdigit() and len(item) < 18)
    )


def _boolean(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    return {"true": True, "false": False}.get(value.strip().casefold()) if isinstance(value, str) else None
