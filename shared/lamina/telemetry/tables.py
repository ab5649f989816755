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
                entry.action,
                whole(entry.calls),
                whole(entry.errors),
                percent(entry.error_rate),
                milliseconds(entry.p50_ms),
                milliseconds(entry.p95_ms),
                milliseconds(entry.p99_ms),
            )
            for entry in _with_totals(report)
        ),
    )


def errors_table(report: Report) -> Table:
    """Error codes."""
    return Table(
        "Errors by code",
        "Calls that failed, by what the caller was told.",
        ("action", "code", "calls"),
        tuple((entry.action, entry.error_code, whole(entry.calls)) for entry in report.errors),
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
                entry.action,
                whole(entry.tokens_in),
                whole(entry.tokens_out),
                whole(entry.calls_compared),
                whole(entry.tokens_out_compared),
                whole(entry.tokens_legacy_equivalent),
                times(entry.token_ratio),
            )
            for entry in _with_totals(report)
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
                entry.result_grouping,
                entry.search_scope,
                whole(entry.calls),
                whole(entry.overlay_hits_in_top_5),
                whole(entry.baseline_hits_in_top_5),
                percent(entry.overlay_share),
                whole(entry.calls_overlay_matched),
                percent(entry.overlay_reach),
            )
            for entry in report.groupings
        ),
        labels=2,
    )


def parameters_table(report: Report) -> Table:
    """Adoption of parameters."""
    return Table(
        "Adoption of parameters",
        "How many of an action's calls gave a parameter.",
        ("action", "parameter", "calls", "share"),
        tuple((entry.action, entry.name, whole(entry.calls), percent(entry.share)) for entry in report.parameters),
        labels=2,
    )


def flags_table(report: Report) -> Table:
    """Adoption of disclosure flags."""
    return Table(
        "Adoption of disclosure flags",
        "How many of an action's calls asked for a tier, by default or by name.",
        ("action", "flag", "calls", "share"),
        tuple((entry.action, entry.name, whole(entry.calls), percent(entry.share)) for entry in report.flags),
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
                entry.consumer.name,
                whole(entry.consumer.calls),
                whole(entry.consumer.errors),
                _at_most(entry.consumer.tokens_out, entry.consumer.overcount),
                ", ".join(f"{action.name} {whole(action.tokens_out)}" for action in entry.actions),
            )
            for entry in report.consumers
        ),
    )


def knowledge_bases_table(report: Report) -> Table:
    """Knowledge bases."""
    return Table(
        "Knowledge bases",
        "Calls that named one, as the allow list has it. Private ones are left out of public reports.",
        ("knowledge base", "calls", "errors", "tokens out"),
        tuple(
            (entry.name, whole(entry.calls), whole(entry.errors), _at_most(entry.tokens_out, entry.overcount))
            for entry in report.knowledge_bases
        ),
    )


def documents_table(report: Report) -> Table:
    """Documents most read."""
    return Table(
        "Documents most read",
        "By get and resolve.",
        ("document", "reads"),
        tuple((entry.uri, _at_most(entry.reads, entry.overcount)) for entry in report.documents),
    )


def running_table(report: Report) -> Table:
    """Cold starts, limits and caches."""
    return Table(
        "Cold starts, limits and caches",
        "Rate-limited calls were told to wait; a cache hit found its snapshot in memory.",
        ("action", "cold starts", "share", "rate-limited", "cache hits", "of lookups"),
        tuple(
            (
                entry.action,
                whole(entry.cold_starts),
                percent(entry.cold_start_rate),
                whole(entry.rate_limited),
                whole(entry.cache_hits),
                percent(entry.cache_hit_rate),
            )
            for entry in _with_totals(report)
        ),
    )


def timeline_table(report: Report) -> Table:
    """Calls over time."""
    return Table(
        "Calls over time",
        "UTC.",
        ("from", "calls", "errors", "tokens out"),
        tuple(
            (entry.start.replace("T", " "), whole(entry.calls), whole(entry.errors), whole(entry.tokens_out))
            for entry in report.timeline
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
                entry.action,
                _MEASURES[entry.measure],
                _value(entry.measure, entry.before),
                _value(entry.measure, entry.now),
                moved(entry.change),
            )
            for entry in report.changes
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
