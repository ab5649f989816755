"""Reports as people read them: a page that needs nothing else, Markdown that stays in its tables, the command."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.fakes.records import record, write_records

from lamina.local.cli import main
from lamina.telemetry.figures import Period, Report, Span
from lamina.telemetry.page import page, sections
from lamina.telemetry.record import FileSink
from lamina.telemetry.record_lines import FolderLines
from lamina.telemetry.report import Reporter
from lamina.telemetry.tables import TABLES, markdown

DAY = date(2026, 11, 25)
HOSTILE = "kb://<script>alert(1)</script>|`[x](javascript:y)`\n# heading"
_VOID = frozenset({"meta", "br", "rect", "line", "circle"})


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("records")
    write_records(folder, DAY - timedelta(days=1), 150, seed=1)
    write_records(folder, DAY, 200, seed=2)
    hostile = record(timestamp=f"{DAY}T12:00:00.000+00:00", action="get", document_uri=HOSTILE, tokens_out=10**6)
    FileSink(folder).write(hostile)
    return folder


@pytest.fixture(scope="module")
def report(root: Path) -> Report:
    return Reporter(FolderLines(root)).report(Span(Period.DAY, DAY), datetime(2026, 11, 26, tzinfo=UTC))


class Outline(HTMLParser):
    """What a page is made of; ValueError where its elements do not nest."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text: list[str] = []
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Takes one."""
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Takes one that closes itself."""
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        """Closes one."""
        if self._open.pop() != tag:
            raise ValueError(tag)

    def handle_data(self, data: str) -> None:
        """Takes text."""
        self.text.append(data)


def outline(report: Report) -> Outline:
    parsed = Outline()
    parsed.feed(page(report))
    parsed.close()
    return parsed


def empty() -> Report:
    return Reporter(FolderLines(Path("/nonexistent"))).report(
        Span(Period.WEEK, date(2026, 11, 23)), datetime(2026, 11, 30, tzinfo=UTC)
    )


def test_the_page_needs_no_script_and_nothing_from_elsewhere(report: Report) -> None:
    parsed = outline(report)
    assert not {"script", "link", "img", "iframe", "object", "form", "a"} & set(parsed.tags)
    assert not [name for name, _ in parsed.attributes if name in ("src", "href", "srcset") or name.startswith("on")]
    assert "url(" not in page(report)
    assert "@import" not in page(report)


def test_every_chart_has_a_name_and_a_table_beside_it(report: Report) -> None:
    parsed = outline(report)
    charts = [section for section in sections(report) if section.chart]
    assert len(charts) == parsed.tags.count("svg") >= 10
    assert parsed.tags.count("table") >= len(charts)
    assert all(section.table.rows for section in charts)
    assert len([1 for name, value in parsed.attributes if (name, value) == ("role", "img")]) == len(charts)


def test_the_page_follows_the_reader_to_the_dark_and_to_the_phone(report: Report) -> None:
    text = page(report)
    assert "prefers-color-scheme: dark" in text
    assert 'name="viewport" content="width=device-width' in text


def test_text_of_documents_stays_text(report: Report) -> None:
    assert "<script>" in "".join(outline(report).text)
    assert "<script" not in page(report)
    line = next(line for line in markdown(report).splitlines() if "script" in line)
    assert line.startswith("| kb://\\<script\\>")
    assert "\\|" in line
    assert "# heading" not in markdown(report).splitlines()


def test_pages_and_markdown_show_the_same_tables(report: Report) -> None:
    titles = {make(report).title for make in TABLES}
    assert {section.table.title for section in sections(report)} == titles
    assert set(re.findall(r"^## (.+)$", markdown(report), re.MULTILINE)) == titles


def test_a_period_without_calls_is_a_page_too() -> None:
    assert "svg" not in outline(empty()).tags
    assert "There is no period before" in markdown(empty())
    assert "No call of this period" in page(empty())


def test_no_chart_reaches_beyond_its_frame(report: Report) -> None:
    for x, width in re.findall(r'<rect class="s\d" x="([\d.]+)%?" y="[\d.]+" width="([\d.]+)%', page(report)):
        assert 0 <= float(x) <= float(x) + float(width) <= 100.01
    for at in re.findall(r'cx="(-?[\d.]+)%"', page(report)):
        assert 0 < float(at) < 100


def run(data: Path, *arguments: str) -> int:
    return main(["report", "--data", os.fspath(data), "--date", str(DAY), *arguments])


@pytest.fixture
def data(tmp_path: Path, root: Path) -> Path:
    """A data folder with the records and a deployment."""
    (tmp_path / "telemetry").symlink_to(root)
    (tmp_path / "deployment.json").write_text(
        json.dumps({"baseline": os.fspath(tmp_path), "allow": [], "settings": {}})
    )
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "shows"),
    [
        ([], '{"format":1,"period":"day"'),
        (["--format", "json", "--period", "week"], '"first_day":"2026-11-23"'),
        (["--format", "md"], "# Telemetry of 2026-11-25"),
        (["--format", "html"], "<!doctype html>"),
        (["--format", "table"], "Calls, errors and latency"),
    ],
)
def test_the_command_prints_a_report(
    arguments: Sequence[str], shows: str, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(data, *arguments) == 0
    assert shows in capsys.readouterr().out


def test_the_name_of_the_output_says_its_format(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = data / "report.html"
    assert run(data, "--output", os.fspath(target)) == 0
    assert target.read_text("utf-8").startswith("<!doctype html>")
    assert capsys.readouterr().out == ""


def test_what_cannot_be_done_is_said_in_a_line(tmp_path: Path, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path / "nothing") == 1
    assert "there is nothing" in capsys.readouterr().err
    assert run(data, "--output", os.fspath(data / "no" / "such" / "folder")) == 1
    assert "cannot be written" in capsys.readouterr().err
