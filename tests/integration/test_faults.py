"""AWS failing at any call of a reading function: a right answer, an older one marked stale, or a clear 503."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.corpora import page
from tests.fakes.cloud import Cloud, Outcome, deployed_cloud, http, outcome, tool
from tests.fakes.faults import Kind

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
