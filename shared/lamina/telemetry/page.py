"""A report as one HTML page that needs nothing else: a chart beside every table, in light and dark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from lamina.telemetry import tables
from lamina.telemetry.chart import Bar, bars, columns, pairs, ranges
from lamina.telemetry.figures import Change, Report, Verdict
from lamina.telemetry.tables import Table, milliseconds, percent, times, whole

if TYPE_CHECKING:
    from jinja2 import Template

_DRAWN = 12
_SHARE_OF_CALLS = ("share of the action's calls",)


@dataclass(frozen=True, slots=True)
class Section:
    """A table with its chart, and what the chart's colours mean; a colour without a name is not explained."""

    table: Table
    chart: str = ""
    legend: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Tile:
    """One figure of the whole period, and how it moved."""

    name: str
    value: str
    note: str
    kind: str = ""


def page(report: Report) -> str:
    """The report as HTML."""
    return _template().render(
        title=tables.title(report),
        summary=tables.summary(report),
        tiles=_tiles(report),
        sections=sections(report),
    )


@cache
def _template() -> Template:
    from jinja2 import Environment  # 50 ms to import, and only a page needs it

    source = files("lamina.telemetry").joinpath("page.html").read_text("utf-8")
    return Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(source)


def sections(report: Report) -> tuple[Section, ...]:
    """All that a report shows, in reading order."""
    return tuple(
        Section(table(report), "" if chart is None else chart(report), legend) for table, chart, legend in _SECTIONS
    )


def _timeline(report: Report) -> str:
    rows = [
        Bar(span.start[-2:] if "T" in span.start else span.start[5:], (span.calls - span.errors, span.errors), "")
        for span in report.timeline
    ]
    return columns("calls over time", rows, every=6 if len(rows) > 7 else 1)


def _latency(report: Report) -> str:
    rows = [
        Bar(action.action, (action.p50_ms, action.p95_ms, action.p99_ms), f"p95 {milliseconds(action.p95_ms)}")
        for action in report.actions
        if action.p50_ms is not None and action.p95_ms is not None and action.p99_ms is not None
    ]
    return ranges("latency by action", rows)


def _tokens(report: Report) -> str:
    rows = [
        Bar(action.action, (action.tokens_out_compared, action.tokens_legacy_equivalent), times(action.token_ratio))
        for action in report.actions
        if action.calls_compared
    ]
    return pairs("tokens by action, spent and in the legacy shape", rows)


def _origins(report: Report) -> str:
    rows = [
        Bar(
            f"{grouping.result_grouping} · {grouping.search_scope}",
            (grouping.overlay_hits_in_top_5, grouping.baseline_hits_in_top_5),
            percent(grouping.overlay_share),
        )
        for grouping in report.groupings
    ]
    return bars("overlay and baseline hits in the top 5", rows, whole=True)


def _consumers(report: Report) -> str:
    costliest = [entry.consumer for entry in report.consumers[:_DRAWN]]
    return bars("tokens by consumer", [Bar(c.name, (c.tokens_out,), whole(c.tokens_out)) for c in costliest])


def _documents(report: Report) -> str:
    read = report.documents[:_DRAWN]
    return bars("reads by document", [Bar(document.uri, (document.reads,), whole(document.reads)) for document in read])


def _knowledge_bases(report: Report) -> str:
    called = report.knowledge_bases[:_DRAWN]
    return bars("calls by knowledge base", [Bar(base.name, (base.calls,), whole(base.calls)) for base in called])


def _parameters(report: Report) -> str:
    most = sorted(report.parameters, key=lambda given: (-given.share, given.action, given.name))[:_DRAWN]
    rows = [Bar(f"{given.action} · {given.name}", (given.share,), percent(given.share)) for given in most]
    return bars("adoption of parameters", rows)


def _flags(report: Report) -> str:
    rows = [Bar(f"{flag.action} · {flag.name}", (flag.share,), percent(flag.share)) for flag in report.flags[:_DRAWN]]
    return bars("disclosure flags by action", rows)


def _errors(report: Report) -> str:
    most = sorted(report.errors, key=lambda error: -error.calls)[:_DRAWN]
    rows = [Bar(f"{error.action} · {error.error_code}", (0, error.calls), whole(error.calls)) for error in most]
    return bars("errors by code", rows)


def _cold_starts(report: Report) -> str:
    shares = [(action.action, action.cold_start_rate) for action in report.actions]
    rows = [Bar(name, (share or 0, 1 - (share or 0)), percent(share)) for name, share in shares]
    return bars("share of cold starts by action", rows)


_SECTIONS: tuple[tuple[Callable[[Report], Table], Callable[[Report], str] | None, tuple[str, ...]], ...] = (
    (tables.timeline_table, _timeline, ("answered", "failed")),
    (tables.actions_table, _latency, ("p50", "p95", "p99, on a logarithmic scale")),
    (tables.tokens_table, _tokens, ("spent", "legacy shape")),
    (tables.groupings_table, _origins, ("overlay", "baseline")),
    (tables.consumers_table, _consumers, ("tokens out",)),
    (tables.documents_table, _documents, ("reads",)),
    (tables.knowledge_bases_table, _knowledge_bases, ("calls",)),
    (tables.parameters_table, _parameters, _SHARE_OF_CALLS),
    (tables.flags_table, _flags, _SHARE_OF_CALLS),
    (tables.errors_table, _errors, ("", "calls that failed")),
    (tables.running_table, _cold_starts, ("cold", "warm")),
    (tables.changes_table, None, ()),
)


def _tiles(report: Report) -> tuple[_Tile, ...]:
    totals = report.totals
    before = {change.measure: change for change in report.changes if change.action == totals.action}
    reached = {Verdict.REACHED: "good", Verdict.SHORT: "fair", Verdict.WORSE: "poor"}.get(Verdict(report.verdict), "")
    figures = (
        ("Calls", whole(totals.calls), "calls"),
        ("Errors", percent(totals.error_rate), "error_rate"),
        ("Latency p95", milliseconds(totals.p95_ms), "p95_ms"),
        ("Tokens out", whole(totals.tokens_out), "tokens_out"),
        ("Rate-limited", whole(totals.rate_limited), "rate_limited"),
        ("Cold starts", percent(totals.cold_start_rate), "cold_start_rate"),
    )
    small = (_Tile(name, value, _moved(before.get(measure))) for name, value, measure in figures)
    magnitude = _Tile("Order of magnitude", times(totals.token_ratio), tables.verdict(report), f"wide {reached}")
    return (*small, magnitude)


def _moved(change: Change | None) -> str:
    return "no period before" if change is None else f"{tables.moved(change.change)} against the period before"
