"""The eleven checks of the retrieval contract, over every transport, on the sample and on the real knowledge bases."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pytest
from tests.actions.slices import DEFAULT_KINDS, KINDS, slices
from tests.actions.workloads import FULL_LISTING_LIMIT, WORKLOADS
from tests.conftest import Ask, Corpus, Deploy
from tests.corpora import page
from tests.transports import Reply, Transport

from lamina.contract.tokens import count_tokens

LISTS = ("search", "catalog", "preflight")
NATIVE = {
    "search": {"score", "section", "snippet"},
    "catalog": {"position"},
    "preflight": {"role"},
    "get": {"content_hash"},
    "resolve": {"content_hash"},
}
LIST_ENVELOPE = {
    "status",
    "action",
    "data",
    "total",
    "limit",
    "offset",
    "disclosure_applied",
    "filters_applied",
    "revision",
}
ENVELOPE = {
    "search": LIST_ENVELOPE | {"match", "filtered_out"},
    "catalog": LIST_ENVELOPE,
    "preflight": LIST_ENVELOPE | {"filtered_out", "governance_source"},
    "get": {"status", "action", "data", "disclosure_applied", "revision"},
    "resolve": {"status", "action", "data", "disclosure_applied", "revision", "supersession_chain"},
}
CAPS = {"blockquote": 200, "metadata": 100, "summary": 25}


def main_argument(action: str, corpus: Corpus) -> dict[str, Any]:
    return {"search": {"query": corpus.query}, "preflight": {"task": corpus.task}}.get(action, {})


def subsets(flags: list[str]) -> Iterator[list[str]]:
    for size in range(len(flags) + 1):
        yield from (list(some) for some in combinations(flags, size))


def whole(ask: Ask, action: str, limit: int = 500, **arguments: Any) -> list[dict[str, Any]]:
    """Every entry of a listing, page by page."""
    entries: list[dict[str, Any]] = []
    while True:
        reply = ask(action, limit=limit, offset=len(entries), **arguments)
        assert reply.envelope["status"] != "ERROR", reply.text
        entries += reply.envelope["data"]
        if len(entries) >= reply.envelope["total"] or not reply.envelope["data"]:
            return entries


def some_uri(ask: Ask) -> str:
    uri: str = ask("catalog", limit=1, offset=3).envelope["data"][0]["uri"]
    return uri


@pytest.mark.parametrize("action", LISTS)
def test_check_01_a_list_entry_holds_the_floor_its_native_fields_and_the_tiers_asked_for(
    ask: Ask, corpus: Corpus, action: str
) -> None:
    for flags in subsets(["blockquote", "metadata", "summary"]):
        reply = ask(action, disclosure=flags, limit=5, **main_argument(action, corpus))
        assert reply.envelope["disclosure_applied"] == flags
        assert reply.envelope["data"]
        for entry in reply.envelope["data"]:
            assert set(entry) - {"source"} == {"uri", "title"} | NATIVE[action] | set(flags)


@pytest.mark.parametrize("action", ["get", "resolve"])
def test_check_01_a_document_holds_the_floor_its_native_fields_and_the_tiers_asked_for(ask: Ask, action: str) -> None:
    uri = some_uri(ask)
    for flags in subsets(["blockquote", "metadata", "summary", "body"]):
        data = ask(action, uri=uri, disclosure=flags).envelope["data"]
        assert set(data) == {"uri", "title"} | NATIVE[action] | set(flags)
    assert set(ask(action, uri=uri).envelope["data"]) == {"uri", "title", "content_hash", "body"}


@pytest.mark.parametrize("action", LISTS)
def test_check_01_a_knowledge_base_adds_the_source_of_each_entry_and_nothing_else(
    ask: Ask, corpus: Corpus, action: str
) -> None:
    reply = ask(action, knowledge_base_url=corpus.overlay, limit=100, **main_argument(action, corpus))
    for entry in reply.envelope["data"]:
        assert set(entry) == {"uri", "title", "source"} | NATIVE[action]
    assert {"overlay", "baseline"} >= {entry["source"] for entry in reply.envelope["data"]}


def test_check_02_every_filter_is_respected_and_nothing_else_is_left_out(ask: Ask, corpus: Corpus) -> None:
    for filters, passes in slices(corpus.facts):
        expected = sorted(fact.uri for fact in corpus.facts if passes(fact))
        assert expected == sorted(entry["uri"] for entry in whole(ask, "catalog", **filters)), filters


@pytest.mark.parametrize("action", ["search", "preflight"])
def test_check_02_filters_keep_the_ranked_documents_that_pass_and_only_those(
    ask: Ask, corpus: Corpus, action: str
) -> None:
    # Without snippets the cap of the floor fits under the ceiling.
    main = main_argument(action, corpus) | ({"snippet": False} if action == "search" else {})
    everything = [
        entry["uri"] for entry in whole(ask, action, include=KINDS, **main) if entry.get("role") in (None, "relevant")
    ]
    for filters, passes in list(slices(corpus.facts))[::4]:
        inside = {fact.uri for fact in corpus.facts if passes(fact)}
        kept = [e["uri"] for e in whole(ask, action, **main, **filters) if e.get("role") in (None, "relevant")]
        assert [uri for uri in everything if uri in inside] == kept, filters


def test_check_02_filters_are_echoed_as_arrays_and_include_always(ask: Ask) -> None:
    assert ask("catalog").envelope["filters_applied"] == {"include": list(DEFAULT_KINDS)}
    echoed = ask("catalog", audience="canon", tier=1, public=True, exclude="docs").envelope["filters_applied"]
    assert echoed == {
        "include": list(DEFAULT_KINDS),
        "exclude": ["docs"],
        "audience": ["canon"],
        "tier": [1],
        "public": [True],
    }


@pytest.mark.parametrize("action", LISTS)
def test_check_03_total_is_counted_after_filters_and_before_paging(ask: Ask, corpus: Corpus, action: str) -> None:
    arguments: dict[str, Any] = {**main_argument(action, corpus), "include": ["canon", "journals"]}
    first = ask(action, **arguments, limit=2).envelope
    second = ask(action, **arguments, limit=2, offset=2).envelope
    past = ask(action, **arguments, offset=100_000).envelope
    entries = whole(ask, action, **arguments)
    assert first["total"] == second["total"] == past["total"] == len(entries)
    assert first["data"] + second["data"] == entries[:4]
    assert past["data"] == []
    assert past["status"] == "FOUND"


@pytest.mark.parametrize("action", LISTS)
def test_check_04_an_envelope_holds_no_rollups_and_no_curated_lists(ask: Ask, corpus: Corpus, action: str) -> None:
    reply = ask(action, **main_argument(action, corpus))
    assert set(reply.envelope) - {"filtered_out_by", "best_filtered"} == ENVELOPE[action]


@pytest.mark.parametrize("action", ["get", "resolve"])
def test_check_04_a_document_envelope_carries_no_paging_and_no_filters(ask: Ask, action: str) -> None:
    assert set(ask(action, uri=some_uri(ask)).envelope) == ENVELOPE[action]


def keys_of(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from keys_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys_of(inner)


@pytest.mark.parametrize("action", LISTS)
def test_check_05_no_body_leaves_a_list_whatever_is_asked(ask: Ask, corpus: Corpus, action: str) -> None:
    main = main_argument(action, corpus)
    assert ask(action, disclosure=["body"], **main).envelope["error_code"] == "DISCLOSURE_FLAG_NOT_PERMITTED"
    reply = ask(action, disclosure=["blockquote", "summary"], include_legacy_envelope=True, limit=10, **main)
    assert {"body", "content"}.isdisjoint(keys_of(reply.envelope))
    uri = reply.envelope["data"][0]["uri"]
    body = ask("get", uri=uri).envelope["data"]["body"]
    longest = max((line for line in body.split("\n") if not line.startswith(">")), key=len)
    summaries = [entry["summary"] or "" for entry in reply.envelope["data"]]
    assert longest not in reply.text.replace('\\"', '"') or any(longest in text for text in summaries)


@pytest.mark.parametrize("action", LISTS)
def test_check_06_a_forbidden_flag_is_an_error_that_names_the_permitted_ones(
    ask: Ask, corpus: Corpus, action: str
) -> None:
    reply = ask(action, disclosure=["blockquote", "body"], **main_argument(action, corpus))
    assert reply.status in (None, 400)
    assert reply.envelope == {
        "status": "ERROR",
        "error_code": "DISCLOSURE_FLAG_NOT_PERMITTED",
        "error_message": f"disclosure flag 'body' is not permitted on action '{action}'. "
        "Use oddkit_get with a URI for full-body retrieval. "
        f"Permitted flags on {action}: blockquote, metadata, summary.",
        "requested_flag": "body",
        "permitted_flags": ["blockquote", "metadata", "summary"],
        "action": action,
    }


@pytest.mark.parametrize("action", LISTS)
def test_check_07_a_limit_above_the_most_restrictive_cap_is_an_error_that_names_it(
    ask: Ask, corpus: Corpus, action: str
) -> None:
    main = main_argument(action, corpus)
    for flags in subsets(list(CAPS)):
        cap, limiting = min(((CAPS[flag], flag) for flag in flags), default=(500, None))
        reply = ask(action, disclosure=flags, limit=cap + 1, **main)
        assert reply.status in (None, 400)
        assert reply.envelope["error_code"] == "LIMIT_EXCEEDS_FLAG_CAP"
        assert reply.envelope["max_limit_for_active_flags"] == cap
        assert reply.envelope["limiting_flag"] == limiting
        assert reply.envelope["requested_limit"] == cap + 1
        at_cap = ask(action, disclosure=flags, limit=cap, **main).envelope
        assert at_cap.get("error_code") in (None, "RESPONSE_EXCEEDS_TOKEN_BUDGET")
    reply = ask(action, disclosure=["summary"], limit=100, **main)
    assert (
        reply.envelope["error_message"]
        == "limit 100 exceeds the maximum 25 for disclosure flag 'summary'. Paginate with offset, or remove the "
        "'summary' flag."
    )


@pytest.mark.parametrize("action", ["search", "catalog"])
def test_check_08_journals_and_apocrypha_come_only_when_asked_for(ask: Ask, corpus: Corpus, action: str) -> None:
    kinds = {fact.uri: fact.kind for fact in corpus.facts}
    main = main_argument(action, corpus)
    unasked = {kinds[entry["uri"]] for entry in whole(ask, action, **main)}
    assert unasked <= set(DEFAULT_KINDS)
    asked = whole(ask, action, include=["journals", "apocrypha"], **main)
    assert {kinds[entry["uri"]] for entry in asked} == {"journals", "apocrypha"}


@pytest.mark.parametrize("action", ["search", "preflight"])
def test_check_08_matches_that_the_default_leaves_out_are_counted(ask: Ask, corpus: Corpus, action: str) -> None:
    main = main_argument(action, corpus)
    narrow = ask(action, **main).envelope
    wide = ask(action, include=KINDS, **main).envelope
    assert narrow["filtered_out"] > 0
    assert wide["filtered_out"] == 0
    assert wide["total"] == narrow["total"] + narrow["filtered_out"]


def test_check_09_kind_is_decided_by_frontmatter_and_then_by_path(transport: Transport, deploy: Deploy) -> None:
    deployed = deploy(
        {
            "canon/a.md": page("A"),
            "canon/b.md": page("B", kind="essays"),
            "canon/c.md": page("C", kind="chronicle"),
            "canon/d.md": page("D", kind=["docs"]),
            "canon/apocrypha/e.md": page("E"),
            "canon/apocrypha/f.md": page("F", kind="canon"),
            "odd/g.md": page("G"),
            "writings/h.md": page("H"),
            "apocrypha/i.md": page("I"),
            "elsewhere/j.md": page("J"),
            "k.md": page("K", kind="journals"),
            "canonical/l.md": page("L"),
        }
    )
    expected = {
        "canon": "ACDF",
        "essays": "BH",
        "apocrypha": "EI",
        "journals": "GK",
        "docs": "JL",
    }
    found = {
        kind: "".join(
            sorted(entry["title"] for entry in transport.call(deployed, "catalog", {"include": kind}).envelope["data"])
        )
        for kind in KINDS
    }
    assert expected == found


def test_check_09_a_knowledge_base_has_its_own_prefix_table(transport: Transport, deploy: Deploy) -> None:
    deployed = deploy(
        {
            ".kb.yml": "kinds:\n  posts/: essays\n  canon/old/: apocrypha\n",
            "posts/a.md": page("A"),
            "canon/old/b.md": page("B"),
            "canon/c.md": page("C"),
        }
    )
    found = {
        kind: [e["title"] for e in transport.call(deployed, "catalog", {"include": kind}).envelope["data"]]
        for kind in ("essays", "apocrypha", "canon")
    }
    assert found == {"essays": ["A"], "apocrypha": ["B"], "canon": ["C"]}


def test_check_10_native_fields_are_there_without_any_disclosure(ask: Ask, corpus: Corpus) -> None:
    search = ask("search", query=corpus.query, disclosure=[]).envelope
    assert search["disclosure_applied"] == []
    assert all(entry["score"] > 0 for entry in search["data"])
    assert all(0 < len(entry["snippet"]) <= 240 for entry in search["data"])
    assert all(entry["score"] == round(entry["score"], 6) for entry in search["data"])
    assert search["total"] >= len(search["data"]) > 0

    catalog = ask("catalog", disclosure=[], limit=4, offset=3).envelope
    assert [entry["position"] for entry in catalog["data"]] == [4, 5, 6, 7]
    assert catalog["total"] > 7

    preflight = ask("preflight", task=corpus.task, disclosure=[], limit=100).envelope
    roles = [entry["role"] for entry in preflight["data"]]
    assert roles[0] == "definition_of_done"
    assert roles == sorted(roles, key=["definition_of_done", "constraint", "relevant"].index)
    assert {"constraint", "relevant"} <= set(roles)
    assert preflight["total"] >= len(roles)

    for action in ("get", "resolve"):
        data = ask(action, uri=catalog["data"][0]["uri"], disclosure=[]).envelope["data"]
        assert set(data) == {"uri", "title", "content_hash"}
        assert len(data["content_hash"]) == 64


def test_check_10_a_snippet_is_not_the_blockquote_and_neither_stands_in_for_the_other(ask: Ask, corpus: Corpus) -> None:
    entries = ask("search", query=corpus.query, disclosure=["blockquote"], limit=100).envelope["data"]
    assert any(entry["blockquote"] is None and entry["snippet"] for entry in entries)
    assert any(entry["blockquote"] and entry["blockquote"] != entry["snippet"] for entry in entries)


def test_check_11_the_floor_costs_a_fraction_of_the_full_frontmatter(ask: Ask) -> None:
    floor = sum(cost(ask("catalog", include=KINDS, limit=25, offset=at)) for at in (0, 25))
    full = sum(cost(ask("catalog", include=KINDS, limit=25, offset=at, disclosure=["metadata"])) for at in (0, 25))
    assert full > 2 * floor


def test_check_11_the_reference_workloads_cost_a_tenth_of_the_old_shape(real: Corpus, transport: Transport) -> None:
    def ask(action: str, /, **arguments: Any) -> Reply:
        return transport.call(real.deployed, action, arguments)

    metadata: list[dict[str, Any]] = []
    while True:
        reply = ask(
            "catalog",
            include=KINDS,
            disclosure=["metadata"],
            limit=FULL_LISTING_LIMIT,
            offset=len(metadata),
        )
        metadata += reply.envelope["data"]
        if len(metadata) == reply.envelope["total"]:
            break
    entries = [{name: entry[name] for name in ("uri", "title", "metadata")} for entry in metadata]
    old = sum(count_tokens(text) for text in map(compacted, entries))
    new = sum(cost(ask(item.action, **item.arguments)) for item in WORKLOADS)
    assert len(WORKLOADS) == 8
    assert 10 * new <= len(WORKLOADS) * old


def compacted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def cost(reply: Reply) -> int:
    assert reply.envelope["status"] == "FOUND", reply.text
    return count_tokens(reply.text)
