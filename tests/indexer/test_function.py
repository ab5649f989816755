"""The indexer's transports: the schedule, a build on demand, and GitHub's webhook with its signature."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from tests.corpora import Deployed, page, write

from lamina.indexer.handler import indexer, webhook
from lamina.indexer.wiring import IndexerRuntime, builder, wire_indexer
from lamina.runtime.catalogue import index_name
from lamina.runtime.event import HttpRequest
from lamina.runtime.settings import Settings
from lamina.runtime.wiring import wire
from lamina.sources.address import AllowList, parse_address

SECRET = b"webhook secret"


@dataclass(slots=True)
class Asked:
    """A queue that only notes what is asked of it."""

    addresses: list[str | None] = field(default_factory=list)

    def ask(self, address: str | None) -> None:
        self.addresses.append(address)


@pytest.fixture
def deployed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Deployed:
    made = Deployed(
        tmp_path / "data",
        write(tmp_path / "baseline", {"docs/oak.md": page("Oak")}),
        {"trees": write(tmp_path / "trees", {"docs/elm.md": page("Elm")})},
    )
    for name, value in made.environment().items():
        monkeypatch.setenv(name, value)
    wire.cache_clear()
    wire_indexer.cache_clear()
    return made


def _runtime(deployed: Deployed, baseline: str = "https://github.com/team/base") -> tuple[IndexerRuntime, Asked]:
    made = builder(Settings.of(deployed.environment()))
    allow = AllowList.parse(
        [
            "main=https://github.com/team/notes",
            "dev=https://github.com/Team/Notes/tree/dev",
            "other=https://github.com/team/other",
        ]
    )
    queue = Asked()
    return IndexerRuntime(replace(made, baseline=parse_address(baseline), allow=allow), queue, lambda: SECRET), queue


def _push(repository: str, branch: str) -> bytes:
    fields = {"ref": f"refs/heads/{branch}", "repository": {"full_name": repository, "default_branch": "main"}}
    return json.dumps(fields).encode()


def _signed(body: bytes, **headers: str) -> dict[str, Any]:
    signature = "sha256=" + hmac.new(SECRET, body, hashlib.sha256).hexdigest()
    return {
        "httpMethod": "POST",
        "path": "/v1/webhook/github",
        "headers": {"X-Hub-Signature-256": signature, "X-GitHub-Event": "push", **headers},
        "body": body.decode(),
    }


def test_the_schedule_brings_every_named_index_up_to_date(deployed: Deployed) -> None:
    answer = indexer()({"source": "aws.events"}, None)
    assert [entry["name"] for entry in answer["built"]] == ["baseline", "trees"]
    assert [entry["failure"] for entry in answer["built"]] == [None, None]
    runtime = deployed.runtime()
    assert runtime.warm.current(index_name("trees")).scopes.snapshot.find("docs/elm") is not None


def test_a_build_on_demand_builds_that_index_alone(deployed: Deployed) -> None:
    answer = indexer()({"task": "build", "knowledge_base_url": "trees"}, None)
    assert [(entry["name"], entry["failure"]) for entry in answer["built"]] == [("trees", None)]
    assert deployed.runtime().warm.current(index_name("trees")).scopes.snapshot.find("docs/elm") is not None


def test_a_build_of_what_is_not_allowed_is_refused(deployed: Deployed) -> None:
    answer = indexer()({"task": "build", "knowledge_base_url": "http://169.254.169.254/"}, None)
    assert answer["built"][0]["failure"] == "KNOWLEDGE_BASE_NOT_ALLOWED"


def test_an_allowed_index_that_is_missing_is_built_when_it_is_first_asked_for(deployed: Deployed) -> None:
    runtime = deployed.runtime()
    queue = Asked()
    runtime.queue = queue
    from lamina.actions.catalog import ACTION
    from lamina.runtime.dispatch import dispatch
    from lamina.runtime.recorder import Caller

    reply = dispatch(ACTION, lambda: {"knowledge_base_url": "trees"}, Caller(), runtime)
    assert (reply.status, reply.envelope["error_code"]) == (503, "INDEX_NOT_READY")
    assert reply.retry_after is not None
    assert queue.addresses == [str(deployed.overlays["trees"])]


def test_a_signed_push_asks_for_the_overlays_of_that_repository_and_branch(deployed: Deployed) -> None:
    runtime, queue = _runtime(deployed)
    response = webhook(HttpRequest.of(_signed(_push("Team/Notes", "main"))), runtime)
    assert (response.status, json.loads(response.text)["building"]) == (202, ["main"])
    webhook(HttpRequest.of(_signed(_push("team/notes", "dev"))), runtime)
    webhook(HttpRequest.of(_signed(_push("team/notes", "topic"))), runtime)
    assert queue.addresses == ["https://github.com/team/notes", "https://github.com/Team/Notes/tree/dev"]


def test_a_push_to_the_baseline_asks_for_every_index(deployed: Deployed) -> None:
    runtime, queue = _runtime(deployed)
    webhook(HttpRequest.of(_signed(_push("team/base", "main"))), runtime)
    assert queue.addresses[0] is None
    assert len(queue.addresses) == 4


def test_the_signature_is_checked_over_the_raw_body_also_of_a_base64_event(deployed: Deployed) -> None:
    runtime, queue = _runtime(deployed)
    body = _push("team/notes", "main") + b"\n"
    event = {**_signed(body), "body": base64.b64encode(body).decode(), "isBase64Encoded": True}
    assert webhook(HttpRequest.of(event), runtime).status == 202
    assert len(queue.addresses) == 1


@pytest.mark.parametrize("change", ["body", "missing", "scheme", "other key", "non-ascii"])
def test_a_webhook_that_is_not_signed_by_the_secret_is_refused(deployed: Deployed, change: str) -> None:
    runtime, queue = _runtime(deployed)
    body = _push("team/notes", "main")
    event = _signed(body)
    if change == "body":
        event["body"] += " "
    elif change == "missing":
        del event["headers"]["X-Hub-Signature-256"]
    elif change == "scheme":
        event["headers"]["X-Hub-Signature-256"] = event["headers"]["X-Hub-Signature-256"].removeprefix("sha256=")
    elif change == "other key":
        event["headers"]["X-Hub-Signature-256"] = "sha256=" + hmac.new(b"x", body, hashlib.sha256).hexdigest()
    else:
        event["headers"]["X-Hub-Signature-256"] = "sha256=é"
    assert webhook(HttpRequest.of(event), runtime).status == 403
    assert queue.addresses == []


def test_without_a_secret_every_webhook_is_refused(deployed: Deployed) -> None:
    runtime, _ = _runtime(deployed)
    unset = IndexerRuntime(runtime.builder, runtime.queue, lambda: None)
    empty = hmac.new(b"", b"{}", hashlib.sha256).hexdigest()
    event = {**_signed(b"{}"), "headers": {"X-Hub-Signature-256": f"sha256={empty}", "X-GitHub-Event": "push"}}
    assert webhook(HttpRequest.of(event), unset).status == 403


@pytest.mark.parametrize("body", [b"[]", b"{}", b'{"repository": 1}', b"not json"])
def test_a_signed_but_odd_payload_is_no_crash(deployed: Deployed, body: bytes) -> None:
    runtime, queue = _runtime(deployed)
    assert webhook(HttpRequest.of(_signed(body)), runtime).status in (202, 400)
    assert queue.addresses == []
