"""Every request that is wrong in some way gets an envelope with the right code and a message that says what to mend."""

from __future__ import annotations

import json
import socket
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.conftest import Corpus, Deploy
from tests.corpora import page
from tests.doors import DOORS, Door, Reply, Unsendable, exchange, handler_of, stand_before

from lamina.contract.errors import CATALOGUE

URI = "rill://canon/constraints/definition-of-done"
MAIN = {"search": {"query": "gauge"}, "preflight": {"task": "gauge"}, "get": {"uri": URI}, "resolve": {"uri": URI}}
KINDS = ["canon", "docs", "journals", "essays", "apocrypha"]


@dataclass(frozen=True, slots=True)
class Wrong:
    """A wrong call, what it is told, and what of the message and details says how to mend it."""

    action: str
    arguments: dict[str, Any]
    code: str
    says: str
    details: dict[str, Any] = field(default_factory=dict)


def invalid(action: str, arguments: dict[str, Any], parameter: str, says: str = "") -> Wrong:
    return Wrong(action, arguments, "INVALID_PARAMETER", says or parameter, {"parameter": parameter})


WRONG: dict[str, Wrong] = {
    "unknown flag": Wrong(
        "catalog",
        {"disclosure": ["blockquotes"]},
        "INVALID_PARAMETER",
        "blockquote, metadata, summary",
        {"requested_flag": "blockquotes", "permitted_flags": ["blockquote", "metadata", "summary"]},
    ),
    "unknown flag on get": Wrong(
        "get", {"uri": URI, "disclosure": ["all"]}, "INVALID_PARAMETER", "blockquote, metadata, summary, body"
    ),
    "forbidden flag": Wrong(
        "search",
        {"query": "gauge", "disclosure": "body"},
        "DISCLOSURE_FLAG_NOT_PERMITTED",
        "oddkit_get",
        {"permitted_flags": ["blockquote", "metadata", "summary"]},
    ),
    "limit above the cap": Wrong(
        "preflight",
        {"task": "gauge", "limit": 101, "disclosure": "metadata"},
        "LIMIT_EXCEEDS_FLAG_CAP",
        "Paginate with offset, or remove the 'metadata' flag",
        {"max_limit_for_active_flags": 100, "limiting_flag": "metadata", "requested_limit": 101},
    ),
    "limit 501": Wrong(
        "catalog",
        {"limit": 501},
        "LIMIT_EXCEEDS_FLAG_CAP",
        "maximum 500",
        {"max_limit_for_active_flags": 500, "limiting_flag": None, "requested_limit": 501},
    ),
    "limit 0": invalid("catalog", {"limit": 0}, "limit", "at least 1"),
    "limit -1": invalid("catalog", {"limit": -1}, "limit", "at least 1"),
    "limit ten": invalid("catalog", {"limit": "ten"}, "limit", "whole number"),
    "limit true": invalid("catalog", {"limit": True}, "limit", "whole number"),
    "limit 2.5": invalid("catalog", {"limit": 2.5}, "limit", "whole number"),
    "limit 1e400": invalid("catalog", {"limit": "1e400"}, "limit", "whole number"),
    "limit is a list": invalid("catalog", {"limit": [5, 6]}, "limit", "whole number"),
    "limit is huge": Wrong("catalog", {"limit": 10**17}, "LIMIT_EXCEEDS_FLAG_CAP", "Paginate"),
    "offset -1": invalid("search", {"query": "gauge", "offset": -1}, "offset", "at least 0"),
    "offset is text": invalid("search", {"query": "gauge", "offset": "first"}, "offset", "whole number"),
    "max_tokens 0": invalid("catalog", {"max_tokens": 0}, "max_tokens", "at least 1"),
    "unknown kind in include": Wrong(
        "catalog",
        {"include": ["canon", "chronicles"]},
        "INVALID_FILTER_VALUE",
        "canon, docs, journals, essays, apocrypha",
        {"parameter": "include", "requested_value": "chronicles", "possible_values": KINDS},
    ),
    "unknown kind in exclude": Wrong(
        "search",
        {"query": "gauge", "exclude": "Canon"},
        "INVALID_FILTER_VALUE",
        "canon",
        {"parameter": "exclude", "possible_values": KINDS},
    ),
    "unknown audience": Wrong(
        "catalog",
        {"audience": "cannon"},
        "INVALID_FILTER_VALUE",
        "canon, docs, public",
        {"parameter": "audience", "requested_value": "cannon"},
    ),
    "unknown exposure": Wrong(
        "preflight", {"task": "gauge", "exposure": "pubic"}, "INVALID_FILTER_VALUE", "nav, public, draft"
    ),
    "unknown tier": Wrong("catalog", {"tier": [1, 9]}, "INVALID_FILTER_VALUE", "1, 2, 3, 4"),
    "tier is a word": invalid("catalog", {"tier": "first"}, "tier", "whole number"),
    "public is a word": invalid("catalog", {"public": "perhaps"}, "public", "true or false"),
    "category filter": Wrong(
        "catalog", {"category": "alarms"}, "CATEGORY_FILTER_NOT_SUPPORTED", "audience, exposure, tier"
    ),
    "tag filter": Wrong(
        "search", {"query": "gauge", "tag": "alarms"}, "CATEGORY_FILTER_NOT_SUPPORTED", "tags narrows"
    ),
    "sort by nonsense": invalid("catalog", {"sort_by": "size"}, "sort_by", "'path', 'title', 'date' or 'tier'"),
    "order sideways": invalid("catalog", {"order": "sideways"}, "order", "'asc' or 'desc'"),
    "unknown grouping": invalid(
        "search", {"query": "gauge", "result_grouping": "mixed"}, "result_grouping", "overlay_first"
    ),
    "unknown parameter": Wrong(
        "catalog",
        {"limits": 3},
        "INVALID_PARAMETER",
        "'limits'",
        {"parameter": "limits"},
    ),
    "a parameter of another action": Wrong(
        "catalog", {"query": "gauge"}, "INVALID_PARAMETER", "sort_by", {"parameter": "query"}
    ),
    "section on search": Wrong(
        "search", {"query": "gauge", "section": "Notes"}, "INVALID_PARAMETER", "", {"parameter": "section"}
    ),
    "no query": Wrong("search", {}, "EMPTY_QUERY", "'query'", {"parameter": "query"}),
    "empty query": Wrong("search", {"query": ""}, "EMPTY_QUERY", "'query'"),
    "blank query": Wrong("search", {"query": " \t\n"}, "EMPTY_QUERY", "'query'"),
    "query of NULs": Wrong("search", {"query": "\x00 \x00 \x00"}, "EMPTY_QUERY", "'query'"),
    "query in an empty list": Wrong("search", {"query": []}, "EMPTY_QUERY", "'query'"),
    "blank query in a list": Wrong("search", {"query": ["  "]}, "EMPTY_QUERY", "'query'"),
    "no task": Wrong("preflight", {}, "EMPTY_QUERY", "'task'"),
    "no uri": Wrong("get", {}, "EMPTY_QUERY", "'uri'"),
    "blank uri": Wrong("resolve", {"uri": "  "}, "EMPTY_QUERY", "'uri'"),
    "two queries": invalid("search", {"query": ["one", "two"]}, "query", "text"),
    "query and input differ": invalid("search", {"query": "one", "input": "two"}, "input", "send query alone"),
    "300 KB query": Wrong("search", {"query": "a" * 300_000}, "REQUEST_TOO_LARGE", "bytes"),
    "130 KB query": Wrong(
        "search", {"query": "a" * 133_000}, "REQUEST_TOO_LARGE", "131072 bytes", {"max_bytes": 131072}
    ),
    "130 KB query in a list": Wrong("search", {"query": ["a" * 133_000]}, "REQUEST_TOO_LARGE", "bytes"),
    "130 KB of two-byte text": Wrong("search", {"query": "é" * 66_000}, "REQUEST_TOO_LARGE", "bytes"),
    "scope without a knowledge base": invalid(
        "search", {"query": "gauge", "search_scope": "kb_only"}, "search_scope", "needs knowledge_base_url"
    ),
    "older scope without a knowledge base": invalid(
        "catalog", {"baseline_in_search": False}, "search_scope", "needs knowledge_base_url"
    ),
    "contradictory booleans": invalid(
        "search",
        {
            "query": "gauge",
            "knowledge_base_url": "gauge-firmware",
            "baseline_in_search": True,
            "include_full_baseline": False,
        },
        "include_full_baseline",
        "Send search_scope instead",
    ),
    "scope against its boolean": invalid(
        "catalog",
        {
            "knowledge_base_url": "gauge-firmware",
            "search_scope": "kb_only",
            "baseline_in_search": True,
        },
        "search_scope",
        "Send search_scope alone",
    ),
    "unknown scope": invalid(
        "catalog", {"knowledge_base_url": "gauge-firmware", "search_scope": "all"}, "search_scope", "kb_only"
    ),
    "bad revision": invalid("catalog", {"revision": "latest"}, "revision", "12 digits"),
    "revision gone": Wrong(
        "catalog", {"revision": "0123456789ab"}, "REVISION_GONE", "Start again without revision"
    ),
    "section not found": Wrong(
        "get", {"uri": URI, "section": "No such part"}, "SECTION_NOT_FOUND", "Definition of Done"
    ),
    "knowledge base not allowed": Wrong(
        "search",
        {"query": "gauge", "knowledge_base_url": "https://github.com/someone/else"},
        "KNOWLEDGE_BASE_NOT_ALLOWED",
        "gauge-firmware",
    ),
    "knowledge base of another scheme": Wrong(
        "catalog", {"knowledge_base_url": "file:///etc"}, "KNOWLEDGE_BASE_NOT_ALLOWED", ""
    ),
    **{
        f"filter {name} on {action}": Wrong(
            action, {"uri": URI, name: value}, "FILTER_NOT_PERMITTED", "the URI is the selector", {"parameter": name}
        )
        for action in ("get", "resolve")
        for name, value in {
            "audience": "canon",
            "exposure": "public",
            "tier": 1,
            "public": True,
            "start_here": False,
            "path_prefix": "canon/",
            "include": "canon",
            "exclude": "docs",
            "tags": "x",
        }.items()
    },
}


def check(reply: Reply, wrong: Wrong) -> None:
    envelope = reply.envelope
    assert envelope["status"] == "ERROR", reply.text[:500]
    assert envelope["error_code"] == wrong.code
    assert envelope["action"] == wrong.action
    assert wrong.says in envelope["error_message"]
    assert {name: envelope.get(name) for name in wrong.details} == wrong.details
    # An error does not send the request back.
    assert len(reply.text) < 4_000
    if reply.status is not None:
        assert reply.status == CATALOGUE[wrong.code].http_status
        assert reply.headers["cache-control"] == "no-store"
        assert reply.headers["content-type"].startswith("application/json")
        assert reply.headers["access-control-allow-origin"] == "*"
        assert "etag" not in reply.headers


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_request_is_told_what_to_mend(sample: Corpus, door: Door, name: str) -> None:
    wrong = WRONG[name]
    if type(door) is DOORS["http-get"] and (
        wrong.code == "REQUEST_TOO_LARGE" or isinstance(next(iter(wrong.arguments.values()), ""), list)
    ):
        pytest.skip("a query string has its own bound and no lists of one")
    check(door.call(sample.deployed, wrong.action, wrong.arguments), wrong)


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
@pytest.mark.parametrize("door_name", ["http-post", "direct"])
def test_what_is_far_too_large_is_no_fault_of_the_service_and_is_not_sent_back(
    sample: Corpus, gateway: tuple[str, int], door_name: str, action: str, arguments: dict[str, Any]
) -> None:
    reply = DOORS[door_name](gateway).call(sample.deployed, action, arguments)
    assert reply.envelope.get("error_code") not in ("INTERNAL_ERROR", "STORE_UNAVAILABLE")
    assert len(reply.text) < 40_000


STRINGS = {
    "search": ["query", "input", "knowledge_base_url", "revision", "consumer", "disclosure", "audience"]
    + ["exposure", "tier", "path_prefix", "include", "exclude", "tags", "search_scope", "result_grouping"]
    + ["limit", "offset", "max_tokens", "public", "prefix"],
    "catalog": ["sort_by", "order", "path_prefix", "tags", "audience", "knowledge_base_url", "start_here"],
    "preflight": ["task", "input", "tags", "include"],
    "get": ["uri", "input", "section", "disclosure", "consumer", "revision", "knowledge_base_url"],
    "resolve": ["uri", "section"],
}


@pytest.mark.parametrize("text", ["\x00", "a\x00b", "\ud800", "a\udfffb", "\ud83d\ude00", "\u202e", "\ufffe", "\x1b[31m"])
@pytest.mark.parametrize("action", STRINGS)
def test_nul_and_lone_surrogates_are_never_a_fault(sample: Corpus, door: Door, action: str, text: str) -> None:
    for name in STRINGS[action]:
        arguments = {**MAIN.get(action, {}), name: text}
        if name == "input":
            arguments.pop(next(iter(MAIN[action])))
        try:
            reply = door.call(sample.deployed, action, arguments)
        except Unsendable:
            continue
        assert reply.envelope["status"] in ("FOUND", "NOT_FOUND", "ERROR")
        assert reply.envelope.get("error_code") != "INTERNAL_ERROR"
        reply.text.encode()


@pytest.mark.parametrize("name", ["\x00", "\ud800", "a\udfffb", "", " ", "constructor", "__class__", "self"])
def test_a_strange_parameter_name_is_an_unknown_parameter(sample: Corpus, door: Door, name: str) -> None:
    try:
        reply = door.call(sample.deployed, "catalog", {name: "1"})
    except Unsendable:
        return
    assert reply.envelope["error_code"] == "INVALID_PARAMETER"
    reply.text.encode()


NOT_JSON = {
    "broken": b'{"query": "gauge"',
    "empty array": b"[]",
    "a string": b'"gauge"',
    "null": b"null",
    "not UTF-8": b'{"query": "\xff\xfe"}',
    "UTF-16": '{"query": "gauge"}'.encode("utf-16"),
    "NaN": b'{"query": "gauge", "limit": NaN}',
    "infinity": b'{"query": "gauge", "limit": -Infinity}',
    "deep arrays": b'{"query": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep objects": b'{"query": ' + b'{"a":' * 1_000 + b"1" + b"}" * 1_000 + b"}",
    "an integer of 5,000 digits": b'{"query": "gauge", "limit": ' + b"9" * 5_000 + b"}",
    "form data": b"query=gauge&limit=3",
    "two objects": b'{"query": "gauge"} {"query": "gauge"}',
}


@pytest.mark.parametrize("name", NOT_JSON)
def test_a_body_that_is_no_json_object_is_refused_as_such(
    sample: Corpus, gateway: tuple[str, int], name: str
) -> None:
    reply = exchange(gateway, sample.deployed, "POST", "/v1/search", NOT_JSON[name])
    check(reply, Wrong("search", {}, "INVALID_JSON", ""))
    assert reply.status == 400


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("event", [None, [], "query", 5, {"query": nested(70)}, {"query": nested(100_000)}])
def test_a_direct_event_that_is_no_flat_json_object_is_refused_as_such(sample: Corpus, event: Any) -> None:
    stand_before(sample.deployed)
    assert handler_of("search")(event, None)["error_code"] == "INVALID_JSON"


def test_a_number_past_every_float_is_no_limit(sample: Corpus, gateway: tuple[str, int]) -> None:
    reply = exchange(gateway, sample.deployed, "POST", "/v1/catalog", b'{"limit": 1e400}')
    check(reply, WRONG["limit 1e400"])


def test_a_body_of_another_type_is_refused(sample: Corpus, gateway: tuple[str, int]) -> None:
    for media_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        body = b'{"query": "gauge"}'
        reply = exchange(gateway, sample.deployed, "POST", "/v1/search", body, content_type=media_type)
        check(reply, Wrong("search", {}, "UNSUPPORTED_MEDIA_TYPE", "application/json"))
        assert reply.status == 415


@pytest.mark.parametrize("media_type", ["application/json; charset=utf-8", "APPLICATION/JSON", "application/vnd.x+json"])
def test_every_way_to_say_json_is_understood(
    sample: Corpus, gateway: tuple[str, int], media_type: str
) -> None:
    body = b'{"query": "gauge"}'
    reply = exchange(gateway, sample.deployed, "POST", "/v1/search", body, content_type=media_type)
    assert reply.status == 200


def test_a_body_over_its_bound_is_refused(sample: Corpus, gateway: tuple[str, int]) -> None:
    body = json.dumps({"query": "a" * 300_000}).encode()
    reply = exchange(gateway, sample.deployed, "POST", "/v1/search", body)
    check(reply, Wrong("search", {}, "REQUEST_TOO_LARGE", "262144 bytes", {"max_bytes": 262144}))
    assert reply.status == 413


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "HEAD"])
@pytest.mark.parametrize("action", ["search", "catalog", "preflight", "get", "resolve"])
def test_a_wrong_method_is_told_the_right_ones(
    sample: Corpus, gateway: tuple[str, int], action: str, method: str
) -> None:
    reply = exchange(gateway, sample.deployed, method, f"/v1/{action}")
    assert reply.status == 405
    assert reply.headers["allow"] == "GET, POST, OPTIONS"
    if method != "HEAD":
        check(reply, Wrong(action, {}, "METHOD_NOT_ALLOWED", "GET or POST", {"methods": ["GET", "POST"]}))


@pytest.mark.parametrize(
    "path", ["/nowhere", "/v1", "/v1/", "/v1/searches", "/v1/search/more", "/v1/%2e%2e/search", "/v2/search"]
)
def test_an_unknown_path_is_told_the_known_ones(sample: Corpus, gateway: tuple[str, int], path: str) -> None:
    reply = exchange(gateway, sample.deployed, "GET", path)
    assert reply.status == 404
    assert reply.envelope["error_code"] == "UNKNOWN_PATH"
    assert reply.envelope["action"] is None
    assert "/openapi.json" in reply.envelope["error_message"]
    assert reply.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        (b"BREW /v1/search HTTP/1.1\r\nhost: x\r\n\r\n", 405, "METHOD_NOT_ALLOWED"),
        (b"GET /v1/search?query=" + b"a" * 70_000 + b" HTTP/1.1\r\nhost: x\r\n\r\n", 413, "REQUEST_TOO_LARGE"),
        (b"GET / HTTP/1.1\r\nx: " + b"a" * 70_000 + b"\r\n\r\n", 413, "REQUEST_TOO_LARGE"),
        (b"nonsense\r\n\r\n", 400, "INVALID_PARAMETER"),
        (b"GET / HTTP/9.1\r\n\r\n", 400, "INVALID_PARAMETER"),
        (b"POST /v1/search HTTP/1.1\r\ncontent-length: many\r\n\r\n", 400, "INVALID_PARAMETER"),
        (b"POST /v1/search HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", 400, "INVALID_PARAMETER"),
        (b"POST /v1/search HTTP/1.1\r\ncontent-length: 99999999\r\n\r\n", 413, "REQUEST_TOO_LARGE"),
    ],
)
def test_what_is_hardly_http_gets_an_envelope_too(
    sample: Corpus, gateway: tuple[str, int], sent: bytes, status: int, code: str
) -> None:
    stand_before(sample.deployed)
    with socket.create_connection(gateway, timeout=10) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        received = b"".join(iter(lambda: connection.recv(65_536), b""))
    head, _, body = received.partition(b"\r\n\r\n")
    assert head.split()[1] == str(status).encode()
    assert json.loads(body)["error_code"] == code


def test_a_value_that_only_another_corpus_uses_is_unknown_here(door: Door, deploy: Deploy) -> None:
    deployed = deploy(
        {"canon/a.md": page("A", audience="canon")}, project={"canon/b.md": page("B", audience="project", tier=0)}
    )
    known = door.call(deployed, "catalog", {"audience": "project", "knowledge_base_url": "project"})
    assert known.uris == ["kb://canon/b"]
    assert door.call(deployed, "catalog", {"tier": 0, "knowledge_base_url": "project"}).uris == ["kb://canon/b"]
    unknown = door.call(deployed, "catalog", {"audience": "project"})
    assert unknown.envelope["error_code"] == "INVALID_FILTER_VALUE"
    assert unknown.envelope["possible_values"] == ["canon", "docs", "public", "odd", "operators", "apocrypha"]


def test_free_filters_give_an_empty_slice_instead_of_an_error(sample: Corpus, door: Door) -> None:
    for filters in ({"path_prefix": "nowhere/"}, {"tags": "no-such-tag"}):
        for action in ("search", "catalog"):
            reply = door.call(sample.deployed, action, {**MAIN.get(action, {}), **filters})
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
def test_what_is_clearly_meant_is_understood(sample: Corpus, door: Door, arguments: dict[str, Any]) -> None:
    if type(door) is DOORS["http-get"] and isinstance(arguments["limit"], float):
        pytest.skip("a query string has no numbers")
    plain = {"limit": 3, "disclosure": ["blockquote"], "tier": [1, 2], "public": True}
    expected = DOORS["direct"](("", 0)).call(sample.deployed, "catalog", plain)
    assert expected.envelope["status"] == "FOUND"
    assert expected.text == door.call(sample.deployed, "catalog", arguments).text


def test_the_older_name_of_the_main_argument_means_the_same(sample: Corpus, door: Door) -> None:
    for action, main in MAIN.items():
        ((name, value),) = main.items()
        by_name = door.call(sample.deployed, action, {name: value})
        assert by_name.text == door.call(sample.deployed, action, {"input": value}).text
        assert by_name.text == door.call(sample.deployed, action, {name: value, "input": value}).text
