"""What a report says, as values: the figures of one period, and how they differ from those of the period before."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import date, timedelta
from enum import StrEnum
from typing import Any

FORMAT = 1
ALL = "all"
# The contract asks for a reduction by an order of magnitude.
ORDER_OF_MAGNITUDE = 10.0


class Period(StrEnum):
    """How long a report looks back."""

    DAY = "day"
    WEEK = "week"


@dataclass(frozen=True, slots=True)
class Span:
    """One day, or seven from a Monday on, in UTC."""

    period: Period
    first: date

    @classmethod
    def around(cls, period: Period, day: date) -> Span:
        """The period that a day is in."""
        return cls(period, day - timedelta(days=day.weekday()) if period is Period.WEEK else day)

    @property
    def days(self) -> tuple[date, ...]:
        """Its days."""
        return tuple(self.first + timedelta(days=n) for n in range(7 if self.period is Period.WEEK else 1))

    def before(self) -> Span:
        """The period before."""
        return Span.around(self.period, self.first - timedelta(days=1))


class Verdict(StrEnum):
    """Whether calls cost an order of magnitude fewer tokens than the older full-frontmatter answers."""

    REACHED = "an order of magnitude less"
    SHORT = "less, but not by an order of magnitude"
    WORSE = "not less"
    UNKNOWN = "no calls to compare"

    @classmethod
    def of(cls, ratio: float | None) -> Verdict:
        """The verdict on `tokens_legacy_equivalent / tokens_out`."""
        if ratio is None:
            return cls.UNKNOWN
        if ratio >= ORDER_OF_MAGNITUDE:
            return cls.REACHED
        return cls.SHORT if ratio > 1 else cls.WORSE


@dataclass(frozen=True, slots=True)
class ActionFigures:
    """One action, or all of them. Latencies are milliseconds within one percent.

    `token_ratio` is `tokens_legacy_equivalent / tokens_out_compared`, over the calls that have an equivalent.
    """

    action: str
    calls: int
    errors: int
    error_rate: float | None
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    tokens_in: int
    tokens_out: int
    calls_compared: int
    tokens_out_compared: int
    tokens_legacy_equivalent: int
    token_ratio: float | None
    rate_limited: int
    cold_starts: int
    cold_start_rate: float | None
    cache_hits: int
    cache_lookups: int
    cache_hit_rate: float | None


@dataclass(frozen=True, slots=True)
class ErrorFigures:
    """Calls of an action that failed with a code."""

    action: str
    error_code: str
    calls: int


@dataclass(frozen=True, slots=True)
class GroupingFigures:
    """Where the hits of calls that named a knowledge base came from, and whether the overlay's were on top.

    `overlay_reach` is the share of calls with any overlay hit that show one among their first five.
    """

    result_grouping: str
    search_scope: str
    calls: int
    overlay_hits_in_top_5: int
    baseline_hits_in_top_5: int
    overlay_share: float | None
    calls_overlay_matched: int
    calls_overlay_in_top_5: int
    overlay_reach: float | None


@dataclass(frozen=True, slots=True)
class AdoptionFigures:
    """How many of an action's calls gave a parameter, or asked for a disclosure flag."""

    action: str
    name: str
    calls: int
    share: float


@dataclass(frozen=True, slots=True)
class Spending:
    """What one consumer, or one consumer on one action, cost.

    The true `tokens_out` is at most `overcount` lower; `overcount` is 0 unless too many different ones called.
    """

    name: str
    calls: int
    errors: int
    tokens_out: int
    overcount: int


@dataclass(frozen=True, slots=True)
class ConsumerFigures:
    """A consumer in all and by action, the costliest first."""

    consumer: Spending
    actions: tuple[Spending, ...]


@dataclass(frozen=True, slots=True)
class DocumentFigures:
    """How often a document was read by get or resolve."""

    uri: str
    reads: int
    overcount: int


@dataclass(frozen=True, slots=True)
class TimeFigures:
    """One hour of a day (`2026-11-30T14`), or one day of a week."""

    start: str
    calls: int
    errors: int
    tokens_out: int


@dataclass(frozen=True, slots=True)
class Change:
    """A measure now and in the period before; `change` is relative, None where there is nothing to divide by."""

    action: str
    measure: str
    before: float | None
    now: float | None
    change: float | None


@dataclass(frozen=True, slots=True)
class Report:
    """All figures of a period. Days are UTC and inclusive; `compared_with` is the first day of the period before."""

    format: int
    period: str
    first_day: str
    last_day: str
    generated_at: str
    records: int
    lines_skipped: int
    totals: ActionFigures
    verdict: str
    actions: tuple[ActionFigures, ...]
    errors: tuple[ErrorFigures, ...]
    groupings: tuple[GroupingFigures, ...]
    parameters: tuple[AdoptionFigures, ...]
    flags: tuple[AdoptionFigures, ...]
    consumers: tuple[ConsumerFigures, ...]
    knowledge_bases: tuple[Spending, ...]
    documents: tuple[DocumentFigures, ...]
    timeline: tuple[TimeFigures, ...]
    compared_with: str | None
    changes: tuple[Change, ...]

    def fields(self) -> dict[str, Any]:
        """The report as a JSON object."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Comparable:
    """What is kept of a period to compare the next one with."""

    first_day: str
    totals: ActionFigures
    actions: tuple[ActionFigures, ...]

    @classmethod
    def of(cls, report: Report) -> Comparable:
        """That part of a report."""
        return cls(report.first_day, report.totals, report.actions)

    @classmethod
    def parse(cls, fields: Any) -> Comparable | None:
        """That part of a report's JSON; None where it is of another format."""
        try:
            if fields["format"] != FORMAT:
                return None
            actions = tuple(ActionFigures(**entry) for entry in fields["actions"])
            return cls(str(fields["first_day"]), ActionFigures(**fields["totals"]), actions)
        except (KeyError, TypeError):
            return None


def share(part: float, whole: float) -> float | None:
    """`part / whole`, None of nothing."""
    return round(part / whole, 4) if whole else None


_COMPARED = (
    "calls",
    "errors",
    "error_rate",
    "p50_ms",
    "p95_ms",
    "p99_ms",
    "tokens_out",
    "token_ratio",
    "rate_limited",
    "cold_start_rate",
    "cache_hit_rate",
)
_COMPARED_BY_ACTION = ("calls", "error_rate", "p95_ms", "tokens_out")


def changes(now: Comparable, before: Comparable) -> tuple[Change, ...]:
    """How the measures moved, in all and by action; an action of only one period has none in the other."""
    moved = [_change(now.totals, before.totals, measure) for measure in _COMPARED]
    earlier = {entry.action: entry for entry in before.actions}
    current = {entry.action: entry for entry in now.actions}
    for action in sorted({*earlier, *current}):
        moved += [_change(current.get(action), earlier.get(action), measure) for measure in _COMPARED_BY_ACTION]
    return tuple(moved)


def _change(now: ActionFigures | None, before: ActionFigures | None, measure: str) -> Change:
    new = None if now is None else getattr(now, measure)
    old = None if before is None else getattr(before, measure)
    moved = None if new is None or not old else round((new - old) / old, 4)
    name = now.action if now is not None else before.action if before is not None else ALL
    return Change(name, measure, old, new, moved)
