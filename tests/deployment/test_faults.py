"""AWS failing at any call of a reading function: a right answer, an older one marked stale, or a clear 503."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from tests.corpora import page
from tests.fakes.cloud import BUCKET, Cloud, Outcome, deployed_cloud, http, outcome, tool
from tests.fakes.faults import Kind

from lamina.contract.ports import StoreUnavailable
from lamina.runtime.wiring import wire
from lamina.stores.s3 import S3Store

OLDER = {"base/docs/oak.md": page("Oak", "Oak wood."), "kb/docs/elm.md": page("Elm", "Elm wood.")}
NEWER = {"kb/docs/ash.md": page("Ash", "Ash wood, lighter than elm.")}
# What each function answered before the newer index was built.
BEFORE: dict[str, Outcome] = {}

READING = {
    "search": http("search", "/v1/search", query="wood", knowledge_base_url="trees"),
    "catalog": http("catalog", "/v1/catalog", knowledge_base_url="trees"),
    "preflight": http("preflight", "/v1/preflight", task="cut wood", knowledge_base_url="trees"),
    "get": http("get", "/v1/get", uri="kb://docs/elm", knowledge_base_url="trees"),
    "resolve": http("resolve", "/v1/resolve", uri="kb://docs/elm", knowledge_base_url="trees"),
    "brief": http("brief", "/v1/brief", question="which wood", knowledge_base_url="trees"),
    "baseline check": http("baseline_check", "/v1/baseline-check", knowledge_base_url="trees"),
    "mcp search": tool("oddkit_search", query="wood", knowledge_base_url="trees"),
    "mcp get": tool("oddkit_get", uri="kb://docs/elm", knowledge_base_url="trees"),
    "health": http("site", "/health"),
    "costs": http("site", "/costs", uri="kb://docs/elm", knowledge_base_url="trees"),
    "page": http("site", "/read", uri="kb://docs/elm", knowledge_base_url="trees"),
    "openapi": http("site", "/openapi.json"),
    "telemetry": http("telemetry_report", "/v1/telemetry"),
}


@pytest.fixture(scope="module")
def cloud() -> Iterator[Cloud]:
    """A deployment with an older and a newer index; a stale read gives the older objects."""
    with deployed_cloud() as made:
        made.put(OLDER)
        BEFORE.update({name: outcome(made.call(event)) for name, event in READING.items()})
        made.remember()
        made.put(NEWER)
        yield made


def judge(cloud: Cloud, name: str, found: Outcome, right: Outcome, where: str) -> None:
    """The newer answer, the older one whole, or a fault that is named."""
    if found.fault is not None:
        return
    assert found.content in (right.content, BEFORE[name].content), where
    if found.content != right.content and cloud.faults.kind is not Kind.STALE:
        # The stores read strongly, so what a function saw last is what there was; any other fault it must tell.
        assert found.is_stale or name in ("costs", "page"), where


@pytest.mark.parametrize("name", READING)
def test_a_fault_at_any_call_of_a_function_that_has_just_started_is_told_or_does_no_harm(
    cloud: Cloud, name: str
) -> None:
    event = READING[name]
    cloud.restart()
    cloud.faults.plan()
    right = outcome(cloud.call(event))
    assert right.fault is None
    for at in range(len(list(cloud.faults.calls))):
        for kind in Kind:
            cloud.restart()
            cloud.faults.plan(at, kind)
            found = outcome(cloud.call(event))
            judge(cloud, name, found, right, f"{kind} at call {at}: {cloud.faults.calls}")
    cloud.restart()
    cloud.faults.plan()
    assert outcome(cloud.call(event)) == right


@pytest.mark.parametrize("name", READING)
def test_a_fault_at_any_call_of_a_warm_function_never_takes_its_answer_away(cloud: Cloud, name: str) -> None:
    event = READING[name]
    cloud.restart()
    cloud.faults.plan()
    right = outcome(cloud.call(event))
    cloud.later()
    cloud.faults.plan()
    cloud.call(event)
    for at in range(len(list(cloud.faults.calls))):
        for kind in Kind:
            cloud.later()
            cloud.faults.plan(at, kind)
            found = outcome(cloud.call(event))
            judge(cloud, name, found, right, f"{kind} at call {at}: {cloud.faults.calls}")
            if name != "telemetry":
                assert found.fault is None, f"{kind} at call {at}"
    cloud.later()
    cloud.faults.plan()
    assert outcome(cloud.call(event)) == right


class Trickle:
    """A body that gives a byte at a time, each a second after the last."""

    def __init__(self, clock: list[float]) -> None:
        self._clock = clock

    def read(self, size: int) -> bytes:
        self._clock[0] += 1
        return b"x"


class Slow:
    """A client whose bodies never end."""

    def __init__(self, clock: list[float]) -> None:
        self._clock = clock

    def get_object(self, **_: object) -> dict[str, Any]:
        return {"Body": Trickle(self._clock), "ETag": '"x"'}


def test_content_that_trickles_in_is_given_up_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("lamina.stores.s3.time", SimpleNamespace(monotonic=lambda: clock[0]))
    with pytest.raises(StoreUnavailable):
        S3Store(Slow(clock), "bucket", seconds=6.0).get("index/a")
    assert clock[0] <= 8


def test_a_store_that_keeps_callers_waiting_is_left_alone_for_a_while(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud.restart()
    cloud.faults.plan()
    cloud.call(READING["search"])
    now, waits = [time.monotonic() + 100_000.0], 0
    wire().warm.clock = lambda: now[0]

    def wait(self: S3Store, key: str) -> None:
        nonlocal waits
        waits += 1
        now[0] += 4
        raise StoreUnavailable("took too long")

    monkeypatch.setattr(S3Store, "get", wait)
    for _ in range(20):
        assert outcome(cloud.call(READING["search"])).is_stale
    assert waits == 1
    now[0] += 60
    assert outcome(cloud.call(READING["search"])).is_stale
    assert waits == 2


def test_an_older_snapshot_stays_marked_for_as_long_as_it_is_served(cloud: Cloud) -> None:
    cloud.restart()
    cloud.faults.plan()
    cloud.call(READING["search"])
    key = next(key for key in cloud.stored_keys() if "/pointers/kb-trees" in key)
    kept = cloud.s3.get_object(Bucket=BUCKET, Key=key)["Body"].read()
    broken = json.loads(kept)["key"]
    sealed = cloud.s3.get_object(Bucket=BUCKET, Key=broken)["Body"].read()
    moved = broken.replace(".pkl", ".r7.pkl")
    cloud.s3.put_object(Bucket=BUCKET, Key=moved, Body=sealed[:-1] + b"?")
    cloud.s3.put_object(Bucket=BUCKET, Key=key, Body=kept.replace(broken.encode(), moved.encode()))
    cloud.later()
    assert [outcome(cloud.call(READING["search"])).is_stale for _ in range(5)] == [True] * 5
    cloud.s3.put_object(Bucket=BUCKET, Key=key, Body=kept)
    cloud.later()
    assert not outcome(cloud.call(READING["search"])).is_stale
