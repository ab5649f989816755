"""Callers of the same contract from before: their names, their shapes, and what they call actions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.conftest import Ask, Corpus, Deploy
from tests.corpora import page
from tests.mcp.post import Frame, call
from tests.transports import Transport

from lamina.contract.request import PASSED_OVER

Address = tuple[str, int]


def _result(address: Address, corpus: Corpus, tool: str, **arguments: Any) -> Frame:
    read: Frame = json.loads(call(address, corpus.deployed, tool, arguments)["content"][0]["text"])["result"]
    return read


@pytest.mark.parametrize("action", ["search", "catalog", "get"])
def test_names_that_say_nothing_here_pass(sample: Corpus, transport: Transport, action: str) -> None:
    asked = {"search": {"query": "gauge"}, "catalog": {}, "get": {"uri": "README.md"}}[action]
    older = dict.fromkeys(PASSED_OVER, "true")
    assert transport.call(sample.deployed, action, {**asked, **older}).envelope == (
        transport.call(sample.deployed, action, asked).envelope
    )


def test_the_older_fields_stand_where_older_callers_read_them(sample: Corpus, transport: Transport) -> None:
    found = transport.call(sample.deployed, "search", {"query": "gauge", "include_legacy_envelope": True}).envelope
    assert found["hits"] == found["legacy"]["hits"]
    assert [hit["uri"] for hit in found["hits"]] == [hit["uri"] for hit in found["data"]]
    assert all({"path", "tags", "source", "score", "snippet"} <= set(hit) for hit in found["hits"])
    got = transport.call(sample.deployed, "get", {"uri": "README.md", "include_legacy_envelope": True}).envelope
    assert got["content"] == got["legacy"]["content"] == got["data"]["body"]


@pytest.mark.parametrize("name", ["Search", "SEARCH", " search ", "Baseline_Check", "baseline-check"])
def test_actions_are_named_without_case(name: str, sample: Corpus, gateway: Address) -> None:
    given = {"input": "gauge"} if "earch" in name.casefold() else {}
    assert _result(gateway, sample, "oddkit", action=name, **given)["status"] in ("FOUND", "COMPLETE")


def test_dates_come_newest_first_unless_the_order_is_given(deploy: Deploy, asking: Any) -> None:
    days = {"a": "2024-01-01", "b": "2026-01-01", "c": None, "d": "2025-01-01"}
    pages = {f"docs/{n}.md": page(n, **({"date": day} if day else {})) for n, day in days.items()}
    ask: Ask = asking(deploy(pages))

    def titles(**arguments: Any) -> list[str]:
        return [entry["title"] for entry in ask("catalog", **arguments).envelope["data"] if len(entry["title"]) == 1]

    assert titles(sort_by="date") == ["b", "d", "a", "c"]
    assert titles(sort_by="date", order="asc") == ["a", "d", "b", "c"]
    assert titles() == ["a", "b", "c", "d"]


def test_orient_names_where_to_start(sample: Corpus, gateway: Address) -> None:
    for told in (
        _result(gateway, sample, "orient"),
        _result(gateway, sample, "oddkit", action="orient", input="hello"),
    ):
        roles = [entry["role"] for entry in told["data"]]
        assert roles == sorted(roles, key=["governance", "start_here", "journal"].index)
        assert {"governance", "start_here"} <= set(roles)
        assert len({entry["uri"] for entry in told["data"]}) == len(told["data"])
        assert all(set(entry) <= {"uri", "title", "role", "source"} for entry in told["data"])
        assert told["governance_source"] in ("knowledge_base", "bundled")
    laid = _result(gateway, sample, "orient", knowledge_base_url=sample.overlay)
    assert "overlay" in {entry["source"] for entry in laid["data"]}


def test_a_baseline_check_is_a_tool(sample: Corpus, gateway: Address) -> None:
    assert _result(gateway, sample, "baseline_check")["data"]["required"]
