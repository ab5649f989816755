"""The documentation is true: tables are the code's, examples answer as shown, links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.documentation.examples import CHECKOUT, Workspace, agrees, environment, examples_of, served

from lamina.actions.registry import ACTIONS
from lamina.contract.errors import CATALOGUE
from lamina.local.reference import UnknownTable, main, rendered

DOCS = CHECKOUT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
ALL_PAGES = [*PAGES, CHECKOUT / "README.md", CHECKOUT / "CHANGELOG.md"]

_LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_REPOSITORY_PATH = re.compile(r"`((?:docs|functions|samples|shared|tests)/[\w./-]+|template\.yaml|Makefile)`")


def _named(page: Path) -> str:
    return str(page.relative_to(CHECKOUT))


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    with served(tmp_path_factory.mktemp("docs")) as ready:
        yield ready


@pytest.mark.parametrize("page", [page for page in PAGES if examples_of(page)], ids=_named)
def test_every_example_of_a_page_answers_as_it_shows_in_their_order(page: Path, workspace: Workspace) -> None:
    for example in examples_of(page):
        given = workspace.run(example)
        assert not example.answer or agrees(example.answer, given), f"{example} answers\n{given}"


@pytest.mark.parametrize("page", ALL_PAGES, ids=_named)
def test_tables_are_what_the_generator_writes(page: Path) -> None:
    text = page.read_text("utf-8")
    assert rendered(text) == text, "run: make docs"


@pytest.mark.parametrize("page", ALL_PAGES, ids=_named)
def test_links_and_paths_lead_to_something(page: Path) -> None:
    text = page.read_text("utf-8")
    links = [page.parent / link for link in _LINK.findall(_FENCED.sub("", text))]
    paths = [CHECKOUT / path for path in _REPOSITORY_PATH.findall(text) if "NAME" not in path]
    assert [str(path) for path in (*links, *paths) if not path.exists()] == []


@pytest.mark.parametrize("name", ACTIONS)
def test_every_action_has_a_page_with_its_tables_and_an_example(name: str) -> None:
    page = DOCS / "actions" / f"{name}.md"
    text = page.read_text("utf-8")
    flags = ("flags",) if ACTIONS[name].request.permitted else ()
    for table in ("parameters", *flags, "fields"):
        assert f"<!-- generated: {table} {name} -->" in text
    assert examples_of(page)


def test_every_command_is_named_on_some_page() -> None:
    command = [sys.executable, "-m", "lamina.local.cli", "--help"]
    told = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True).stdout
    commands = re.findall(r"^    ([a-z-]+)", told, re.MULTILINE)
    written = "\n".join(page.read_text("utf-8") for page in ALL_PAGES)
    assert "search" in commands
    assert [name for name in commands if not re.search(rf"lamina {name}\b", written)] == []


def test_every_error_code_is_on_the_errors_page() -> None:
    text = (DOCS / "errors.md").read_text("utf-8")
    assert [code for code in CATALOGUE if f"| `{code}` |" not in text] == []


def test_the_generator_replaces_what_stands_between_its_marks_and_nothing_else(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("Before.\n<!-- generated: prefixes -->\nold\n<!-- end -->\nAfter.\n", "utf-8")
    assert main([str(tmp_path)]) == 0
    text = page.read_text("utf-8")
    assert text.startswith("Before.\n<!-- generated: prefixes -->\n| Path begins with | Kind |\n")
    assert text.endswith("| apocrypha |\n<!-- end -->\nAfter.\n")
    assert "old" not in text
    assert rendered(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "<!-- generated: nothing -->\n<!-- end -->",
        "<!-- generated: fields nothing -->\n<!-- end -->",
        "<!-- generated: prefixes -->\nnever closed",
    ],
)
def test_a_table_that_cannot_be_written_is_told(text: str) -> None:
    with pytest.raises(UnknownTable):
        rendered(text)


@pytest.mark.parametrize(
    ("shown", "given", "expected"),
    [
        ('{"a": [1, …]}', '{"a":[1,2,3]}', True),
        ('{"a": "x y"}', '{"a": "x y"}', True),
        ('{"a": 1}', '{"a": 2}', False),
        ('{"a": 1, …}', '{"b": 1, "a": 1}', False),
        ("one …", "one two", True),
        ("one", "one two", False),
    ],
)
def test_an_answer_agrees_when_all_that_is_shown_is_there(shown: str, given: str, expected: bool) -> None:
    assert agrees(shown, given) is expected
