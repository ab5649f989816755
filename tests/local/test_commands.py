"""What the commands say to somebody who has never used them, and that a mistake costs nothing that was there."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.corpora import page, write

from lamina.actions.action import Action
from lamina.actions.registry import ACTIONS
from lamina.contract.disclosure import Flag
from lamina.local.cli import main


@dataclass(frozen=True, slots=True)
class Shell:
    """Runs commands over one data folder."""

    folder: Path
    capfd: pytest.CaptureFixture[str]

    @property
    def data(self) -> Path:
        """The data folder."""
        return self.folder / "data"

    def run(self, *arguments: str, data: Path | None = None) -> tuple[int, str]:
        """Exit code, and what was said on standard error."""
        self.capfd.readouterr()
        code = main([*arguments, "--data", str(data or self.data)])
        return code, self.capfd.readouterr().err

    def titles(self, query: str) -> list[str]:
        """What a search finds."""
        self.capfd.readouterr()
        assert main(["search", query, "--data", str(self.data)]) == 0
        return [entry["title"] for entry in json.loads(self.capfd.readouterr().out)["data"]]


@pytest.fixture
def shell(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Shell:
    """A folder `oaks` with a document, an empty one, and nothing indexed."""
    write(
        tmp_path / "oaks",
        {
            "docs/oak.md": page("Oak", "A tree.", date="2026-01-31", kind="trees"),
            "drafts/elm.md": page("Elm", "A tree."),
        },
    )
    (tmp_path / "empty").mkdir()
    return Shell(tmp_path, capfd)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("{folder}/nowhere", "there is no folder"),
        ("{folder}/oaks/docs/oak.md", "is a file"),
        ("{folder}/empty", "no Markdown"),
        ("github.com/octocat/hello-world", "write https://github.com/octocat/hello-world"),
        ("https://example.com/notes", "starts with https://github.com/ or s3://"),
    ],
)
def test_an_address_that_cannot_be_indexed_is_told_with_what_to_give(shell: Shell, address: str, said: str) -> None:
    code, told = shell.run("index", address.format(folder=shell.folder))
    assert (code, said in told) == (1, True), told
    assert not (shell.data / "deployment.json").exists()


def test_a_folder_without_markdown_is_refused_each_time(shell: Shell) -> None:
    for _ in range(2):
        code, told = shell.run("index", str(shell.folder / "empty"))
        assert (code, "no Markdown" in told) == (1, True), told


def test_a_wrong_folder_leaves_the_index_that_was_there(shell: Shell) -> None:
    assert shell.run("index", str(shell.folder / "oaks"))[0] == 0
    assert shell.run("index", str(shell.folder / "empty"))[0] == 1
    assert shell.titles("oak") == ["Oak"]


def test_a_data_folder_that_is_a_file_is_told_by_every_command(shell: Shell) -> None:
    file = shell.folder / "oaks" / "docs" / "oak.md"
    for command in (["index", str(shell.folder / "oaks")], ["search", "oak"], ["report"], ["mcp"]):
        code, told = shell.run(*command, data=file)
        assert (code, f"{file} cannot be used" in told, "--data" in told) == (1, True, True), told


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("oaks", "NAME=ADDRESS"),
        ("two words={folder}/oaks", "letters, digits"),
        ("oaks={folder}/nowhere", "there is no folder"),
        ("oaks=ftp://example.com", "starts with https://github.com/"),
    ],
)
def test_an_allow_entry_that_is_none_is_told(shell: Shell, entry: str, said: str) -> None:
    code, told = shell.run("index", str(shell.folder / "oaks"), "--allow", entry.format(folder=shell.folder))
    assert (code, said in told) == (1, True), told


def test_settings_for_no_knowledge_base_are_refused_with_the_names_there_are(shell: Shell) -> None:
    settings = write(shell.folder, {"settings.yml": "ignore: [drafts/]\n"}) / "settings.yml"
    code, told = shell.run("index", str(shell.folder / "oaks"), "--settings", f"oaks={settings}")
    assert (code, "baseline" in told) == (1, True), told


def test_settings_hold_until_a_baseline_is_named_without_them(shell: Shell) -> None:
    settings = write(shell.folder, {"settings.yml": "ignore: [drafts/]\n"}) / "settings.yml"
    oaks = str(shell.folder / "oaks")
    assert shell.run("index", oaks, "--settings", f"baseline={settings}")[0] == 0
    assert shell.titles("tree") == ["Oak"]
    assert shell.run("index")[0] == 0
    assert shell.titles("tree") == ["Oak"]
    assert shell.run("index", oaks)[0] == 0
    assert sorted(shell.titles("tree")) == ["Elm", "Oak"]


def test_an_index_is_told_by_the_name_that_it_was_given(shell: Shell) -> None:
    overlay = write(shell.folder / "elms", {"docs/elm.md": page("Elm")})
    code, told = shell.run("index", str(shell.folder / "oaks"), "--allow", f"my_elms={overlay}")
    assert (code, "my_elms: 3 documents" in told) == (0, True), told


def test_names_that_differ_in_a_sign_have_indexes_of_their_own(shell: Shell) -> None:
    entries = []
    for name in ("a-b", "a_b"):
        write(shell.folder / name, {"docs/own.md": page(f"Of {name}", "Willow.")})
        entries += ["--allow", f"{name}={shell.folder / name}"]
    assert shell.run("index", str(shell.folder / "oaks"), *entries)[0] == 0
    for name in ("a-b", "a_b"):
        shell.capfd.readouterr()
        command = ["search", "willow", "--knowledge-base", name, "--search-scope", "kb_only"]
        assert main([*command, "--data", str(shell.data)]) == 0
        found = json.loads(shell.capfd.readouterr().out)["data"]
        assert [entry["title"] for entry in found] == [f"Of {name}"]


def test_the_help_of_a_command_names_the_values_and_the_defaults(shell: Shell) -> None:
    with pytest.raises(SystemExit):
        main(["catalog", "--help"])
    said = " ".join(shell.capfd.readouterr().out.split())
    assert "One of: path, title, date, tier. Default: path." in said
    assert "One or more of: blockquote, metadata, summary" in said


def test_the_form_may_be_chosen_before_and_after_the_command(shell: Shell) -> None:
    assert shell.run("index", str(shell.folder / "oaks"))[0] == 0
    for before, after in ((["--format", "text"], []), ([], ["--format", "text"])):
        shell.capfd.readouterr()
        assert main([*before, "search", "oak", "--data", str(shell.data), *after]) == 0
        assert "Oak" in (shown := shell.capfd.readouterr().out)
        assert not shown.startswith("{")


def _asked(action: Action) -> list[str]:
    """A command line that finds the oak: by its path, by its word, or in a listing; with all that may be disclosed."""
    permitted = action.request.permitted
    words = {None: [], "uri": ["docs/oak.md"]}.get(action.request.main, ["oak"])
    return [*words, "--disclosure", ",".join(permitted)] if Flag.BODY in permitted else words


@pytest.mark.parametrize("action", ACTIONS)
def test_every_action_is_shown_to_a_person(shell: Shell, action: str) -> None:
    assert shell.run("index", str(shell.folder / "oaks"))[0] == 0
    shell.capfd.readouterr()
    assert main([action, *_asked(ACTIONS[action]), "--format", "text", "--data", str(shell.data)]) == 0
    assert "docs/oak" in (shown := shell.capfd.readouterr().out)
    assert not shown.startswith("{")


def test_a_variable_that_does_not_fit_is_told_by_its_name(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("LAMINA_SNAPSHOT_TTL", "soon"), ("LAMINA_DATA", ""), ("LAMINA_BUCKET", "")):
        monkeypatch.setenv(name, value)  # the command sets some of them, and they are to be as before afterwards
    code, told = shell.run("mcp", "--bucket", "none")
    assert (code, "LAMINA_SNAPSHOT_TTL: " in told) == (1, True), told


def test_an_outline_and_sections_whose_names_hold_commas_are_shown(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    body = "Text.\n\n## One, and more\n\nFirst.\n\n## Two\n\nSecond.\n"
    folder, data = write(tmp_path / "oaks", {"docs/oak.md": page("Oak", body)}), str(tmp_path / "data")
    assert main(["index", str(folder), "--data", data]) == 0
    capfd.readouterr()
    assert main(["get", "docs/oak.md", "--outline", "--format", "text", "--data", data]) == 0
    assert "## One, and more  (one-and-more, line" in capfd.readouterr().out
    names = ["--section", "One, and more", "--section", "Two"]
    assert main(["get", "docs/oak.md", *names, "--format", "text", "--data", data]) == 0
    shown = capfd.readouterr().out
    assert "First." in shown and "Second." in shown and "Text." not in shown
