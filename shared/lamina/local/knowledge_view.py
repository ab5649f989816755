"""How the proposal queue reads on a terminal. A proposal's text is data: nothing in it may steer the terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from lamina.contract.ports import Proposal
from lamina.knowledge.preview import CitedSource, SourceState
from lamina.knowledge.service import Examined

# Control codes but line feed and tab, and the marks that reorder or hide text.
_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_MARKS = {SourceState.UNCHANGED: "✓", SourceState.CHANGED: "✗", SourceState.GONE: "✗"}


def safe(text: str) -> str:
    """The text with a replacement character for whatever is not to be seen as it is."""
    return _STEERING.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


def pending_text(rows: Sequence[Proposal]) -> str:
    """One line a proposal."""
    if not rows:
        return "Nothing waits."
    return "\n".join(
        f"{row.id:>5}  {row.proposed_at[:16].replace('T', ' ')}  {safe(json.loads(row.payload)['capture']['title'])}"
        for row in rows
    )


def shown_text(found: Examined) -> str:
    """The proposal, its sources as they are now, and whether it could be accepted."""
    reviewed = found.reviewed
    capture, context = reviewed.payload["capture"], reviewed.payload["context"]
    head = [
        f"Proposal {reviewed.row.id}: {safe(capture['title'])}",
        f"  status    {reviewed.row.status}",
        f"  proposed  {reviewed.row.proposed_at}, by {safe(reviewed.row.owner)}",
        f"  kind      {safe(capture['kind'])}",
        *([f"  tags      {safe(', '.join(capture['tags']))}"] if capture["tags"] else []),
        f"  reason    {_indented(safe(reviewed.payload['reason']))}",
        f"  run       {safe(context['run_id'])}",
        f"  note      {safe(found.note_path)}",
        f"  review    {reviewed.review_sha256}",
    ]
    body = ["", "Note", *(f"  │ {line}" for line in safe(capture["body"]).splitlines())]
    sources = [line for source in found.sources for line in ("", *_source_lines(source))]
    return "\n".join([*head, *body, *(sources or ["", "It cites no source."]), "", _verdict(found)])


def shown_value(found: Examined) -> dict[str, Any]:
    """The same as a JSON object."""
    reviewed = found.reviewed
    return {
        "pending_id": reviewed.row.id,
        "status": str(reviewed.row.status),
        **reviewed.payload,
        "review_sha256": reviewed.review_sha256,
        "note_path": found.note_path,
        "obstacle": None if found.obstacle is None else str(found.obstacle),
        "cited": [
            {
                "path": source.path,
                "sha256": source.cited_sha256,
                "state": str(source.state),
                "lines": None if source.cut is None else [source.cut.first_line, source.cut.last_line],
                "text": source.text,
            }
            for source in found.sources
        ],
    }


def decided_text(result: dict[str, Any]) -> str:
    """What a decision did."""
    again = " already" if result["retried"] else ""
    if result["status"] == "accepted":
        return (
            f"Proposal {result['pending_id']} is{again} accepted: {safe(result['path'])}\n"
            f"  head  {result['head']}\nThe next index build finds it."
        )
    return f"Proposal {result['pending_id']} is{again} rejected. Nothing was published; the proposal is kept."


def _source_lines(source: CitedSource) -> list[str]:
    where = "" if source.cut is None else f", lines {source.cut.first_line}–{source.cut.last_line}"
    title = f"{_MARKS[source.state]} {safe(source.path)} ({source.state} since it was cited{where})"
    return [title, *(f"  │ {line}" for line in safe(source.text).splitlines())]


def _verdict(found: Examined) -> str:
    if found.reviewed.row.status != "pending":
        return f"It is {found.reviewed.row.status}."
    if found.obstacle is None:
        return "Everything that it rests on is as it was; it can be accepted."
    return f"It cannot be accepted now: {found.obstacle}. It can be rejected."


def _indented(text: str) -> str:
    return text.replace("\n", "\n            ")
