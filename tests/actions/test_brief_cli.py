"""brief, verify and use from the command line, and the same brief out of another process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import Corpus, Deploy
from tests.corpora import Deployed, page
from tests.documentation.examples import environment

FILES = {
    "docs/kettle.md": page("Kettle", "A kettle boils water."),
    "docs/teapot.md": page("Teapot", "A teapot holds what the kettle boiled."),
}
# Another interpreter that has the dependencies, for the check across versions of Python.
OTHER_PYTHON = os.environ.get("OTHER_PYTHON")


def test_the_command_line_mints_and_verifies(deploy: Deploy, tmp_path: Path) -> None:
    deployed = deploy(FILES)
    _remember(deployed)
    answer, data = tmp_path / "answer.json", str(deployed.data)
    told = _lamina("brief", "kettle", "--receipt", "run_id=r1", "--receipt", "actor_id=a1", "--data", data)
    answer.write_bytes(told.stdout)
    receipt = json.loads(told.stdout)["receipt"]
    assert (receipt["run_id"], receipt["actor_id"]) == ("r1", "a1")
    snapshot = deployed.data / "store" / receipt["visibility_snapshot"]["location"]
    article = deployed.baseline / receipt["results"][0]["path"]

    whole = _lamina("verify", answer, "--snapshot", snapshot, "--artifact", article)
    assert whole.returncode == 0
    assert {entry["outcome"] for entry in json.loads(whole.stdout)["checks"]} == {"proven"}
    found = _lamina("verify", answer, "--data", data)
    assert [entry["outcome"] for entry in json.loads(found.stdout)["checks"]] == 3 * ["proven"] + ["not checked"]
    elsewhere = _lamina("verify", answer, "--data", tmp_path / "nowhere")
    assert json.loads(elsewhere.stdout)["checks"][2]["outcome"] == "not checked"

    use = tmp_path / "use.json"
    done = _lamina(
        *("use", answer, "--rank", "1", "--relation", "supports", "--kind", "artifact"),
        *("--uri", "file:article", "--artifact", article),
    )
    use.write_bytes(done.stdout)
    joined = _lamina("verify", use, "--retrieval", answer, "--artifact", article)
    assert {entry["outcome"] for entry in json.loads(joined.stdout)["checks"]} == {"proven"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--snapshot", "missing.json"], b'"unavailable"'),
        (["--snapshot", "answer.json"], b"another snapshot"),
        (["--artifact", "answer.json"], b"no result has its digest"),
        (["--artifact", "missing.md"], b'"unavailable"'),
    ],
)
def test_the_command_line_fails_with_the_reason(
    deploy: Deploy, tmp_path: Path, arguments: list[str], told: bytes
) -> None:
    deployed = deploy(FILES)
    _remember(deployed)
    answer = tmp_path / "answer.json"
    answer.write_bytes(_lamina("brief", "kettle", "--receipt", "run_id=r1", "--data", deployed.data).stdout)
    failed = _lamina("verify", "answer.json", *arguments, cwd=tmp_path)
    assert failed.returncode == 1
    assert told in failed.stdout


def test_the_command_line_says_what_to_do_about_a_file_that_is_not_there(tmp_path: Path) -> None:
    failed = _lamina("verify", "nothing.json", cwd=tmp_path)
    assert failed.returncode == 1
    assert b"nothing.json cannot be read" in failed.stderr


@pytest.mark.parametrize(
    "python",
    [sys.executable, pytest.param(OTHER_PYTHON, marks=pytest.mark.skipif(not OTHER_PYTHON, reason="no other Python"))],
)
def test_the_same_documents_give_the_same_bytes_in_another_process(sample: Corpus, tmp_path: Path, python: str) -> None:
    baseline, overlay = sample.deployed.baseline, sample.deployed.overlays[sample.overlay]
    briefs = []
    for interpreter, seed in ((sys.executable, "1"), (python, "4242")):
        data = tmp_path / seed
        _lamina(*("index", baseline, "--allow", f"gauge={overlay}", "--data", data), python=interpreter, seed=seed)
        for question in (sample.query, "what happens when the radio fails at high water"):
            command = ("brief", question, "--knowledge-base", "gauge", "--limit", "25", "--data", data)
            briefs.append(_lamina(*command, python=interpreter, seed=seed).stdout)
    assert briefs[:2] == briefs[2:]
    assert len(json.loads(briefs[0])["data"]["results"]) > 5


def _remember(deployed: Deployed) -> None:
    """Lets the command line find the deployment in its data folder."""
    content = {"baseline": str(deployed.baseline), "allow": [], "settings": {}}
    (deployed.data / "deployment.json").write_text(json.dumps(content), "utf-8")


def _lamina(
    *arguments: object, python: str = sys.executable, seed: str = "0", cwd: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    command = [python, "-m", "lamina.local.cli", *map(str, arguments)]
    return subprocess.run(
        command, env={**environment(), "PYTHONHASHSEED": seed}, cwd=cwd, capture_output=True, check=False
    )
