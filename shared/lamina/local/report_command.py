"""The command `lamina report`: what the calls of a day or a week came to, from the records in the data folder."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from lamina.http.telemetry_report import rendered, reports_of
from lamina.local.deployment import DeploymentError, add_data_option, remembered
from lamina.runtime.settings import Settings
from lamina.runtime.wiring import compose
from lamina.telemetry.figures import Period, Report, Span
from lamina.telemetry.tables import TABLES, Table, summary, title, verdict

_PURPOSE = "report calls, errors, latency and token spend of a day or a week"


def add_report(commands: Any) -> None:
    """Adds the command to the parser's commands."""
    sub = commands.add_parser("report", help=_PURPOSE, description=_PURPOSE)
    sub.add_argument("--period", choices=[*map(str, Period)], default=str(Period.DAY), help="how long (day)")
    sub.add_argument("--date", type=_day, metavar="YYYY-MM-DD", help="a day in it, in UTC (today)")
    sub.add_argument(
        "--format",
        choices=["table", "json", "html", "md"],
        help="table at a terminal, else json; with --output, what the file's name ends with",
    )
    sub.add_argument("--output", type=Path, metavar="FILE", help="write to a file")
    sub.add_argument(
        "--with-private", action="store_true", help="count private knowledge bases too: not for publication"
    )
    add_data_option(sub)
    sub.set_defaults(command=report)


def report(arguments: argparse.Namespace) -> int:
    """Makes one report and shows or writes it. Raises DeploymentError."""
    deployment = remembered(arguments.data)
    if deployment is None:
        raise DeploymentError(f"there is nothing in {arguments.data} to report on. Run: lamina serve")
    reports = reports_of(compose(Settings.of(deployment.environment())), with_private=arguments.with_private)
    now = datetime.now(UTC)
    span = Span.around(Period(arguments.period), arguments.date or now.date())
    made = reports.reporter.report(span, now)
    shape = arguments.format or _shape_for(arguments.output)
    if arguments.output is not None:
        _write(arguments.output, _text(made, shape))
    elif shape == "table":
        show(made, Console())
    else:
        print(_text(made, shape).rstrip("\n"))
    return 0


def show(made: Report, console: Console) -> None:
    """Prints a report as tables."""
    console.print(Text(title(made), style="bold"))
    console.print(Text(summary(made)))
    console.print(Text(verdict(made)))
    for make in TABLES:
        table = make(made)
        if table.rows:
            console.print(_grid(table))


def _grid(table: Table) -> Grid:
    grid = Grid(title=Text(table.title), title_justify="left", caption=Text(table.note), caption_justify="left")
    for at, head in enumerate(table.heads):
        grid.add_column(head, justify="left" if at < table.labels else "right", overflow="fold")
    for row in table.rows:
        if any(cell != "0" for cell in row[table.labels :]):  # hours without a call would fill the screen
            grid.add_row(*map(Text, row))
    return grid


def _shape_for(output: Path | None) -> str:
    if output is None:
        return "table" if sys.stdout.isatty() else "json"
    suffix = output.suffix.removeprefix(".")
    return suffix if suffix in ("json", "html", "md") else "table"


def _text(made: Report, shape: str) -> str:
    if shape != "table":
        return rendered(made, shape)
    console = Console(width=110, color_system=None)
    with console.capture() as printed:
        show(made, console)
    return printed.get()


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise DeploymentError(f"{path} cannot be written: {error.strerror}.") from error


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no date; write YYYY-MM-DD") from error
