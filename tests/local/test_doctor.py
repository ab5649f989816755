"""The doctor says what is wrong with a machine and what to do about it, and changes nothing."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.corpora import page, write

from lamina.local.cli import main
from lamina.local.doctor import (
    Finding,
    Outcome,
    data_folder,
    dependencies,
    examined,
    free_port,
    python_version,
    signing_key,
    template,
)
from lamina.local.gateway import Gateway
from lamina.local.server import Server


@pytest.fixture
def port() -> Iterator[int]:
    """A port that is free."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
    yield number


@pytest.fixture
def indexed(tmp_path: Path) -> Path:
    """A data folder whose baseline and overlay are indexed."""
    baseline = write(tmp_path / "handbook", {"docs/oak.md": page("Oak", "A tree.")})
    overlay = write(tmp_path / "project", {"docs/elm.md": page("Elm", "Another.")})
    data = tmp_path / "data"
    assert main(["index", str(baseline), "--allow", f"trees={overlay}", "--data", str(data)]) == 0
    return data


def _of(findings: list[Finding], check: str) -> Finding:
    return next(finding for finding in findings if finding.check == check)


def test_a_machine_that_is_indexed_and_free_passes_every_check(indexed: Path, port: int) -> None:
    findings = examined(indexed, port, {})
    assert not [finding for finding in findings if finding.outcome == Outcome.FAILED]
    checked = {finding.check for finding in findings if finding.outcome == Outcome.OK}
    assert {"python", "dependencies", "template", "data folder", "signing key", "port"} <= checked
    assert {"source baseline", "source trees", "index baseline", "index trees"} <= checked


def test_which_folders_fall_in_which_kind_is_told(indexed: Path, port: int) -> None:
    write(indexed.parent / "handbook", {"odd/day.md": page("Day"), "README.md": page("Readme")})
    assert main(["index", "--data", str(indexed)]) == 0
    told = _of(examined(indexed, port, {}), "kinds baseline").detail
    assert told.startswith("docs: ") and "docs (1)" in told and ". (1)" in told
    assert "journals: odd (1); journals and apocrypha are found only when asked for" in told


def test_a_machine_that_has_indexed_nothing_yet_is_not_ill_and_nothing_is_made(tmp_path: Path, port: int) -> None:
    findings = examined(tmp_path / "data", port, {})
    assert not [finding for finding in findings if finding.outcome == Outcome.FAILED]
    assert "lamina index" in _of(findings, "index").remedy
    assert not (tmp_path / "data").exists()


def test_an_index_that_was_tampered_with_or_is_gone_is_told(indexed: Path, port: int) -> None:
    snapshots = sorted(indexed.rglob("*.pkl"))
    for snapshot in snapshots:
        content = bytearray(snapshot.read_bytes())
        content[-1] ^= 1
        snapshot.write_bytes(content)
    findings = examined(indexed, port, {})
    assert _of(findings, "index baseline").outcome == Outcome.FAILED
    assert "lamina index" in _of(findings, "index baseline").remedy
    for snapshot in snapshots:
        snapshot.unlink()
    assert _of(examined(indexed, port, {}), "index trees").detail == "is not built"


def test_an_index_under_another_key_is_refused(indexed: Path, port: int) -> None:
    (indexed / "signing.key").write_bytes(b"x" * 32)
    finding = _of(examined(indexed, port, {}), "index baseline")
    assert (finding.outcome, "signature" in finding.detail) == (Outcome.FAILED, True)


def test_a_source_that_is_gone_is_told_with_its_folder(indexed: Path, port: int, tmp_path: Path) -> None:
    (tmp_path / "project").rename(tmp_path / "moved")
    finding = _of(examined(indexed, port, {}), "source trees")
    assert finding.outcome == Outcome.FAILED
    assert str(tmp_path / "project") in finding.detail


def test_a_damaged_deployment_is_told(indexed: Path, port: int) -> None:
    (indexed / "deployment.json").write_text("{broken", "utf-8")
    assert _of(examined(indexed, port, {}), "deployment").outcome == Outcome.FAILED


@pytest.mark.parametrize(("token", "outcome"), [("", Outcome.NOTE), ("secret-token", Outcome.OK)])
def test_a_token_is_looked_for_where_github_is_asked_and_never_shown(
    indexed: Path, port: int, token: str, outcome: Outcome
) -> None:
    known = json.loads((indexed / "deployment.json").read_text("utf-8"))
    known["allow"] = ["private:https://github.com/example/*"]
    (indexed / "deployment.json").write_text(json.dumps(known), "utf-8")
    findings = examined(indexed, port, {"GITHUB_TOKEN": token} if token else {})
    assert _of(findings, "GITHUB_TOKEN").outcome == outcome
    assert "secret-token" not in str(findings)


def test_no_token_is_asked_for_where_only_folders_are_read(indexed: Path, port: int) -> None:
    assert not [finding for finding in examined(indexed, port, {}) if finding.check == "GITHUB_TOKEN"]


def test_an_old_python_and_a_missing_dependency_are_told() -> None:
    assert python_version((3, 10)).outcome == Outcome.FAILED
    assert python_version((3, 11)).outcome == Outcome.OK
    finding = dependencies(["pydantic>=2", "no-such-distribution>=1"])
    assert (finding.outcome, finding.detail) == (Outcome.FAILED, "cannot be imported: no-such-distribution")


def test_a_template_or_a_handler_that_is_missing_is_told(tmp_path: Path) -> None:
    path = tmp_path / "template.yaml"
    assert template(path).outcome == Outcome.FAILED
    path.write_text(
        "Globals: {Function: {Handler: app.handler}}\n"
        "Resources: {Search: {Type: 'AWS::Serverless::Function', Properties: {CodeUri: functions/search/,\n"
        "  Events: {Get: {Type: Api, Properties: {Path: /v1/search, Method: get}}}}}}\n",
        "utf-8",
    )
    finding = template(path)
    assert (finding.outcome, "functions/search/app.py" in finding.detail) == (Outcome.FAILED, True)


def test_a_data_folder_that_is_a_file_or_open_to_anybody_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    assert data_folder(tmp_path / "file").outcome == Outcome.FAILED
    assert data_folder(tmp_path / "file" / "below").outcome == Outcome.FAILED
    folder = tmp_path / "folder"
    folder.mkdir()
    folder.chmod(0o777)
    assert "chmod o-w" in data_folder(folder).remedy
    folder.chmod(0o755)
    assert data_folder(folder).outcome == Outcome.OK


def test_a_key_that_others_may_read_is_told_with_the_command_that_mends_it(tmp_path: Path) -> None:
    key = tmp_path / "signing.key"
    key.write_bytes(b"k" * 32)
    key.chmod(0o644)
    assert "chmod 600" in signing_key(tmp_path).remedy
    key.chmod(0o600)
    assert signing_key(tmp_path).outcome == Outcome.OK
    key.write_bytes(b"short")
    assert signing_key(tmp_path).outcome == Outcome.FAILED


def test_a_port_that_something_else_listens_on_is_told() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        other.settimeout(0)
        taken = free_port(other.getsockname()[1])
    assert (taken.outcome, "--port" in taken.remedy) == (Outcome.FAILED, True)
    assert free_port(99_999).outcome == Outcome.FAILED


def test_a_port_on_which_lamina_serves_already_is_no_fault() -> None:
    with Server(("127.0.0.1", 0), Gateway(())) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            assert free_port(server.port).outcome == Outcome.OK
        finally:
            server.stop()
            thread.join()


def test_the_command_answers_json_on_a_pipe_with_a_remedy_for_every_failure(
    indexed: Path, port: int, capfd: pytest.CaptureFixture[str]
) -> None:
    command = ["doctor", "--data", str(indexed), "--port", str(port)]
    capfd.readouterr()
    assert main(command) == 0
    assert json.loads(capfd.readouterr().out)["ok"]
    (indexed / "signing.key").chmod(0o644)
    assert main(command) == 1
    told = json.loads(capfd.readouterr().out)
    failed = [check for check in told["checks"] if check["outcome"] == "failed"]
    assert failed
    assert all(check["remedy"] for check in failed)


def test_the_command_shows_a_table_to_a_person(indexed: Path, port: int, capfd: pytest.CaptureFixture[str]) -> None:
    (indexed / "signing.key").chmod(0o644)
    capfd.readouterr()
    assert main(["--format", "text", "doctor", "--data", str(indexed), "--port", str(port)]) == 1
    shown = capfd.readouterr().out
    assert "failed" in shown
    assert "chmod 600" in shown.replace("\n", " ")
