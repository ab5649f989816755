"""Every request that is wrong in some way gets an envelope with the right code and a message that says what to mend."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.actions.wrong import MAIN, URI, WRONG, check
from tests.conftest import Corpus, Deploy
from tests.corpora import page
from tests.transports import TRANSPORTS, Transport, Unsendable

from lamina.contract.request import MAX_BODY_BYTES


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_request_is_told_what_to_mend(sample: Corpus, transport: Transport, name: str) -> None:
    wrong = WRONG[name]
    if type(transport) is TRANSPORTS["http-get"] and (
        wrong.code == "REQUEST_TOO_LARGE" or isinstance(next(iter(wrong.arguments.values()), ""), list)
    ):
        pytest.skip("a query string has its own bound and no lists of one")
    if type(transport) is TRANSPORTS["mcp"] and len(json.dumps(wrong.arguments)) > MAX_BODY_BYTES:
        pytest.skip("the frame itself is refused before any tool is reached")
    check(transport.call(sample.deployed, wrong.action, wrong.arguments), wrong)


HUGE = 10**400


@pytest.mark.parametrize(
    ("action", "arguments"),
    [
        ("catalog", {"offset": HUGE}),
        ("catalog", {"limit": HUGE}),
        ("catalog", {"limit": -HUGE}),
        ("catalog", {"max_tokens": HUGE}),
        ("catalog", {"tier": HUGE}),
        ("search", {"query": "gauge", "offset": HUGE}),
        ("search", {"query": HUGE}),
        ("preflight", {"task": "gauge", "offset": HUGE}),
        ("get", {"uri": HUGE}),
        ("catalog", {"limit": 1e300}),
        ("catalog", {"audience": "x" * 100_000}),
        ("catalog", {"include": "x" * 100_000}),
        ("catalog", {"disclosure": "x" * 100_000}),
        ("catalog", {"sort_by": "x" * 100_000}),
        ("catalog", {"revision": "x" * 100_000}),
        ("catalog", {"knowledge_base_url": "x" * 100_000}),
        ("catalog", {"x" * 100_000: 1}),
        ("catalog", {"path_prefix": ["x"] * 20_000}),
        ("catalog", {"consumer": "x" * 100_000}),
        ("get", {"uri": "x/" * 50_000}),
        ("get", {"uri": URI, "section": "x" * 100_000}),
        ("resolve", {"uri": "rill://" + "../" * 30_000}),
    ],
)
@pytest.mark.parametrize("transport_name", ["http-post", "direct"])
def test_what_is_far_too_large_is_no_fault_of_the_service_and_is_not_sent_back(
    sample: Corpus, gateway: tuple[str, int], transport_name: str, action: str, arguments: dict[str, Any]
) -> None:
    reply = TRANSPORTS[transport_name](gateway).call(sample.deployed, action, arguments)
    assert reply.envelope.get("error_code") not in ("INTERNAL_ERROR", "STORE_UNAVAILABLE")
    assert len(reply.text) < 40_000


STRINGS = {
    "search": [
        "query",
        "input",
        "knowledge_base_url",
        "revision",
        "consumer",
        "disclosure",
        "audience",
        "exposure",
        "tier",
        "path_prefix",
        "include",
        "exclude",
        "tags",
        "search_scope",
        "result_grouping",
        "limit",
        "offset",
        "max_tokens",
        "public",
        "prefix",
    ],
    "catalog": ["sort_by", "order", "path_prefix", "tags", "audience", "knowledge_base_url", "start_here"],
    "preflight": ["task", "input", "tags", "include"],
    "get": ["uri", "input", "section", "disclosure", "consumer", "revision", "knowledge_base_url"],
    "resolve": ["uri", "section"],
}
TROUBLE = ["\x00", "a\x00b", "\ud800", "a\udfffb", "\ud83d\ude00", "\u202e", "\ufffe", "\x1b[31m"]


@pytest.mark.parametrize("text", TROUBLE)
@pytest.mark.parametrize("action", STRINGS)
def test_nul_and_lone_surrogates_are_never_a_fault(
    sample: Corpus, transport: Transport, action: str, text: str
) -> None:
    for name in STRINGS[action]:
        arguments = {**MAIN.get(action, {}), name: text}
        if name == "input":
            arguments.pop(next(iter(MAIN[action])))
        try:
            reply = transport.call(sample.deployed, action, arguments)
        except Unsendable:
            continue
        assert reply.envelope["status"] in ("FOUND", "NOT_FOUND", "ERROR")
        assert reply.envelope.get("error_code") != "INTERNAL_ERROR"
        reply.text.encode()


@pytest.mark.parametrize("name", ["\x00", "\ud800", "a\udfffb", "", " ", "constructor", "__class__", "self"])
def test_a_strange_parameter_name_is_an_unknown_parameter(sample: Corpus, transport: Transport, name: str) -> None:
    try:
        reply = transport.call(sample.deployed, "catalog", {name: "1"})
    except Unsendable:
        return
    assert reply.envelope["error_code"] == "INVALID_PARAMETER"
    reply.text.encode()


def test_a_value_that_only_another_corpus_uses_is_unknown_here(transport: Transport, deploy: Deploy) -> None:
    deployed = deploy(
        {"canon/a.md": page("A", audience="canon")}, project={"canon/b.md": page("B", audience="project", tier=0)}
    )
    known = transport.call(deployed, "catalog", {"audience": "project", "knowledge_base_url": "project"})
    assert known.uris == ["kb://canon/b"]
    assert transport.call(deployed, "catalog", {"tier": 0, "knowledge_base_url": "project"}).uris == ["kb://canon/b"]
    unknown = transport.call(deployed, "catalog", {"audience": "project"})
    assert unknown.envelope["error_code"] == "INVALID_FILTER_VALUE"
    assert unknown.envelope["possible_values"] == ["canon", "docs", "public", "odd", "operators", "apocrypha"]


def test_free_filters_give_an_empty_slice_instead_of_an_error(sample: Corpus, transport: Transport) -> None:
    for filters in ({"path_prefix": "nowhere/"}, {"tags": "no-such-tag"}):
        for action in ("search", "catalog"):
            reply = transport.call(sample.deployed, action, {**MAIN.get(action, {}), **filters})
            assert reply.envelope["status"] == "NOT_FOUND"
            assert reply.envelope["data"] == []
            assert reply.envelope["total"] == 0
            assert reply.status in (None, 200)


@pytest.mark.parametrize(
    "arguments",
    [
        {"limit": "3", "disclosure": '["blockquote"]', "tier": "[1, 2]", "public": "true"},
        {"limit": 3.0, "disclosure": "blockquote", "tier": ["1", "2"], "public": True},
        {"limit": 3, "disclosure": ["blockquote"], "tier": "1,2", "public": "True"},
        {"limit": " 3 ", "disclosure": " blockquote ", "tier": "1, 2", "public": "1"},
    ],
)
def test_what_is_clearly_meant_is_understood(sample: Corpus, transport: Transport, arguments: dict[str, Any]) -> None:
    if type(transport) is TRANSPORTS["http-get"] and isinstance(arguments["limit"], float):
        pytest.skip("a query string has no numbers")
    plain = {"limit": 3, "disclosure": ["blockquote"], "tier": [1, 2], "public": True}
    expected = TRANSPORTS["direct"](("", 0)).call(sample.deployed, "catalog", plain)
    assert expected.envelope["status"] == "FOUND"
    assert expected.text == transport.call(sample.deployed, "catalog", arguments).text


def test_the_older_name_of_the_main_argument_means_the_same(sample: Corpus, transport: Transport) -> None:
    for action, main in MAIN.items():
        ((name, value),) = main.items()
        by_name = transport.call(sample.deployed, action, {name: value})
        assert by_name.text == transport.call(sample.deployed, action, {"input": value}).text
        assert by_name.text == transport.call(sample.deployed, action, {name: value, "input": value}).text
