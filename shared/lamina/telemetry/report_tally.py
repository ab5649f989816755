"""Records → counts: what a report keeps of millions of calls, in memory that does not grow with their number."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from lamina.telemetry.report_sketch import HeavyHitters, LatencyHistogram

ERROR, RATE_LIMITED = "ERROR", "RATE_LIMITED"
OTHER = "other"
_MOST_ACTIONS = 64
_MOST_NAMES = 128
_MOST_CONSUMERS = 4096
_MOST_DOCUMENTS = 4096
_MOST_KNOWLEDGE_BASES = 512


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
                    self._add(fields)
                elif not line.isspace():
                    self.lines_skipped += 1
            except (ValueError, KeyError, TypeError, RecursionError):
                self.lines_skipped += 1

    def _add(self, fields: dict[str, Any]) -> None:
        """Everything is read before anything is counted, so that a damaged record counts nowhere."""
        timestamp: str = fields["timestamp"]
        if timestamp[:10] not in self.days:
            return
        knowledge_base = fields["knowledge_base_url"]
        if not self.with_private and (fields.get("private", False) or knowledge_base in self.hidden):
            return
        code, label, document = fields["error_code"], fields["consumer_label"], fields["document_uri"]
        failed = fields["status"] == ERROR
        tokens_in, tokens_out = int(fields["tokens_in"]), int(fields["tokens_out"])
        legacy, duration = fields["tokens_legacy_equivalent"], float(fields["duration_ms"])
        if not (timestamp[11:13].isdecimal() and 0 <= duration < math.inf and tokens_out >= 0):
            raise ValueError("not a record")
        hits, lookups = int(fields["cache_hits"]), int(fields["cache_lookups"])
        cold, parameters, flags = bool(fields["cold_start"]), list(fields["parameters"]), list(fields["disclosure"])
        grouping, scope = fields["result_grouping"], fields["search_scope"]
        in_top = fields["overlay_hits_in_top_5"], fields["baseline_hits_in_top_5"], fields["overlay_hits"]
        hits_by_origin = None if in_top[0] is None else tuple(map(int, in_top))
        name = _room(self.actions, str(fields["action"]), _MOST_ACTIONS)
        compared = legacy is not None and not failed
        legacy = int(legacy) if compared else 0

        action = self.actions.get(name)
        if action is None:
            action = self.actions[name] = ActionTally()
        self.records += 1
        action.calls += 1
        action.errors += failed
        action.cold_starts += cold
        action.cache_hits += hits
        action.cache_lookups += lookups
        action.tokens_in += tokens_in
        action.tokens_out += tokens_out
        action.latency.add(duration)
        if compared:
            action.calls_compared += 1
            action.tokens_out_compared += tokens_out
            action.tokens_legacy_equivalent += legacy
        for parameter in parameters:
            action.parameters[_room(action.parameters, str(parameter), _MOST_NAMES)] += 1
        for flag in flags:
            action.flags[_room(action.flags, str(flag), _MOST_NAMES)] += 1
        if failed:
            action.rate_limited += code == RATE_LIMITED
            action.error_codes[_room(action.error_codes, str(code), _MOST_NAMES)] += 1
        if knowledge_base is not None:
            self.knowledge_bases.add(str(knowledge_base), tokens_out, failed=failed)
            if hits_by_origin is not None and grouping is not None:
                self._add_grouping(str(grouping), str(scope), *hits_by_origin)
        self.consumers.add((str(label), name), tokens_out, failed=failed)
        if document is not None:
            self.documents.add(str(document), 1)
        hour = self.hours.setdefault(timestamp[:13], TimeTally())
        hour.calls += 1
        hour.errors += failed
        hour.tokens_out += tokens_out

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
