"""AWS failing at any call of a function that writes: nothing that was accepted is lost, and nothing is half done."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from tests.corpora import page
from tests.fakes.cloud import BUCKET, NOTES, Cloud, Event, deployed_cloud, http, outcome
from tests.fakes.faults import SILENT, Kind
from tests.fakes.knowledge import DIGEST, LARGE

from lamina.runtime.catalogue import lease_key
from lamina.runtime.knowledge import OPERATOR_RESOURCE
from lamina.runtime.knowledge_wiring import wire_knowledge

FILES = {"base/docs/oak.md": page("Oak", "Oak wood."), "kb/docs/elm.md": page("Elm", "Elm wood is a database.")}
RECEIPT = {"run_id": "run-1"}
# What the network or the signature sees; of a file of a source nobody but S3 can say what it should hold.
LOUD = tuple(kind for kind in Kind if kind not in SILENT and kind is not Kind.STALE)


@pytest.fixture(scope="module")
def cloud() -> Iterator[Cloud]:
    """A deployment with an index and an initialised workspace."""
    with deployed_cloud() as made:
        made.put(FILES)
        wire_knowledge().workspace.initialise("tester")
        made.remember()
        yield made


def found(cloud: Cloud) -> list[str]:
    """What a function that has just started finds."""
    cloud.restart()
    cloud.faults.plan()
    answer = cloud.call(http("search", "/v1/search", query="wood", knowledge_base_url="trees"))
    assert answer["statusCode"] == 200
    return sorted(entry["uri"] for entry in json.loads(answer["body"])["data"])


def run_out(cloud: Cloud) -> None:
    """A minute passes, after which a lease that could not be given back is nobody's."""
    cloud.restart()
    cloud.faults.plan()
    leases = f"{lease_key('').rpartition('/')[0]}/"
    for item in cloud.s3.list_objects_v2(Bucket=BUCKET, Prefix=leases).get("Contents", ()):
        cloud.s3.delete_object(Bucket=BUCKET, Key=item["Key"])


def steps(cloud: Cloud, event: Event) -> range:
    """The numbers of the calls that an event makes when nothing fails."""
    cloud.restart()
    cloud.faults.plan()
    cloud.call(event)
    return range(len(cloud.faults.calls))


@pytest.mark.parametrize("kind", [*LOUD, Kind.TORN_BODY, Kind.EMPTY_BODY, Kind.STALE])
def test_a_build_that_fails_anywhere_leaves_the_older_index_or_the_newer_one_whole(cloud: Cloud, kind: Kind) -> None:
    build = Event("indexer", {"task": "build", "knowledge_base_url": "trees"})
    cloud.s3.put_object(Bucket=NOTES, Key="kb/docs/yew.md", Body=page("Yew", f"Yew wood {kind}.").encode())
    calls = len(steps(cloud, build))
    before = found(cloud)
    for at in range(0, calls, 1 if kind is Kind.LOST else 4):
        uri = f"kb://docs/{kind.name.lower().replace('_', '-')}-{at}"
        path = f"kb/{uri.removeprefix('kb://')}.md"
        cloud.s3.put_object(Bucket=NOTES, Key=path, Body=page("Ash", f"Ash wood {kind} {at}.").encode())
        cloud.restart()
        cloud.faults.plan(at, kind)
        answer = cloud.call(build)
        assert set(answer["built"][0]) >= {"failure", "revision"}
        seen = found(cloud)
        assert seen in (before, sorted([*before, uri])), f"{kind} at {at}"
        run_out(cloud)
        assert cloud.call(build)["built"][0]["failure"] is None
        assert found(cloud) == sorted([*before, uri])
        cloud.s3.delete_object(Bucket=NOTES, Key=path)
        cloud.call(build)
    assert found(cloud) == before


def test_a_receipt_that_was_given_out_is_kept_wherever_the_store_fails(cloud: Cloud) -> None:
    given = 0
    brief = http("brief", "/v1/brief", {"question": "which wood", "receipt": RECEIPT, "knowledge_base_url": "trees"})
    for at in steps(cloud, brief):
        for kind in Kind:
            cloud.restart()
            cloud.faults.plan(at, kind)
            answer = cloud.call(brief)
            if outcome(answer).fault is not None:
                continue
            assert answer["statusCode"] == 200, answer["body"]
            digest = json.loads(answer["body"])["receipt"]["receipt_digest"]
            cloud.faults.plan()
            kept = json.loads(cloud.call(http("receipts", f"/v1/receipts/{digest}"))["body"])
            assert kept["verification"]["holds"], f"{kind} at {at}"
            given += 1
    assert given


def test_a_receipt_is_never_said_to_hold_that_was_not_read_whole(cloud: Cloud) -> None:
    cloud.restart()
    cloud.faults.plan()
    brief = http("brief", "/v1/brief", {"question": "which wood", "receipt": RECEIPT, "knowledge_base_url": "trees"})
    receipt = json.loads(cloud.call(brief)["body"])["receipt"]
    event = http("receipts", f"/v1/receipts/{receipt['receipt_digest']}")
    for at in steps(cloud, event):
        for kind in Kind:
            cloud.restart()
            cloud.faults.plan(at, kind)
            answer = cloud.call(event)
            envelope = json.loads(answer["body"])
            if answer["statusCode"] == 200 and envelope["verification"]["holds"]:
                assert envelope["data"] == receipt
            elif answer["statusCode"] == 200:
                assert kind in (*SILENT, Kind.STALE), f"{kind} at {at}"
            else:
                missing = kind is Kind.STALE and answer["statusCode"] == 404
                assert missing or outcome(answer).fault is not None, f"{kind} at {at}: {answer}"


def ask(
    cloud: Cloud,
    operation: Mapping[str, Any],
    *,
    operator: bool = False,
    at: int | None = None,
    kind: Kind | None = None,
) -> dict[str, Any] | None:
    """The result of one operation over HTTP in a function that has just started; None where it is unavailable."""
    cloud.restart()
    cloud.faults.plan()
    service = wire_knowledge()
    commit = service.workspace.ledger.latest_commit()
    assert commit is not None
    guid = commit.workspace
    scope = {"root": service.workspace.root, "knowledge_workspace": guid, "authority": "local-owner", "facts": []}
    request = {
        "schema": "synapse.knowledge-request/1",
        "scope": scope,
        "budget": LARGE,
        "operation": {**operation, **({"context": context(operation, guid)} if "context" in operation else {})},
    }
    path = OPERATOR_RESOURCE if operator else "/v1/knowledge"
    cloud.restart()
    cloud.faults.plan(at, kind)
    answer = cloud.call(http("knowledge", path, request))
    if outcome(answer).fault is not None:
        return None
    assert answer["statusCode"] == 200, answer
    response = json.loads(answer["body"])
    assert response["ok"] or response["error"]["code"] == "unavailable", response
    result: dict[str, Any] | None = response["result"] if response["ok"] else None
    return result


def context(operation: Mapping[str, Any], guid: str) -> dict[str, Any]:
    """The context of a proposal against the workspace as it stands."""
    return {"schema": "synapse.knowledge-proposal-context/1", "knowledge_workspace": guid, **operation["context"]}


def proposal(cloud: Cloud, key: str) -> dict[str, Any]:
    """A proposal under a key."""
    found = ask(cloud, {"op": "query", "query": "database", "type": None, "limit": 16})
    assert found is not None
    first = found["passages"][0]
    return {
        "op": "propose",
        "capture": {"title": f"Note {key}", "body": "The database is of elm.", "kind": "decision", "tags": []},
        "reason": "measured",
        "context": {
            "idempotency_key": key,
            "run_id": "run-1",
            "context_sha256": DIGEST,
            "expected_head": found["head"] or DIGEST,
            "source_manifest_sha256": found["source_manifest_sha256"],
            "policy_sha256": found["policy_sha256"],
            "sources": [{"path": first["path"], "sha256": first["sha256"]}],
        },
    }


@pytest.mark.parametrize("kind", [Kind.ERROR, Kind.THROTTLED, Kind.LOST, Kind.GARBLED, Kind.HALF_BODY])
def test_no_accepted_note_is_lost_and_none_is_made_twice_wherever_a_store_fails(cloud: Cloud, kind: Kind) -> None:
    calls, at = 1, 0
    while at < calls and at < 40:
        key = f"{kind.name}-{at}"
        wanted = proposal(cloud, key)
        first = ask(cloud, wanted, at=at, kind=kind)
        calls = len(cloud.faults.calls)
        again = ask(cloud, wanted)
        assert again is not None
        assert first is None or first["pending_id"] == again["pending_id"]
        reviewed = ask(cloud, {"op": "review", "pending_id": again["pending_id"]})
        assert reviewed is not None
        decision = {"op": "accept", "pending_id": again["pending_id"], "review_sha256": reviewed["review_sha256"]}
        accepted = ask(cloud, decision, operator=True, at=at, kind=kind)
        calls = max(calls, len(cloud.faults.calls))
        final = ask(cloud, decision, operator=True)
        assert final is not None
        assert accepted is None or accepted["path"] == final["path"]
        cited = ask(cloud, {"op": "query", "query": f"Note {key}", "type": None, "limit": 16})
        assert cited is not None
        assert final["path"] in [item["path"] for item in cited["passages"]], f"{kind} at {at}"
        at += 1 if kind is Kind.LOST else 5
