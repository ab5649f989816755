"""Records → counts in bounded memory: what a report keeps of millions of calls, however many there are."""

from __future__ import annotations

import heapq
import json
import math
from collections import Counter
from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Generic, TypeVar

# A quantile is told within this share of its value.
RELATIVE_ERROR = 0.01
_GAMMA = (1 + RELATIVE_ERROR) / (1 - RELATIVE_ERROR)
_LOG_GAMMA = math.log(_GAMMA)
_SMALLEST_MS, _LARGEST_MS = 0.001, 1e7
_LOWEST = math.ceil(math.log(_SMALLEST_MS) / _LOG_GAMMA)
_BUCKETS = math.ceil(math.log(_LARGEST_MS) / _LOG_GAMMA) - _LOWEST + 1

Key = TypeVar("Key", bound=Hashable)


class LatencyHistogram:
    """Durations in milliseconds in buckets that grow geometrically, so that every quantile has one relative error.

    Source: Masson, Rim and Lee, "DDSketch", VLDB 2019, with a fixed range of 1 µs to 10,000 s.
    """

    __slots__ = ("_counts", "number")

    def __init__(self) -> None:
        self._counts = [0] * _BUCKETS
        self.number = 0

    def add(self, milliseconds: float) -> None:
        """Counts one duration; one outside the range counts at its end."""
        at = math.ceil(math.log(milliseconds) / _LOG_GAMMA) - _LOWEST if milliseconds > _SMALLEST_MS else 0
        self._counts[min(at, _BUCKETS - 1)] += 1
        self.number += 1

    def quantile(self, share: float) -> float | None:
        """The duration of rank ceil(share · number), within RELATIVE_ERROR; None where nothing was counted."""
        rank = max(1, math.ceil(share * self.number))
        passed = 0
        for at, number in enumerate(self._counts):
            passed += number
            if number and passed >= rank:
                return round(2 * _GAMMA ** (at + _LOWEST) / (_GAMMA + 1), 4)
        return None

    def merged(self, other: LatencyHistogram) -> LatencyHistogram:
        """Both together."""
        whole = LatencyHistogram()
        whole._counts = [mine + its for mine, its in zip(self._counts, other._counts, strict=True)]
        whole.number = self.number + other.number
        return whole


@dataclass(slots=True)
class Heavy:
    """What is known of one key. The true weight lies between `weight - overcount` and `weight`.

    `calls` and `errors` are counted from when the key was last taken up.
    """

    weight: int
    overcount: int
    calls: int = 0
    errors: int = 0


class HeavyHitters(Generic[Key]):
    """The heaviest keys of a stream in room for `capacity` of them; exact while no more than that occur.

    No key heavier than total/capacity is missed. Source: Metwally, Agrawal and El Abbadi, "Space-Saving",
    ICDT 2005, with a heap whose entries are brought up to date only when they come to its top.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.cells: dict[Key, Heavy] = {}
        self._heap: list[tuple[int, int, Key]] = []
        self._order = count()

    def add(self, key: Key, weight: int, *, failed: bool = False) -> None:
        """Counts one call of a key, of a weight of 0 or more."""
        cell = self.cells.get(key)
        if cell is None:
            floor = self._evict() if len(self.cells) >= self.capacity else 0
            cell = self.cells[key] = Heavy(floor, floor)
            heapq.heappush(self._heap, (floor, next(self._order), key))
        cell.weight += weight
        cell.calls += 1
        cell.errors += failed

    def _evict(self) -> int:
        """Gives up the lightest key and says its weight."""
        while True:
            seen, order, key = self._heap[0]
            weight = self.cells[key].weight
            if weight == seen:
                heapq.heappop(self._heap)
                del self.cells[key]
                return weight
            heapq.heapreplace(self._heap, (weight, order, key))


ERROR, RATE_LIMITED = "ERROR", "RATE_LIMITED"
OTHER = "other"
_MOST_ACTIONS = 64
_MOST_NAMES = 128
_MOST_CONSUMERS = 4096
_MOST_DOCUMENTS = 4096
_MOST_KNOWLEDGE_BASES = 512


@dataclass(frozen=True, slots=True)
class _Counted:
    """What is counted of one record, read whole before anything is counted: a damaged record counts nowhere."""

    day: str
    hour: str
    action: str
    knowledge_base: str | None
    private: bool
    failed: bool
    code: str
    consumer: str
    document: str | None
    tokens_in: int
    tokens_out: int
    legacy: int | None
    duration_ms: float
    cache_hits: int
    cache_lookups: int
    cold: bool
    parameters: tuple[str, ...]
    flags: tuple[str, ...]
    grouping: str | None
    scope: str
    hits_by_origin: tuple[int, int, int] | None

    @classmethod
    def of(cls, fields: dict[str, Any]) -> _Counted:
        """Reads a record's fields. Raises ValueError, KeyError or TypeError where they are no record's."""
        timestamp: str = fields["timestamp"]
        failed = fields["status"] == ERROR
        legacy = fields["tokens_legacy_equivalent"]
        overlay, baseline, matched = (
            fields["overlay_hits_in_top_5"],
            fields["baseline_hits_in_top_5"],
            fields["overlay_hits"],
        )
        record = cls(
            day=timestamp[:10],
            hour=timestamp[:13],
            action=str(fields["action"]),
            knowledge_base=_text_or_none(fields["knowledge_base_url"]),
            private=bool(fields.get("private", False)),
            failed=failed,
            code=str(fields["error_code"]),
            consumer=str(fields["consumer_label"]),
            document=_text_or_none(fields["document_uri"]),
            tokens_in=int(fields["tokens_in"]),
            tokens_out=int(fields["tokens_out"]),
            legacy=None if legacy is None or failed else int(legacy),
            duration_ms=float(fields["duration_ms"]),
            cache_hits=int(fields["cache_hits"]),
            cache_lookups=int(fields["cache_lookups"]),
            cold=bool(fields["cold_start"]),
            parameters=tuple(map(str, fields["parameters"])),
            flags=tuple(map(str, fields["disclosure"])),
            grouping=_text_or_none(fields["result_grouping"]),
            scope=str(fields["search_scope"]),
            hits_by_origin=None if overlay is None else (int(overlay), int(baseline), int(matched)),
        )
        if not (timestamp[11:13].isdecimal() and 0 <= record.duration_ms < math.inf and record.tokens_out >= 0):
            raise ValueError("not a record")
        return record


def _text_or_none(value: object) -> str | None:
    return None if value is None else str(value)


@dataclass(slots=True)
class ActionTally:
    """Counts of one action. `compared` ones are of calls whose older equivalent is known."""

    calls: int = 0
    errors: int = 0
    rate_limited: int = 0
    cold_starts: int = 0
    cache_hits: int = 0
    cache_lookups: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    calls_compared: int = 0
    tokens_out_compared: int = 0
    tokens_legacy_equivalent: int = 0
    latency: LatencyHistogram = field(default_factory=LatencyHistogram)
    parameters: Counter[str] = field(default_factory=Counter)
    flags: Counter[str] = field(default_factory=Counter)
    error_codes: Counter[str] = field(default_factory=Counter)

    def add(self, record: _Counted) -> None:
        """Counts one call."""
        self.calls += 1
        self.errors += record.failed
        self.cold_starts += record.cold
        self.cache_hits += record.cache_hits
        self.cache_lookups += record.cache_lookups
        self.tokens_in += record.tokens_in
        self.tokens_out += record.tokens_out
        self.latency.add(record.duration_ms)
        if record.legacy is not None:
            self.calls_compared += 1
            self.tokens_out_compared += record.tokens_out
            self.tokens_legacy_equivalent += record.legacy
        for counts, names in ((self.parameters, record.parameters), (self.flags, record.flags)):
            for name in names:
                counts[_room(counts, name, _MOST_NAMES)] += 1
        if record.failed:
            self.rate_limited += record.code == RATE_LIMITED
            self.error_codes[_room(self.error_codes, record.code, _MOST_NAMES)] += 1


@dataclass(slots=True)
class GroupingTally:
    """Calls that named a knowledge base, under one grouping and scope."""

    calls: int = 0
    overlay_hits_in_top_5: int = 0
    baseline_hits_in_top_5: int = 0
    calls_overlay_matched: int = 0
    calls_overlay_in_top_5: int = 0


@dataclass(slots=True)
class TimeTally:
    """Counts of one hour."""

    calls: int = 0
    errors: int = 0
    tokens_out: int = 0


@dataclass(slots=True)
class Tally:
    """Counts of the records of `days` (ISO dates), but for those of the `hidden` knowledge bases.

    A record marked private is never counted unless `with_private`.
    """

    days: Collection[str]
    hidden: Collection[str] = ()
    with_private: bool = False
    records: int = 0
    lines_skipped: int = 0
    actions: dict[str, ActionTally] = field(default_factory=dict)
    groupings: dict[tuple[str, str], GroupingTally] = field(default_factory=dict)
    hours: dict[str, TimeTally] = field(default_factory=dict)
    consumers: HeavyHitters[tuple[str, str]] = field(default_factory=lambda: HeavyHitters(_MOST_CONSUMERS))
    documents: HeavyHitters[str] = field(default_factory=lambda: HeavyHitters(_MOST_DOCUMENTS))
    knowledge_bases: HeavyHitters[str] = field(default_factory=lambda: HeavyHitters(_MOST_KNOWLEDGE_BASES))

    def read(self, lines: Iterable[bytes]) -> None:
        """Counts every line that holds a record; one that holds none is skipped and counted as such."""
        for line in lines:
            try:
                fields = json.loads(line)
                if isinstance(fields, dict) and "consumer_source" in fields:
                    self._add(_Counted.of(fields))
                elif not line.isspace():
                    self.lines_skipped += 1
            except (ValueError, KeyError, TypeError, RecursionError):
                self.lines_skipped += 1

    def _add(self, record: _Counted) -> None:
        if record.day not in self.days:
            return
        if not self.with_private and (record.private or record.knowledge_base in self.hidden):
            return
        name = _room(self.actions, record.action, _MOST_ACTIONS)
        self.records += 1
        self.actions.setdefault(name, ActionTally()).add(record)
        if record.knowledge_base is not None:
            self.knowledge_bases.add(record.knowledge_base, record.tokens_out, failed=record.failed)
            if record.hits_by_origin is not None and record.grouping is not None:
                self._add_grouping(record.grouping, record.scope, *record.hits_by_origin)
        self.consumers.add((record.consumer, name), record.tokens_out, failed=record.failed)
        if record.document is not None:
            self.documents.add(record.document, 1)
        hour = self.hours.setdefault(record.hour, TimeTally())
        hour.calls += 1
        hour.errors += record.failed
        hour.tokens_out += record.tokens_out

    def _add_grouping(self, grouping: str, scope: str, overlay: int, baseline: int, matched: int) -> None:
        found = self.groupings.get((grouping, scope))
        if found is None:
            if len(self.groupings) >= _MOST_NAMES:
                return
            found = self.groupings[grouping, scope] = GroupingTally()
        found.calls += 1
        found.overlay_hits_in_top_5 += overlay
        found.baseline_hits_in_top_5 += baseline
        found.calls_overlay_matched += matched > 0
        found.calls_overlay_in_top_5 += overlay > 0


def _room(known: Collection[str], name: str, most: int) -> str:
    """The name, or `other` where there are too many already."""
    return name if name in known or len(known) < most else OTHER
