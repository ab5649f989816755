"""What one call was: structure, never substance. No field of it can hold a query, a text or an address."""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

_LABEL = re.compile(r"[^A-Za-z0-9._/ -]")
LONGEST_LABEL = 64
NOT_ALLOWED = "not_allowed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One invocation. `timestamp` is ISO 8601 in UTC; counts are None where the action has none.

    `parameters` are the names of those given; `tokens_estimated` says that `tokens_in` and `tokens_out` were reckoned
    from bytes; `private` says that public reports leave the record out.
    """

    timestamp: str
    action: str
    status: str
    error_code: str | None = None
    knowledge_base_url: str | None = None
    kb_sha: str | None = None
    baseline_sha: str | None = None
    search_scope: str | None = None
    result_grouping: str | None = None
    disclosure: tuple[str, ...] = ()
    limit: int | None = None
    parameters: tuple[str, ...] = ()
    index_size_at_query: int | None = None
    overlay_doc_count: int | None = None
    baseline_doc_count: int | None = None
    overlay_hits: int | None = None
    baseline_hits: int | None = None
    overlay_hits_in_top_5: int | None = None
    baseline_hits_in_top_5: int | None = None
    total: int | None = None
    duration_ms: float
    cold_start: bool
    bytes_in: int = 0
    bytes_out: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_legacy_equivalent: int | None = None
    tokens_estimated: bool = False
    cache_hits: int = 0
    cache_lookups: int = 0
    consumer_label: str = "unknown"
    consumer_source: str = "unknown"
    function_version: str
    document_uri: str | None = None
    private: bool = False

    def fields(self) -> dict[str, Any]:
        """The record as a JSON object."""
        return asdict(self)

    def line(self) -> str:
        """The record as one line of JSON."""
        return json.dumps(self.fields(), separators=(",", ":"))


class RecordSink(Protocol):
    """Where records go."""

    def write(self, record: Record) -> None:
        """Keeps one record."""


@dataclass(frozen=True, slots=True)
class FileSink:
    """Appends to `{root}/records/day=YYYY-MM-DD/records-{process}.jsonl`, a file a process."""

    root: Path

    def write(self, record: Record) -> None:
        """Appends one line in one write, so that lines of several threads never mix."""
        folder = self.root / "records" / f"day={record.timestamp[:10]}"
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / f"records-{os.getpid()}.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(handle, record.line().encode() + b"\n")
        finally:
            os.close(handle)


@dataclass(frozen=True, slots=True)
class Consumer:
    """Who a caller says it is, and where it said so."""

    label: str
    source: str


def consumer_of(query: str | None, header: str | None, mcp_client: str | None, user_agent: str | None) -> Consumer:
    """The first label given, cut to 64 safe characters; a user agent to its first product token."""
    product = re.split(r"[\s/(]", user_agent.strip(), maxsplit=1)[0] if user_agent else None
    for source, text in (
        ("query", query),
        ("x-oddkit-client", header),
        ("clientInfo", mcp_client),
        ("user-agent", product),
    ):
        label = _LABEL.sub("", text or "").strip()[:LONGEST_LABEL]
        if label:
            return Consumer(label, source)
    return Consumer("unknown", "unknown")
