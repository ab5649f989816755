"""A report as one HTML page that needs nothing else: a chart beside every table, in light and dark."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from importlib.resources import files
from string import Template

from lamina.telemetry import render
from lamina.telemetry import render_tables as tables
from lamina.telemetry.figures import Change, Report, Verdict
from lamina.telemetry.render_chart import Bar, bars, columns, pairs, ranges
from lamina.telemetry.render_tables import Table, milliseconds, percent, times, whole

_DRAWN = 12


@dataclass(frozen=True, slots=True)
class Section:
    """A table with its chart, and what the chart's colours mean."""

    table: Table
    chart: str = ""
    legend: tuple[str, ...] = ()


def page(report: Report) -> str:
    """The report as HTML."""
    template = Template(files("lamina.telemetry").joinpath("page.html").read_text("utf-8"))
    return template.substitute(
        title=escape(render.title(report)),
        summary=escape(render.summary(report)),
        tiles="".join(_tiles(report)),
        sections="".join(map(_section, sections(report))),
    )


def sections(report: Report) -> tuple[Section, ...]:
    """All that a report shows, in reading order."""
    return (
        Section(
            tables.timeline_table(report),
            columns(
                "calls over time",
                [
                    Bar(one.start[-2:] if "T" in one.start else one.start[5:], (one.calls - one.errors, one.errors), "")
                    for one in report.timeline
                ],
                every=6 if len(report.timeline) > 7 else 1,
            ),
            ("answered", "failed"),
        ),
        Section(
            tables.actions_table(report),
            ranges(
                "latency by action",
                [
                    Bar(one.action, (one.p50_ms, one.p95_ms, one.p99_ms), f"p95 {milliseconds(one.p95_ms)}")
                    for one in report.actions
                    if one.p50_ms is not None and one.p95_ms is not None and one.p99_ms is not None
                ],
            ),
            ("p50", "p95", "p99, on a logarithmic scale"),
        ),
        Section(
            tables.tokens_table(report),
            pairs(
                "tokens by action, spent and in the older shape",
                [
                    Bar(one.action, (one.tokens_out_compared, one.tokens_legacy_equivalent), times(one.token_ratio))
                    for one in report.actions
                    if one.calls_compared
                ],
            ),
            ("spent", "older shape"),
        ),
        Section(
            tables.groupings_table(report),
            bars(
                "overlay and baseline hits in the top 5",
                [
                    Bar(
                        f"{one.result_grouping} · {one.search_scope}",
                        (one.overlay_hits_in_top_5, one.baseline_hits_in_top_5),
                        percent(one.overlay_share),
                    )
                    for one in report.groupings
                ],
                whole=True,
            ),
            ("overlay", "baseline"),
        ),
        Section(
            tables.consumers_table(report),
            bars(
                "tokens by consumer",
                [
                    Bar(one.consumer.name, (one.consumer.tokens_out,), whole(one.consumer.tokens_out))
                    for one in report.consumers[:_DRAWN]
                ],
            ),
            ("tokens out",),
        ),
        Section(
            tables.documents_table(report),
            bars(
                "reads by document", [Bar(one.uri, (one.reads,), whole(one.reads)) for one in report.documents[:_DRAWN]]
            ),
            ("reads",),
        ),
        Section(
            tables.knowledge_bases_table(report),
            bars(
                "calls by knowledge base",
                [Bar(one.name, (one.calls,), whole(one.calls)) for one in report.knowledge_bases[:_DRAWN]],
            ),
            ("calls",),
        ),
        Section(tables.parameters_table(report), _adoption(report), ("share of the action's calls",)),
        Section(
            tables.flags_table(report),
            bars(
                "disclosure flags by action",
                [Bar(f"{one.action} · {one.name}", (one.share,), percent(one.share)) for one in report.flags[:_DRAWN]],
            ),
            ("share of the action's calls",),
        ),
        Section(
            tables.errors_table(report),
            bars(
                "errors by code",
                [
                    Bar(f"{one.action} · {one.error_code}", (0, one.calls), whole(one.calls))
                    for one in sorted(report.errors, key=lambda one: -one.calls)[:_DRAWN]
                ],
            ),
            ("", "calls that failed"),
        ),
        Section(
            tables.running_table(report),
            bars(
                "share of cold starts by action",
                [
                    Bar(
                        one.action,
                        (one.cold_start_rate or 0, 1 - (one.cold_start_rate or 0)),
                        percent(one.cold_start_rate),
                    )
                    for one in report.actions
                ],
            ),
            ("cold", "warm"),
        ),
        Section(tables.changes_table(report)),
    )


def _adoption(report: Report) -> str:
    """The parameters that most calls of their action gave, but for the one each action must have."""
    most = sorted(report.parameters, key=lambda one: (-one.share, one.action, one.name))
    return bars(
        "adoption of parameters",
        [Bar(f"{one.action} · {one.name}", (one.share,), percent(one.share)) for one in most[:_DRAWN]],
    )


def _tiles(report: Report) -> list[str]:
    totals = report.totals
    before = {one.measure: one for one in report.changes if one.action == totals.action}
    reached = {Verdict.REACHED: "good", Verdict.SHORT: "fair", Verdict.WORSE: "poor"}.get(Verdict(report.verdict), "")
    return [
        _tile("Calls", whole(totals.calls), before.get("calls")),
        _tile("Errors", percent(totals.error_rate), before.get("error_rate")),
        _tile("Latency p95", milliseconds(totals.p95_ms), before.get("p95_ms")),
        _tile("Tokens out", whole(totals.tokens_out), before.get("tokens_out")),
        _tile("Rate-limited", whole(totals.rate_limited), before.get("rate_limited")),
        _tile("Cold starts", percent(totals.cold_start_rate), before.get("cold_start_rate")),
        f'<div class="tile wide {reached}"><b>Order of magnitude</b><strong>{times(totals.token_ratio)}</strong>'
        f"<span>{escape(render.verdict(report))}</span></div>",
    ]


def _tile(name: str, value: str, change: Change | None) -> str:
    moved = "no period before" if change is None else f"{tables.moved(change.change)} against the period before"
    return f'<div class="tile"><b>{name}</b><strong>{escape(value)}</strong><span>{escape(moved)}</span></div>'


def _section(section: Section) -> str:
    table = section.table
    heading = f"<h2>{escape(table.title)}</h2><p>{escape(table.note)}</p>"
    if not table.rows:
        return f'<section>{heading}<p class="dim">None.</p></section>'
    figure = f"<figure>{_legend(section.legend)}{section.chart}</figure>" if section.chart else ""
    return f'<section>{heading}<div class="pair">{figure}{_table(table)}</div></section>'


def _legend(names: tuple[str, ...]) -> str:
    keys = "".join(
        f'<span class="key"><i class="k{series}"></i>{escape(name)}</span>' for series, name in enumerate(names) if name
    )
    return f"<figcaption>{keys}</figcaption>"


def _table(table: Table) -> str:
    kinds = [' class="text"'] * table.labels + [""] * (len(table.heads) - table.labels)
    if table.heads[-1] == "by action":
        kinds[-1] = ' class="text"'
    heads = "".join(f'<th scope="col"{kind}>{escape(head)}</th>' for kind, head in zip(kinds, table.heads, strict=True))
    rows = "".join(
        "<tr>"
        + "".join(
            f'<th scope="row"{kind}>{escape(cell)}</th>' if at == 0 else f"<td{kind}>{escape(cell)}</td>"
            for at, (kind, cell) in enumerate(zip(kinds, row, strict=True))
        )
        + "</tr>"
        for row in table.rows
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(table.title)}">'
        f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )
