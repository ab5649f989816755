"""lamina check: what is wrong with the documents of a folder or an index, for a person and for machines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.corpora import page, write

from lamina.local.cli import main

_FILES: dict[str, str | bytes] = {
    "a.md": page("A", uri="kb://same"),
    "b.md": page("B", uri="kb://same"),
    "c.md": "---\ntitle: C\ndate: soon\n---\n\nSee [d](gone.md), [[Nobody]] and [a](a.md), [web](https://x.example/y.md).\n",
    "latin.md": "# Café\n".encode("latin-1"),
    "e.rst": "E\n=\n",
    "f.rst": "F\n=\n",
    "empty.md": "",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "base", _FILES)


def _checked(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(["check", *arguments])
    return code, capsys.readouterr().out


def test_remarks_are_grouped_and_counted_errors_first(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = _checked(capsys, str(folder), "--format", "json")
    answer = json.loads(said)
    assert code == 0
    assert answer["documents"] == 4
    assert answer["remarks"] == {"error": 2, "warning": 4, "note": 1}
    assert [(group["level"], group["topic"], group["count"]) for group in answer["groups"]] == [
        ("error", "unreadable", 1),
        ("error", "duplicate-uri", 1),
        ("warning", "broken-link", 2),
        ("warning", "odd-date", 1),
        ("warning", "unread-format", 1),
        ("note", "empty", 1),
    ]
    places = {(problem["path"], problem["line"]) for problem in answer["problems"] if problem["path"] == "c.md"}
    assert places == {("c.md", 6), ("c.md", 3)}


def test_a_person_is_shown_every_error_and_the_counts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = _checked(capsys, str(folder), "--format", "text")
    assert code == 0
    assert "error: duplicate-uri (1)" in said
    assert "c.md:6" in said
    assert "2 files are not read, for .rst is no Markdown: e.rst, f.rst" in said
    assert said.rstrip().endswith("4 documents: 2 errors, 4 warnings, 1 note")


@pytest.mark.parametrize(
    ("files", "code"),
    [
        (_FILES, 1),
        ({"a.md": "See [b](gone.md).\n"}, 0),
        ({"a.md": "---\ntitle: Open\n"}, 1),
        ({"a.md": "# Fine\n"}, 0),
    ],
)
def test_a_strict_check_fails_on_errors_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], files: dict[str, str | bytes], code: int
) -> None:
    folder = write(tmp_path / "base", files)
    assert _checked(capsys, str(folder), "--strict", "--format", "json")[0] == code
    assert _checked(capsys, str(folder), "--format", "json")[0] == 0


def test_github_is_told_by_workflow_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write(tmp_path / "base", {"a,b.md": "\n\nSee [100%](gone.md).\n"})
    _, said = _checked(capsys, str(folder), "--format", "github")
    assert said == ("::warning file=a%2Cb.md,line=3,title=broken-link::the link to 'gone.md' leads to no document\n")


def test_sarif_names_rule_level_file_and_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, said = _checked(capsys, str(folder), "--format", "sarif")
    [run] = json.loads(said)["runs"]
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} == {result["ruleId"] for result in run["results"]}
    odd = next(result for result in run["results"] if result["ruleId"] == "odd-date")
    assert odd["level"] == "warning"
    assert odd["locations"] == [{"physicalLocation": {"artifactLocation": {"uri": "c.md"}, "region": {"startLine": 3}}}]


def test_an_index_is_checked_too_and_indexing_says_what_is_not_read(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = str(tmp_path / "data")
    assert main(["index", str(folder), "--data", data]) == 0
    told = capsys.readouterr().err
    assert "not read, for they are no Markdown: 2 .rst" in told
    assert "2 errors, 4 warnings, 1 note: see lamina check" in told
    _, said = _checked(capsys, "--data", data, "--format", "json")
    assert json.loads(said)["remarks"] == {"error": 2, "warning": 4, "note": 1}


def test_a_folder_that_is_none_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path / "nowhere")]) == 1
    assert "is no folder" in capsys.readouterr().err
