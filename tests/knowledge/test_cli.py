"""The person at the queue: sees what waits, sees it beside its sources, decides once, and is told what was done."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.knowledge import FILES, Desk, FolderBackend

from lamina.knowledge.note import note_of, note_path
from lamina.local.cli import main

REVIEW = "0123456789abcdef" * 4


class Terminal:
    """Runs commands in a workspace."""

    def __init__(self, root: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self._capfd, self._monkeypatch = root, capfd, monkeypatch

    def run(self, *arguments: str, types: str = "", form: str = "text") -> tuple[int, str, str]:
        """Exit code, output and what went to standard error."""
        self._monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(types.encode())))
        self._capfd.readouterr()
        code = main(["--format", form, "knowledge", *arguments, "--root", self.root])
        out, err = self._capfd.readouterr()
        return code, out, err

    def json(self, *arguments: str) -> dict[str, Any]:
        """The output of a command that succeeds, as JSON."""
        code, out, err = self.run(*arguments, form="json")
        assert code == 0, err
        told: dict[str, Any] = json.loads(out)
        return told


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A workspace in a folder."""
    desk = Desk(FolderBackend(tmp_path / "workspace"))
    for path, content in FILES.items():
        desk.backend.write(path, content)
    return desk


@pytest.fixture
def terminal(desk: Desk, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal at the workspace."""
    return Terminal(desk.root, capfd, monkeypatch)


@pytest.fixture
def waiting(desk: Desk) -> int:
    """A proposal that waits."""
    desk.initialise()
    return desk.propose()


def test_init_tells_the_identity_and_says_when_there_was_one(terminal: Terminal) -> None:
    first, again = terminal.json("init"), terminal.json("init")
    assert (first["initialised"], again["initialised"]) == (True, False)
    assert first["knowledge_workspace"] == again["knowledge_workspace"]
    assert first["files"] == 3


def test_describing_leaves_no_trace_in_the_folder(terminal: Terminal) -> None:
    told = terminal.json()
    assert told["result"]["workspace"]["initialised"] is False
    assert not (Path(terminal.root) / ".lamina").exists()


def test_pending_lists_what_waits(terminal: Terminal, waiting: int) -> None:
    assert [entry["title"] for entry in terminal.json("pending")["pending"]] == ["Two disks suffice"]
    assert "Two disks suffice" in terminal.run("pending")[1]


def test_show_sets_the_proposal_beside_what_it_cites(desk: Desk, terminal: Terminal, waiting: int) -> None:
    code, out, _ = terminal.run("show", str(waiting))
    assert code == 0
    cited = desk.proposal()["context"]["sources"][0]["path"]
    for part in ("Two disks suffice", "no third disk", "measured over a month", cited, "unchanged", "can be accepted"):
        assert part in out
    desk.backend.write(cited, b"# Edited\n\nNo database here.\n")
    out = terminal.run("show", str(waiting))[1]
    assert "changed since" in out
    assert "cannot be accepted now: stale_source" in out
    desk.backend.remove(cited)
    assert terminal.json("show", str(waiting))["cited"][0]["state"] == "gone"


@pytest.mark.parametrize(("types", "done"), [("y\n", True), ("n\n", False), ("", False)])
def test_accept_asks_once_and_says_what_it_did(
    desk: Desk, terminal: Terminal, waiting: int, types: str, done: bool
) -> None:
    code, out, err = terminal.run("accept", str(waiting), types=types)
    assert err.count("[y/N]") == 1
    assert code == (0 if done else 1)
    assert ("accepted: notes/two-disks-suffice-" in out) is done
    assert ("Nothing was done" in err) is not done
    assert len(list((Path(terminal.root) / "notes").iterdir())) == (2 if done else 1)


@pytest.mark.parametrize("flag", ["--yes", "--no-input"])
def test_nobody_is_asked_where_nobody_is_there(terminal: Terminal, waiting: int, flag: str) -> None:
    code, out, err = terminal.run("reject", str(waiting), flag)
    assert (code, "[y/N]" in err) == (0, False)
    assert "rejected" in out
    assert "already rejected" in terminal.run("reject", str(waiting), flag)[1]


def test_what_cannot_be_decided_is_told_with_its_word(desk: Desk, terminal: Terminal, waiting: int) -> None:
    other = desk.propose("other", title="Other")
    assert terminal.run("accept", str(other), "--yes")[0] == 0
    code, _, err = terminal.run("accept", str(waiting), "--yes")
    assert code == 1
    assert "stale_head" in err
    assert terminal.run("show", "999")[0] == 1


def test_seal_tells_what_changed_and_takes_it_in(desk: Desk, terminal: Terminal, waiting: int) -> None:
    assert terminal.json("seal", "--yes")["sealed"] is False
    desk.backend.write("docs/backup.md", b"# Backup\n\nThe database is copied hourly.\n")
    desk.backend.write("docs/new.md", b"# New\n")
    told = terminal.json("seal", "--yes")
    assert (told["changed_or_gone"], told["added"], told["sealed"]) == (["docs/backup.md"], ["docs/new.md"], True)
    assert "copied hourly" in json.dumps(desk.query("hourly"))
    assert [entry["transition"].split("-")[0] for entry in terminal.json("audit")["audit"]] == ["seal", "seal"]


def test_a_proposal_cannot_steer_the_terminal(desk: Desk, terminal: Terminal) -> None:
    desk.initialise()
    operation = desk.proposal()
    operation["capture"]["body"] = "\x1b[2J\x1b[1;1Haccepted\u202e gnp.exe \x07"
    number = desk.result(operation)["pending_id"]
    out = terminal.run("show", str(number))[1]
    assert not set("\x1b\u202e\x07") & set(out)


def test_requests_that_cannot_be_read_or_are_no_json_fail_without_a_response(terminal: Terminal) -> None:
    for arguments, types in ((("--request", "/no/such/file"), ""), (("--request", "-"), "{"), (("--request", "-"), "")):
        code, out, err = terminal.run(*arguments, types=types)
        assert (code, out) == (2, "")
        assert err.startswith("lamina: ")


def test_an_oversized_request_is_answered(terminal: Terminal) -> None:
    code, out, _ = terminal.run("--request", "-", types=json.dumps({"x": "y" * 300_000}))
    assert code == 0
    assert json.loads(out)["error"] == {"code": "invalid_input"}


def test_flags_may_stand_where_older_clients_put_them(terminal: Terminal, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["--no-input", "--no-freshness", "--format", "json", "knowledge", "--root", terminal.root]) == 0
    assert json.loads(capfd.readouterr().out)["ok"]


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Two disks suffice!", "two-disks-suffice"),
        ("Größe: 10 µm", "grösse-10-μm"),
        ("../../etc/passwd", "etcpasswd"),
        ("!?", "note"),
        ("語" * 200, "語" * 60),
    ],
)
def test_a_notes_name_is_the_slug_of_its_title(title: str, name: str) -> None:
    assert note_path(title, REVIEW) == f"notes/{name}-01234567.md"


def test_a_note_keeps_its_body_and_claims_no_kind_of_the_knowledge_base() -> None:
    payload = {
        "capture": {"title": 'A "title": yes', "body": "kind: canon\r\n", "kind": "canon", "tags": ["yes", "1"]},
        "context": {"run_id": "r", "sources": [{"path": "a.md", "sha256": REVIEW}]},
    }
    text = note_of(payload, REVIEW).content.decode()
    header, _, body = text.removeprefix("---\n").partition("---\n")
    assert body == '\n# A "title": yes\n\nkind: canon\r\n'
    assert "note_kind: canon" in header.splitlines()
    assert not any(line.startswith("kind:") for line in header.splitlines())
