"""A report as tables and as Markdown: which tables there are, and how its numbers read in every format."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lamina.telemetry.figures import ORDER_OF_MAGNITUDE, ActionFigures, Report, Verdict

_MEASURES = {
    "calls": "calls",
    "errors": "errors",
    "error_rate": "error rate",
    "p50_ms": "latency p50",
    "p95_ms": "latency p95",
    "p99_ms": "latency p99",
    "tokens_out": "tokens out",
    "token_ratio": "legacy shape ÷ spent",
    "rate_limited": "rate-limited",
    "cold_start_rate": "cold starts",
    "cache_hit_rate": "cache hits",
}
_SHARES = frozenset({"error_rate", "cold_start_rate", "cache_hit_rate"})


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under a heading each; the first `labels` columns are text, the rest numbers."""

    title: str
    note: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    labels: int = 1

    def is_text(self, column: int) -> bool:
        """Whether a column holds text: the labels do, and a list in the last column."""
        return column < self.labels or self.heads[column] == "by action"


def whole(number: float | None) -> str:
    """A count, with thin groups of three; a dash where there is none."""
    return "–" if number is None else f"{number:,.0f}"


def milliseconds(number: float | None) -> str:
    """A latency in three digits."""
    if number is None:
        return "–"
    return f"{number:,.0f} ms" if number >= 100 else f"{number:.3g} ms"


def percent(share: float | None) -> str:
    """A share."""
    return "–" if share is None else f"{share * 100:.1f} %"


def times(ratio: float | None) -> str:
    """A ratio."""
    return "–" if ratio is None else f"{ratio:,.1f}×"


def moved(change: float | None) -> str:
    """A relative change with its sign."""
    return "–" if change is None else f"{change * 100:+,.1f} %"


def actions_table(report: Report) -> Table:
    """Calls, errors and latency."""
    return Table(
        "Calls, errors and latency",
        "One row an action. Latency is measured inside the function, within 1 % of the true quantile.",
        ("action", "calls", "errors", "error rate", "p50", "p95", "p99"),
        tuple(
            (
                one.action,
                whole(one.calls),
                whole(one.errors),
                percent(one.error_rate),
                milliseconds(one.p50_ms),
                milliseconds(one.p95_ms),
                milliseconds(one.p99_ms),
            )
            for one in _with_totals(report)
        ),
    )


def errors_table(report: Report) -> Table:
    """Error codes."""
    return Table(
        "Errors by code",
        "Calls that failed, by what the caller was told.",
        ("action", "code", "calls"),
        tuple((one.action, one.error_code, whole(one.calls)) for one in report.errors),
        labels=2,
    )


def tokens_table(report: Report) -> Table:
    """Token spend against the legacy shape."""
    return Table(
        "Tokens against the legacy shape",
        "cl100k_base tokens. The ratio is over the calls whose older equivalent is known.",
        ("action", "tokens in", "tokens out", "compared calls", "spent", "legacy shape", "ratio"),
        tuple(
            (
                one.action,
                whole(one.tokens_in),
                whole(one.tokens_out),
                whole(one.calls_compared),
                whole(one.tokens_out_compared),
                whole(one.tokens_legacy_equivalent),
                times(one.token_ratio),
            )
            for one in _with_totals(report)
        ),
    )


def groupings_table(report: Report) -> Table:
    """Whether overlay hits stand on top."""
    return Table(
        "Overlay and baseline hits in the top 5",
        "Calls that named a knowledge base. Reach is the share of calls with any overlay hit that show one "
        "among the first five.",
        ("grouping", "scope", "calls", "overlay", "baseline", "overlay share", "matched", "reach"),
        tuple(
            (
                one.result_grouping,
                one.search_scope,
                whole(one.calls),
                whole(one.overlay_hits_in_top_5),
                whole(one.baseline_hits_in_top_5),
                percent(one.overlay_share),
                whole(one.calls_overlay_matched),
                percent(one.overlay_reach),
            )
            for one in report.groupings
        ),
        labels=2,
    )


def parameters_table(report: Report) -> Table:
    """Adoption of parameters."""
    return Table(
        "Adoption of parameters",
        "How many of an action's calls gave a parameter.",
        ("action", "parameter", "calls", "share"),
        tuple((one.action, one.name, whole(one.calls), percent(one.share)) for one in report.parameters),
        labels=2,
    )


def flags_table(report: Report) -> Table:
    """Adoption of disclosure flags."""
    return Table(
        "Adoption of disclosure flags",
        "How many of an action's calls asked for a tier, by default or by name.",
        ("action", "flag", "calls", "share"),
        tuple((one.action, one.name, whole(one.calls), percent(one.share)) for one in report.flags),
        labels=2,
    )


def consumers_table(report: Report) -> Table:
    """Who spends what, by action."""
    return Table(
        "Consumers",
        "The labels that callers give themselves, the costliest first, with the actions they spent on.",
        ("consumer", "calls", "errors", "tokens out", "by action"),
        tuple(
            (
                one.consumer.name,
                whole(one.consumer.calls),
                whole(one.consumer.errors),
                _at_most(one.consumer.tokens_out, one.consumer.overcount),
                ", ".join(f"{action.name} {whole(action.tokens_out)}" for action in one.actions),
            )
            for one in report.consumers
        ),
    )


def knowledge_bases_table(report: Report) -> Table:
    """Knowledge bases."""
    return Table(
        "Knowledge bases",
        "Calls that named one, as the allow list has it. Private ones are left out of public reports.",
        ("knowledge base", "calls", "errors", "tokens out"),
        tuple(
            (one.name, whole(one.calls), whole(one.errors), _at_most(one.tokens_out, one.overcount))
            for one in report.knowledge_bases
        ),
    )


def documents_table(report: Report) -> Table:
    """Documents most read."""
    return Table(
        "Documents most read",
        "By get and resolve.",
        ("document", "reads"),
        tuple((one.uri, _at_most(one.reads, one.overcount)) for one in report.documents),
    )


def running_table(report: Report) -> Table:
    """Cold starts, limits and caches."""
    return Table(
        "Cold starts, limits and caches",
        "Rate-limited calls were told to wait; a cache hit found its snapshot in memory.",
        ("action", "cold starts", "share", "rate-limited", "cache hits", "of lookups"),
        tuple(
            (
                one.action,
                whole(one.cold_starts),
                percent(one.cold_start_rate),
                whole(one.rate_limited),
                whole(one.cache_hits),
                percent(one.cache_hit_rate),
            )
            for one in _with_totals(report)
        ),
    )


def timeline_table(report: Report) -> Table:
    """Calls over time."""
    return Table(
        "Calls over time",
        "UTC.",
        ("from", "calls", "errors", "tokens out"),
        tuple(
            (one.start.replace("T", " "), whole(one.calls), whole(one.errors), whole(one.tokens_out))
            for one in report.timeline
        ),
    )


def changes_table(report: Report) -> Table:
    """What moved since the period before."""
    return Table(
        "Against the period before",
        f"Compared with the {report.period} from {report.compared_with}."
        if report.compared_with
        else "There is no period before to compare with.",
        ("action", "measure", "before", "now", "change"),
        tuple(
            (
                one.action,
                _MEASURES[one.measure],
                _value(one.measure, one.before),
                _value(one.measure, one.now),
                moved(one.change),
            )
            for one in report.changes
        ),
        labels=2,
    )


TABLES = (
    changes_table,
    timeline_table,
    actions_table,
    tokens_table,
    groupings_table,
    parameters_table,
    flags_table,
    consumers_table,
    knowledge_bases_table,
    documents_table,
    errors_table,
    running_table,
)


def _with_totals(report: Report) -> Sequence[ActionFigures]:
    return (*report.actions, report.totals) if report.actions else ()


def _value(measure: str, value: float | None) -> str:
    if measure in _SHARES:
        return percent(value)
    if measure.endswith("_ms"):
        return milliseconds(value)
    return times(value) if measure == "token_ratio" else whole(value)


def _at_most(number: int, overcount: int) -> str:
    return f"{whole(number - overcount)} to {whole(number)}" if overcount else whole(number)


def title(report: Report) -> str:
    """What a report is of."""
    if report.first_day == report.last_day:
        return f"Telemetry of {report.first_day}"
    return f"Telemetry of the week {report.first_day} to {report.last_day}"


def verdict(report: Report) -> str:
    """The order-of-magnitude check in a sentence."""
    totals = report.totals
    if report.verdict == Verdict.UNKNOWN:
        return "No call of this period has an legacy shape to compare its tokens with."
    return (
        f"Answers cost {whole(totals.tokens_out_compared)} tokens; the older full-frontmatter answers would have "
        f"cost {whole(totals.tokens_legacy_equivalent)}, {times(totals.token_ratio)} as many: {report.verdict} "
        f"(the mark is {ORDER_OF_MAGNITUDE:.0f}×)."
    )


def markdown(report: Report) -> str:
    """The report as Markdown."""
    parts = [f"# {title(report)}", verdict(report), summary(report)]
    for make in TABLES:
        table = make(report)
        parts += [f"## {table.title}", table.note, _markdown_table(table) if table.rows else "None."]
    return "\n\n".join(parts) + "\n"


def summary(report: Report) -> str:
    """What was counted, in a sentence."""
    totals = report.totals
    skipped = f", {whole(report.lines_skipped)} unreadable lines left out" if report.lines_skipped else ""
    return (
        f"{whole(totals.calls)} calls, {whole(totals.errors)} errors ({percent(totals.error_rate)}), "
        f"p95 {milliseconds(totals.p95_ms)}, {whole(totals.rate_limited)} rate-limited{skipped}. "
        f"Made {report.generated_at[:16].replace('T', ' ')} UTC."
    )


def _markdown_table(table: Table) -> str:
    rule = ["---"] * table.labels + ["---:"] * (len(table.heads) - table.labels)
    return "\n".join(map(_row, (table.heads, rule, *([*map(_escaped, row)] for row in table.rows))))


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(cell: str) -> str:
    """Text that comes from documents and callers, as text."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", " ".join(cell.split()))
