"""A report as Markdown for people: what it is of, what it comes to, and its tables."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lamina.telemetry.figures import ORDER_OF_MAGNITUDE, Report, Verdict
from lamina.telemetry.render_tables import TABLES, Table, milliseconds, percent, times, whole


def title(report: Report) -> str:
    """What a report is of."""
    if report.first_day == report.last_day:
        return f"Telemetry of {report.first_day}"
    return f"Telemetry of the week {report.first_day} to {report.last_day}"


def verdict(report: Report) -> str:
    """The order-of-magnitude check in a sentence."""
    totals = report.totals
    if report.verdict == Verdict.UNKNOWN:
        return "No call of this period has an older shape to compare its tokens with."
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
