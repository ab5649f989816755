"""Records of calls as they might have been, from a seed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from lamina.telemetry.record import FileSink, Record

ACTIONS = ("search", "search", "search", "catalog", "preflight", "get", "get", "resolve", "site")
_CONSUMERS = ("desktop-client", "ci-bot", "website", "curl", "unknown", "docs site", "indexer/2.1")
_PLAIN = Record(
    timestamp="2026-11-23T00:00:00.000+00:00",
    action="search",
    status="FOUND",
    error_code=None,
    knowledge_base_url=None,
    kb_sha=None,
    baseline_sha="0123456789ab",
    search_scope=None,
    result_grouping=None,
    disclosure=(),
    limit=None,
    parameters=(),
    index_size_at_query=596,
    overlay_doc_count=0,
    baseline_doc_count=596,
    overlay_hits=None,
    baseline_hits=None,
    overlay_hits_in_top_5=None,
    baseline_hits_in_top_5=None,
    total=None,
    duration_ms=2.0,
    cold_start=False,
    bytes_in=40,
    bytes_out=2_000,
    tokens_in=20,
    tokens_out=500,
    tokens_legacy_equivalent=6_000,
    cache_hits=1,
    cache_lookups=1,
    consumer_label="unknown",
    consumer_source="unknown",
    function_version="1",
    document_uri=None,
)


def record(**fields: object) -> Record:
    """A plain record of a search with some of its fields changed."""
    return replace(_PLAIN, **fields)  # type: ignore[arg-type]


def records(day: date, number: int, seed: int, *, private: float = 0.0) -> Iterator[Record]:
    """`number` records of a day, a share of them of a private knowledge base."""
    rng = random.Random(seed)
    start = datetime(day.year, day.month, day.day, tzinfo=UTC)
    for _ in range(number):
        yield _one(rng, start, private)


def write_records(root: Path, day: date, number: int, seed: int, *, private: float = 0.0) -> list[Record]:
    """Writes them where the local sink does and gives them back."""
    sink, written = FileSink(root), list(records(day, number, seed, private=private))
    for entry in written:
        sink.write(entry)
    return written


def _one(rng: random.Random, start: datetime, private: float) -> Record:
    action = rng.choice(ACTIONS)
    hidden = rng.random() < private
    knowledge_base = "vault" if hidden else rng.choice((None, None, "gauge-firmware", "handbook"))
    failed = rng.random() < 0.06
    ranked = action in ("search", "preflight")
    document = action in ("get", "resolve")
    bare = action == "site"
    code = None
    if failed:
        code = rng.choice(("RATE_LIMITED", "INVALID_PARAMETER") if document else ("INVALID_PARAMETER", "EMPTY_QUERY"))
    overlay, baseline = rng.randrange(6), rng.randrange(40)
    on_top = min(overlay, 5) if rng.random() < 0.8 else 0
    answered = not failed and not bare
    hour = min(23, int(abs(rng.gauss(13, 4))))
    return record(
        timestamp=(start + timedelta(hours=hour, seconds=rng.randrange(3600))).isoformat(timespec="milliseconds"),
        action=action,
        status="ERROR" if failed else rng.choice(("FOUND", "FOUND", "FOUND", "NOT_FOUND")),
        error_code=code,
        knowledge_base_url=None if bare else knowledge_base,
        private=hidden and not bare,
        search_scope=None if document or bare else rng.choice(("merged", "kb_only")),
        result_grouping=rng.choice(("merged", "overlay_first", "grouped")) if ranked else None,
        disclosure=("body",) if document else rng.choice(((), (), ("blockquote",), ("metadata", "summary"))),
        parameters=() if failed or bare else tuple(sorted(rng.sample(("limit", "disclosure", "tags", "audience"), 2))),
        overlay_hits=overlay if ranked and answered else None,
        baseline_hits=baseline if ranked and answered else None,
        overlay_hits_in_top_5=on_top if ranked and answered else None,
        baseline_hits_in_top_5=min(5 - on_top, baseline) if ranked and answered else None,
        duration_ms=round(rng.lognormvariate(1.0 if ranked else 0.3, 0.8), 3),
        cold_start=rng.random() < 0.02,
        tokens_in=rng.randrange(5, 60),
        tokens_out=rng.randrange(80, 1500),
        tokens_legacy_equivalent=rng.randrange(2_000, 60_000) if answered else None,
        cache_hits=int(rng.random() < 0.95 and not bare),
        cache_lookups=int(not bare),
        consumer_label=rng.choice(_CONSUMERS),
        document_uri=f"klappy://canon/page-{int(rng.paretovariate(1)) % 60}" if document and answered else None,
    )
