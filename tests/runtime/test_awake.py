"""Under Lambda a function is ready before its first call, and loads no vocabulary to record it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Corpus, Deploy
from tests.corpora import CHECKOUT

from lamina.contract.tokens import count_tokens
from lamina.runtime.settings import Settings
from lamina.runtime.wiring import compose

# A fresh process, as Lambda starts one: what was loaded before the first call, and the record of that call.
_PROBE = """
import json, pathlib, sys
from lamina.local.gateway import load_handler
handler = load_handler(pathlib.Path(sys.argv[1]), "app.handler")
from lamina.runtime.wiring import wire
before = list(wire().warm._held), "aws_lambda_powertools.metrics" in sys.modules
answer = handler(json.loads(sys.argv[2]), None)
again = handler(json.loads(sys.argv[2]), None)
held, metrics = before
print(json.dumps({"held": held, "metrics": metrics, "counted": "toktok" in sys.modules, "answer": answer["body"]}))
"""
_SEARCH = {"httpMethod": "GET", "path": "/v1/search", "queryStringParameters": {"query": "gauge battery"}}
_GET = {"httpMethod": "GET", "path": "/v1/get", "queryStringParameters": {"uri": "rill://docs/installing-a-gauge"}}


def probe(sample: Corpus, function: str, event: dict[str, Any], **variables: str) -> tuple[dict[str, Any], list[Any]]:
    """What the process says, and the records that it left."""
    records = sample.deployed.data / "telemetry" / "records"
    before = {path: path.read_bytes() for path in records.rglob("*.jsonl")}
    environment = {**os.environ, **sample.deployed.environment(), "PYTHONPATH": str(CHECKOUT / "shared"), **variables}
    command = [sys.executable, "-c", _PROBE, str(CHECKOUT / "functions" / function), json.dumps(event)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    lines = [
        json.loads(line)
        for path in records.rglob("*.jsonl")
        for line in path.read_bytes().removeprefix(before.get(path, b"")).splitlines()
    ]
    return json.loads(run.stdout.splitlines()[-1]), lines


@pytest.mark.parametrize("function, event", [("search", _SEARCH), ("get", _GET)])
def test_the_baseline_is_there_before_the_first_call_and_no_record_is_left_of_it(
    function: str, event: dict[str, Any], sample: Corpus
) -> None:
    told, records = probe(sample, function, event, AWS_LAMBDA_INITIALIZATION_TYPE="on-demand")
    assert told["held"] and told["metrics"] and not told["counted"]
    assert [record["cold_start"] for record in records] == [True, False]
    first = records[0]
    assert first["tokens_estimated"]
    exact = count_tokens(told["answer"])
    assert abs(first["tokens_out"] - exact) < 0.3 * exact


def test_outside_lambda_nothing_is_loaded_before_the_first_call(sample: Corpus) -> None:
    told, records = probe(sample, "search", _SEARCH)
    assert not told["held"] and not told["metrics"]
    assert len(records) == 2


def test_a_function_without_an_index_starts_and_says_so_at_the_first_call(sample: Corpus, tmp_path: Any) -> None:
    told, records = probe(
        sample, "search", _SEARCH, AWS_LAMBDA_INITIALIZATION_TYPE="on-demand", LAMINA_DATA=str(tmp_path)
    )
    assert told["held"] == [] and json.loads(told["answer"])["error_code"] == "INDEX_NOT_READY"
    assert records == []


def test_a_thawed_copy_looks_for_a_newer_index_reads_its_key_again_and_counts_a_cold_start(deploy: Deploy) -> None:
    deployed = deploy({"canon/a.md": "# A\n"})
    runtime = compose(Settings.of({**deployed.environment(), "LAMINA_SNAPSHOT_TTL": "3600"}))
    before = runtime.warm.current("baseline").scopes.snapshot.revision
    assert runtime.take_cold_start() and not runtime.take_cold_start()
    (deployed.baseline / "canon" / "b.md").write_text("# B\n", "utf-8")
    deployed.index()
    assert runtime.warm.current("baseline").scopes.snapshot.revision == before
    key = runtime.warm.signing_key()
    (deployed.data / "signing.key").write_bytes(bytes(32))
    assert runtime.warm.signing_key() == key
    runtime.thaw()
    assert runtime.warm.signing_key() == bytes(32)
    (deployed.data / "signing.key").write_bytes(key)
    runtime.forget_key()
    assert runtime.warm.current("baseline").scopes.snapshot.revision != before
    assert runtime.take_cold_start()


def test_a_frozen_start_asks_to_be_told_of_its_thaw(sample: Corpus, tmp_path: Path) -> None:
    hook = "def register_after_restore(function):\n    print('registered', function.__name__)\n"
    (tmp_path / "snapshot_restore_py.py").write_text(hook, "utf-8")
    environment = {
        **os.environ,
        **sample.deployed.environment(),
        "PYTHONPATH": os.pathsep.join((str(CHECKOUT / "shared"), str(tmp_path))),
        "AWS_LAMBDA_INITIALIZATION_TYPE": "snap-start",
    }
    run = subprocess.run(
        [sys.executable, "-c", "import app"],
        cwd=CHECKOUT / "functions" / "search",
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "registered thaw" in run.stdout
