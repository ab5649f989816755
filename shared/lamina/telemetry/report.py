"""Records of a period → its report: read once in bounded memory, compared with the period before."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from lamina.contract.ports import ObjectStore
from lamina.telemetry.figures import (
    ALL,
    FORMAT,
    ActionFigures,
    AdoptionFigures,
    Comparable,
    ConsumerFigures,
    DocumentFigures,
    ErrorFigures,
    GroupingFigures,
    Period,
    Report,
    Span,
    Spending,
    TimeFigures,
    Verdict,
    changes,
    share,
)
from lamina.telemetry.record_lines import RecordLines
from lamina.telemetry.tally import ActionTally, Heavy, HeavyHitters, LatencyHistogram, Tally

_MOST_SHOWN = 50


@dataclass(frozen=True, slots=True)
class Reporter:
    """Makes reports. `hidden` are the names of knowledge bases to leave out beside the records marked private."""

    lines: RecordLines
    hidden: Collection[str] = ()
    with_private: bool = False

    def report(self, span: Span, now: datetime, before: Comparable | None = None) -> Report:
        """The report of a span, compared with `before`, or with what the records say of the span before."""
        alone = self._alone(span, now)
        if before is None:
            earlier = self._alone(span.before(), now)
            before = Comparable.of(earlier) if earlier.records else None
        if before is None:
            return alone
        moved = changes(Comparable.of(alone), before)
        return replace(alone, compared_with=before.first_day, changes=moved)

    def _alone(self, span: Span, now: datetime) -> Report:
        tally = Tally(frozenset(day.isoformat() for day in span.days), frozenset(self.hidden), self.with_private)
        tally.read(self.lines.of_days(span.days))
        return report_of(tally, span, now)


def report_key(span: Span, suffix: str) -> str:
    """The key of a report in the store."""
    return f"reports/{span.period}/{span.first}.{suffix}"


def stored_figures(store: ObjectStore, span: Span) -> Comparable | None:
    """What the report of a span said, if there is one of this format. Raises StoreUnavailable."""
    stored = store.get(report_key(span, "json"))
    if stored is None:
        return None
    try:
        return Comparable.parse(json.loads(stored.content))
    except ValueError:
        return None


def report_of(tally: Tally, span: Span, now: datetime) -> Report:
    """The figures of a tally, without comparison."""
    actions = {name: tally.actions[name] for name in sorted(tally.actions)}
    totals = _action(ALL, _together(actions.values()))
    return Report(
        format=FORMAT,
        period=str(span.period),
        first_day=span.days[0].isoformat(),
        last_day=span.days[-1].isoformat(),
        generated_at=now.isoformat(timespec="seconds"),
        records=tally.records,
        lines_skipped=tally.lines_skipped,
        totals=totals,
        verdict=str(Verdict.of(totals.token_ratio)),
        actions=tuple(_action(name, entry) for name, entry in actions.items()),
        errors=tuple(
            ErrorFigures(name, code, calls)
            for name, entry in actions.items()
            for code, calls in sorted(entry.error_codes.items(), key=lambda item: (-item[1], item[0]))
        ),
        groupings=_groupings(tally),
        parameters=_adoption((name, entry.calls, entry.parameters) for name, entry in actions.items()),
        flags=_adoption((name, entry.calls, entry.flags) for name, entry in actions.items()),
        consumers=_consumers(tally.consumers),
        knowledge_bases=tuple(_spending(name, heavy) for name, heavy in _heaviest(tally.knowledge_bases)),
        documents=tuple(
            DocumentFigures(uri, heavy.weight, heavy.overcount) for uri, heavy in _heaviest(tally.documents)
        ),
        timeline=_timeline(tally, span),
        compared_with=None,
        changes=(),
    )


def _together(tallies: Iterable[ActionTally]) -> ActionTally:
    whole = ActionTally()
    for entry in tallies:
        for count in _COUNTS:
            setattr(whole, count, getattr(whole, count) + getattr(entry, count))
        whole.latency = whole.latency.merged(entry.latency)
    return whole


_COUNTS = (
    "calls",
    "errors",
    "rate_limited",
    "cold_starts",
    "cache_hits",
    "cache_lookups",
    "tokens_in",
    "tokens_out",
    "calls_compared",
    "tokens_out_compared",
    "tokens_legacy_equivalent",
)


def _action(name: str, tally: ActionTally) -> ActionFigures:
    latency: LatencyHistogram = tally.latency
    return ActionFigures(
        action=name,
        error_rate=share(tally.errors, tally.calls),
        p50_ms=latency.quantile(0.5),
        p95_ms=latency.quantile(0.95),
        p99_ms=latency.quantile(0.99),
        token_ratio=share(tally.tokens_legacy_equivalent, tally.tokens_out_compared),
        cold_start_rate=share(tally.cold_starts, tally.calls),
        cache_hit_rate=share(tally.cache_hits, tally.cache_lookups),
        **{count: getattr(tally, count) for count in _COUNTS},
    )


def _groupings(tally: Tally) -> tuple[GroupingFigures, ...]:
    return tuple(
        GroupingFigures(
            result_grouping=grouping,
            search_scope=scope,
            calls=entry.calls,
            overlay_hits_in_top_5=entry.overlay_hits_in_top_5,
            baseline_hits_in_top_5=entry.baseline_hits_in_top_5,
            overlay_share=share(
                entry.overlay_hits_in_top_5, entry.overlay_hits_in_top_5 + entry.baseline_hits_in_top_5
            ),
            calls_overlay_matched=entry.calls_overlay_matched,
            calls_overlay_in_top_5=entry.calls_overlay_in_top_5,
            overlay_reach=share(entry.calls_overlay_in_top_5, entry.calls_overlay_matched),
        )
        for (grouping, scope), entry in sorted(tally.groupings.items())
    )


def _adoption(actions: Iterable[tuple[str, int, dict[str, int]]]) -> tuple[AdoptionFigures, ...]:
    return tuple(
        AdoptionFigures(action, name, given, round(given / calls, 4))
        for action, calls, names in actions
        for name, given in sorted(names.items(), key=lambda item: (-item[1], item[0]))
    )


def _consumers(hitters: HeavyHitters[tuple[str, str]]) -> tuple[ConsumerFigures, ...]:
    by_label: dict[str, list[tuple[str, Heavy]]] = {}
    for (label, action), heavy in hitters.cells.items():
        by_label.setdefault(label, []).append((action, heavy))
    found = []
    for label, parts in by_label.items():
        actions = sorted((_spending(action, heavy) for action, heavy in parts), key=_costliest)
        whole = Spending(
            label,
            sum(entry.calls for entry in actions),
            sum(entry.errors for entry in actions),
            sum(entry.tokens_out for entry in actions),
            sum(entry.overcount for entry in actions),
        )
        found.append(ConsumerFigures(whole, tuple(actions)))
    return tuple(sorted(found, key=lambda entry: _costliest(entry.consumer))[:_MOST_SHOWN])


def _costliest(spending: Spending) -> tuple[int, str]:
    return -spending.tokens_out, spending.name


def _spending(name: str, heavy: Heavy) -> Spending:
    return Spending(name, heavy.calls, heavy.errors, heavy.weight, heavy.overcount)


def _heaviest(hitters: HeavyHitters[str]) -> list[tuple[str, Heavy]]:
    return sorted(hitters.cells.items(), key=lambda item: (-item[1].weight, item[0]))[:_MOST_SHOWN]


def _timeline(tally: Tally, span: Span) -> tuple[TimeFigures, ...]:
    """Every hour of a day, every day of a week, also those without a call."""
    length = 13 if span.period is Period.DAY else 10
    starts = [day.isoformat() for day in span.days]
    if span.period is Period.DAY:
        starts = [f"{starts[0]}T{hour:02d}" for hour in range(24)]
    counts = {start: [0, 0, 0] for start in starts}
    for hour, entry in tally.hours.items():
        cell = counts.get(hour[:length])
        if cell is not None:
            cell[0] += entry.calls
            cell[1] += entry.errors
            cell[2] += entry.tokens_out
    return tuple(TimeFigures(start, *cell) for start, cell in counts.items())
