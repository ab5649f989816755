"""The documentation's SQL recomputes every figure of the report from the records."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.corpora import CHECKOUT
from tests.fakes.records import write_records

from lamina.telemetry.figures import Period, Report, Span
from lamina.telemetry.record import Record
from lamina.telemetry.record_lines import FolderLines
from lamina.telemetry.report import Reporter

PAGE = (CHECKOUT / "docs" / "telemetry.md").read_text("utf-8")
QUERIES = dict(re.findall(r"^```sql (\w+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE))
WEEK = Span.around(Period.WEEK, date(2026, 11, 25))
LOCAL = ".lamina/telemetry"
Row = Mapping[str, Any]


def _actions(report: Report) -> list[Row]:
    found = report.fields()
    return [*found["actions"], found["totals"]]


def _consumers(report: Report) -> list[Row]:
    return [
        {**part, "name": entry["consumer"]["name"], "action": action}
        for entry in report.fields()["consumers"]
        for part, action in ((entry["consumer"], "all"), *((part, part["name"]) for part in entry["actions"]))
    ]


FIGURES: Mapping[str, tuple[tuple[str, ...], Callable[[Report], list[Row]]]] = {
    "actions": (("action",), _actions),
    "tokens": (("action",), _actions),
    "errors": (("action", "error_code"), lambda report: report.fields()["errors"]),
    "groupings": (("result_grouping", "search_scope"), lambda report: report.fields()["groupings"]),
    "parameters": (("action", "name"), lambda report: report.fields()["parameters"]),
    "flags": (("action", "name"), lambda report: report.fields()["flags"]),
    "consumers": (("name", "action"), _consumers),
    "knowledge_bases": (("name",), lambda report: report.fields()["knowledge_bases"]),
    "documents": (("uri",), lambda report: report.fields()["documents"]),
    "timeline": (("start",), lambda report: report.fields()["timeline"]),
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records of the week, of the days around it, and of a private knowledge base among them."""
    folder = tmp_path_factory.mktemp("telemetry")
    for number in range(9):
        write_records(folder, date(2026, 11, 22) + timedelta(days=number), 250, seed=number, private=0.1)
    return folder


@pytest.fixture(scope="module")
def report(root: Path) -> Report:
    return Reporter(FolderLines(root)).report(WEEK, datetime(2026, 11, 30, 2, tzinfo=UTC))


@pytest.fixture(scope="module")
def database(root: Path) -> Any:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    assert LOCAL in QUERIES["duckdb"]
    connection.execute(QUERIES["duckdb"].replace(LOCAL, os.fspath(root)))
    return connection


def test_every_figure_has_a_query() -> None:
    assert set(FIGURES) | {"duckdb"} == set(QUERIES)


@pytest.mark.parametrize("figure", FIGURES)
def test_a_query_gives_the_figures_of_the_report(figure: str, database: Any, report: Report) -> None:
    keys, rows_of = FIGURES[figure]
    cursor = database.execute(QUERIES[figure])
    columns = [column[0] for column in cursor.description]
    computed = {tuple(row[columns.index(key)] for key in keys): row for row in cursor.fetchall()}
    reported = {tuple(row[key] for key in keys): row for row in rows_of(report)}
    assert reported
    assert set(computed) == set(reported)
    for key, row in computed.items():
        for column, value in zip(columns, row, strict=True):
            assert value == _as_told(reported[key][column], column), (key, column)


def _as_told(value: Any, column: str) -> Any:
    """Quantiles are told within one percent, shares in four places; all else is exact."""
    if not isinstance(value, float):
        return value
    return pytest.approx(value, rel=0.0101 if column.endswith("_ms") else 0, abs=6e-5)


def test_what_changed_is_what_the_two_periods_say(root: Path, report: Report) -> None:
    days = Reporter(FolderLines(root))
    now = datetime(2026, 11, 30, tzinfo=UTC)
    today, before = (days.report(Span(Period.DAY, date(2026, 11, day)), now) for day in (28, 27))
    changed = {(entry.action, entry.measure): entry for entry in today.changes}
    assert today.compared_with == "2026-11-27"
    assert changed["all", "calls"].before == before.totals.calls
    assert changed["all", "calls"].now == today.totals.calls
    assert changed["all", "calls"].change == pytest.approx(today.totals.calls / before.totals.calls - 1, abs=6e-5)


def test_the_page_describes_every_field_of_a_record() -> None:
    table = PAGE.partition("## Fields")[2].partition("**Never recorded**")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == [field.name for field in fields(Record)]
