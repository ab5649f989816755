"""One document in an answer: the floor, the tiers that flags buy on top of it, and what their fields mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lamina.contract.disclosure import MEANINGS, Flag
from lamina.contract.schema import TEXT, AnswerField, Schema, nullable
from lamina.index.snapshot import Origin, Snapshot

Entry = dict[str, Any]

SOURCE: Schema = {"type": "string", "enum": [str(origin) for origin in Origin]}

_TIERS: dict[Flag, Schema] = {
    Flag.BLOCKQUOTE: nullable(TEXT),
    Flag.METADATA: nullable({"type": "object"}),
    Flag.SUMMARY: nullable(TEXT),
    Flag.BODY: TEXT,
}


def entry_fields(permitted: Sequence[Flag], *native: AnswerField) -> tuple[AnswerField, ...]:
    """The floor, what the action adds by nature, and the tiers that it permits."""
    return (
        AnswerField("uri", TEXT, "the document's address, for get"),
        AnswerField("title", TEXT, "frontmatter title, else the first H1, else the file's name"),
        AnswerField(
            "source",
            SOURCE,
            "where the document comes from; with a knowledge base, and where it is the bundle",
            always=False,
        ),
        *native,
        *(AnswerField(str(flag), _TIERS[flag], MEANINGS[flag], always=False) for flag in permitted),
    )


def floor(snapshot: Snapshot, document: int, *, with_source: bool) -> Entry:
    """`uri`, `title`, and `source` where a knowledge base is set or the bundle served the document."""
    entry: Entry = {"uri": snapshot.uris[document], "title": snapshot.titles[document]}
    source = snapshot.origin[document]
    if with_source or source == Origin.BUNDLED:
        entry["source"] = str(source)
    return entry


def disclosed(snapshot: Snapshot, document: int, flags: Sequence[Flag]) -> Entry:
    """The tiers that the flags buy, body aside; one that the document lacks is null."""
    if not flags:
        return {}
    preview = snapshot.preview(document)
    tiers: Entry = {}
    for flag in flags:
        if flag == Flag.BLOCKQUOTE:
            tiers["blockquote"] = preview.blockquote
        elif flag == Flag.METADATA:
            tiers["metadata"] = preview.metadata
        else:
            span = preview.summary_span
            tiers["summary"] = None if span is None else snapshot.body(document)[slice(*span)]
    return tiers
