"""Wrong requests of every sort, with what each is told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.transports import Reply

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
    "limit is a list": invalid("catalog", {"limit": [5, 6]}, "limit", "takes one"),
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
    "tag filter": Wrong("search", {"query": "gauge", "tag": "alarms"}, "CATEGORY_FILTER_NOT_SUPPORTED", "tags narrows"),
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
    "two queries": invalid("search", {"query": ["one", "two"]}, "query", "takes one"),
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
    "bad revision": invalid("catalog", {"revision": "latest"}, "revision", "12 hexadecimal digits"),
    "revision gone": Wrong("catalog", {"revision": "0123456789ab"}, "REVISION_GONE", "Start again without revision"),
    "section not found": Wrong(
        "get", {"uri": URI, "section": "No such part"}, "SECTION_NOT_FOUND", "are in `headings`"
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
