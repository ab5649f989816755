"""How a Markdown file becomes a document. Any bytes that are UTF-8 do, and what is wrong with them is told."""

from __future__ import annotations

import json
import re
from pathlib import PurePosixPath
from typing import Final

from lamina.contract.ids import sha256_hex, without_suffix
from lamina.contract.tokens import count_each
from lamina.corpus.address import INDEX_STEMS
from lamina.corpus.document import LONGEST_TITLE, Document, TierTokens, is_mdx
from lamina.corpus.fields import Fields
from lamina.corpus.frontmatter import Frontmatter, split
from lamina.corpus.kinds import is_kind
from lamina.corpus.languages import language_of
from lamina.corpus.links import links
from lamina.corpus.markdown import Outline, outline
from lamina.corpus.prose import code_spans, prose
from lamina.corpus.remarks import Remark, Topic
from lamina.corpus.standing import no_longer_holds, successor_of

_HASHTAG: Final = re.compile(r"#(?<!\S#)(?=[\w/-]*[^\W\d_])([\w/-]{1,100})(?![\w#])")
_MOST_HASHTAGS: Final = 100


def read(path: str, content: bytes) -> tuple[Document, str]:
    """The document that a file holds, and its body as it is searched: without what only a site generator reads.

    Raises UnicodeDecodeError where the file is not UTF-8, nothing else.
    """
    text = content.decode("utf-8")
    parts = split(text)
    words = prose(parts.body, mdx=is_mdx(path))
    shape = outline(parts.body, _without_fences(words, parts))
    fields = Fields(parts.metadata or {})
    date, odd_date = fields.date()
    metadata = parts.metadata
    if metadata is not None and date is not None and (key := fields.key("date")) is not None:
        metadata = {**metadata, key: date}
    declared = fields.text("title")
    title = declared or shape.title or _name_of(path)
    blockquote = shape.blockquote
    if blockquote is None and declared is not None and shape.title is None:
        blockquote = shape.opening_quote
    blockquote = blockquote or fields.text("description")
    summary = None if shape.summary is None else parts.body[slice(*shape.summary)]
    successor = successor_of(fields, parts.body, shape.headings)
    tiers = count_each(
        [json.dumps(tier, ensure_ascii=False) for tier in (title, blockquote, metadata, summary, parts.body)]
    )
    document = Document(
        path=path,
        content_hash=sha256_hex(content),
        title=title,
        blockquote=blockquote,
        summary_span=shape.summary,
        body=parts.body,
        first_line=parts.first_line,
        metadata=metadata,
        headings=shape.headings,
        tokens=TierTokens(*tiers),
        declared_uri=fields.uri(),
        declared_kind=fields.value("kind"),
        audience=fields.texts("audience"),
        exposure=fields.exposure(),
        tier=fields.integers("tier"),
        public=fields.boolean("public"),
        start_here=fields.boolean("starthere"),
        tags=fields.tags(),
        hashtags=_hashtags(parts.body),
        language=language_of(path, fields.value("lang", "language", "locale"), parts.body),
        date=date,
        successor=successor,
        names=fields.addresses(),
        invalidated=successor is not None or no_longer_holds(fields, parts.body, shape.headings),
        links=links(parts.body, parts.first_line),
        remarks=_remarks(text, parts, shape, fields, title, odd_date),
    )
    return document, words


def _without_fences(words: str, parts: Frontmatter) -> str:
    """The body as its headings are read: a line under a text makes it one, but not a fence that sets it apart."""
    for start, end in parts.fences:
        words = words[:start] + re.sub(r"[-+.]", " ", words[start:end]) + words[end:]
    return words


def _name_of(path: str) -> str:
    """What a file without a title is called: by its name, or by that of the folder that it stands for."""
    stem = PurePosixPath(without_suffix(path)).name
    folder = PurePosixPath(path).parent.name
    return folder if folder and stem.lower() in INDEX_STEMS else stem


def _hashtags(body: str) -> tuple[str, ...]:
    """Tags in the running text: `#word` after a blank, with a letter in it, outside code."""
    if _HASHTAG.search(body) is None:
        return ()
    code = code_spans(body)
    found: dict[str, None] = {}
    at = 0
    for match in _HASHTAG.finditer(body):
        while at < len(code) and code[at][1] <= match.start():
            at += 1
        if at == len(code) or match.start() < code[at][0]:
            found.setdefault(match[1].strip("/-"), None)
        if len(found) == _MOST_HASHTAGS:
            break
    return tuple(found)


def _remarks(
    text: str, parts: Frontmatter, shape: Outline, fields: Fields, title: str, odd_date: str | None
) -> tuple[Remark, ...]:
    found = list(parts.remarks)

    def about(topic: Topic, key: str, said: str) -> None:
        found.append(Remark(topic, said, _line_of(text, key, parts.first_line)))

    if odd_date is not None:
        written = str(fields.metadata[odd_date])[:60]
        about(Topic.ODD_DATE, odd_date, f"{odd_date} {written!r} is no date, or more than one; write it as 2024-05-31")
    if (kind := fields.value("kind")) is not None and not is_kind(kind):
        about(
            Topic.UNKNOWN_KIND, fields.key("kind") or "kind", f"kind {kind!r} is not one of the five; the path decides"
        )
    if (uri := fields.value("uri")) is not None and fields.uri() is None:
        said = f"uri {str(uri)[:60]!r} is not scheme://path without blanks and brackets; one is made of the path"
        about(Topic.UNUSABLE_URI, fields.key("uri") or "uri", said)
    if (key := fields.key("title")) is not None and fields.text("title") is None and fields.metadata[key] != "":
        about(Topic.ODD_FIELD, key, f"{key} is no text and is passed over")
    if len(title) > LONGEST_TITLE:
        found.append(Remark(Topic.LONG_TITLE, f"the title has {len(title)} characters; {LONGEST_TITLE} are shown"))
    if not parts.body.strip():
        found.append(
            Remark(Topic.EMPTY, "there is no text" if not parts.metadata else "there is no text under the frontmatter")
        )
    return (*found, *shape.remarks)


def _line_of(text: str, key: str, last: int) -> int | None:
    """The line of the frontmatter on which a key stands."""
    for number, line in enumerate(re.split(r"\r\n|\n|\r", text)[: max(0, last - 1)], start=1):
        if line.lstrip("\ufeff \t\"'").startswith(key):
            return number
    return None
