"""Overlay above baseline: grouping, scope, shadowing, statistics of a scope, and the probes that it was built for."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Ask, Corpus, Deploy
from tests.corpora import CHECKOUT, Deployed, page
from tests.transports import TRANSPORTS

from lamina.contract.filters import KINDS
from lamina.contract.request import Grouping, SearchScope
from lamina.governance.manifest import required_paths
from lamina.runtime.catalogue import index_name

EVAL = CHECKOUT.parent / "shared" / "eval" / "queries.jsonl"
ALL = list(KINDS)


def _probes() -> list[dict[str, Any]]:
    if not EVAL.is_file():
        return []
    lines = EVAL.read_text("utf-8").splitlines()
    return [query for query in map(json.loads, lines) if query["set"] == "probe"]


def _paths(deployed: Deployed, overlay: str, entries: Iterable[dict[str, Any]]) -> list[tuple[str, str]]:
    """(source, path) of each entry."""
    snapshot = deployed.runtime().warm.current(index_name(overlay)).scopes.snapshot
    by_name = {(snapshot.uris[n], str(snapshot.origin[n])): snapshot.paths[n] for n in range(len(snapshot))}
    return [(entry["source"], by_name[entry["uri"], entry["source"]]) for entry in entries]


@pytest.fixture(scope="module")
def direct() -> Any:
    """Direct invocation."""
    return TRANSPORTS["direct"](("", 0))


@pytest.mark.parametrize("probe", _probes(), ids=lambda probe: probe["id"])
def test_every_probe_has_a_right_document_on_top(probe: dict[str, Any], real: Corpus, direct: Any) -> None:
    right = {("overlay", path) for path, grade in probe["relevant"].items() if grade == 2}
    arguments = {"query": probe["query"], "knowledge_base_url": "ptx", "include": ALL, "limit": 10}
    for grouping, depth in (("overlay_first", 2), ("merged", 5), ("overlay_preferred", 2)):
        reply = direct.call(real.deployed, "search", {**arguments, "result_grouping": grouping})
        assert right & set(_paths(real.deployed, "ptx", reply.envelope["data"])[:depth]), grouping


def test_every_preflight_probe_has_a_right_document_among_the_first_relevant(real: Corpus, direct: Any) -> None:
    for probe in (item for item in _probes() if item["id"] == "P"):
        reply = direct.call(
            real.deployed, "preflight", {"task": probe["query"], "knowledge_base_url": "ptx", "include": ALL}
        )
        relevant = [entry for entry in reply.envelope["data"] if entry["role"] == "relevant"]
        right = {("overlay", path) for path, grade in probe["relevant"].items() if grade == 2}
        assert right & set(_paths(real.deployed, "ptx", relevant)[:2])


def _whole(direct: Any, deployed: Deployed, arguments: dict[str, Any]) -> list[dict[str, Any]]:
    """Every hit of a search, page by page."""
    found: list[dict[str, Any]] = []
    while True:
        page = direct.call(deployed, "search", {**arguments, "limit": 100, "offset": len(found)}).envelope
        found += page["data"]
        if len(found) >= page["total"]:
            return found


@pytest.mark.parametrize("action", ["search", "preflight", "catalog"])
def test_a_scope_holds_only_what_it_says(action: str, corpus: Corpus, direct: Any) -> None:
    main = {"search": {"query": corpus.query}, "preflight": {"task": corpus.task}, "catalog": {}}[action]
    for scope in SearchScope:
        found: list[dict[str, Any]] = []
        arguments = {**main, "knowledge_base_url": corpus.overlay, "include": ALL, "search_scope": scope, "limit": 100}
        while len(found) < (
            total := (reply := direct.call(corpus.deployed, action, {**arguments, "offset": len(found)})).envelope[
                "total"
            ]
        ):
            found += reply.envelope["data"]
        assert reply.envelope["filters_applied"]["search_scope"] == scope
        assert len(found) == total
        baseline = {path for source, path in _paths(corpus.deployed, corpus.overlay, found) if source != "overlay"}
        if scope == SearchScope.KB_ONLY:
            assert not baseline
        elif scope == SearchScope.KB_WITH_REQUIRED_BASELINE:
            assert baseline <= set(required_paths())
        elif action == "catalog":
            assert len(baseline) > len(required_paths())


def test_overlay_first_is_every_overlay_hit_above_every_baseline_hit_in_merged_order(
    corpus: Corpus, direct: Any
) -> None:
    arguments = {"query": corpus.query, "knowledge_base_url": corpus.overlay, "include": ALL, "limit": 100}
    hits = {
        grouping: _whole(direct, corpus.deployed, {**arguments, "result_grouping": grouping}) for grouping in Grouping
    }
    merged = hits[Grouping.MERGED]
    split = [e for e in merged if e["source"] == "overlay"] + [e for e in merged if e["source"] != "overlay"]
    assert hits[Grouping.OVERLAY_FIRST] == split
    assert hits[Grouping.GROUPED] == split
    page = direct.call(corpus.deployed, "search", {**arguments, "result_grouping": Grouping.GROUPED}).envelope
    assert page["overlay_hits"] == [e["uri"] for e in page["data"] if e["source"] == "overlay"]
    assert page["baseline_hits"] == [e["uri"] for e in page["data"] if e["source"] != "overlay"]
    preferred = [e["uri"] for e in hits[Grouping.OVERLAY_PREFERRED]]
    assert sorted(preferred) == sorted(e["uri"] for e in merged)
    scores = [e["score"] for e in merged]
    assert scores == sorted(scores, reverse=True)


def test_the_partition_comes_before_paging(corpus: Corpus, direct: Any) -> None:
    arguments = {"query": corpus.query, "knowledge_base_url": corpus.overlay, "include": ALL}
    whole = [entry["uri"] for entry in _whole(direct, corpus.deployed, arguments)]
    first = whole[:30]
    paged: list[str] = []
    while len(paged) < len(first):
        paged += direct.call(corpus.deployed, "search", {**arguments, "limit": 3, "offset": len(paged)}).uris
    assert paged[: len(first)] == first


def test_without_a_knowledge_base_every_grouping_gives_the_same_list(corpus: Corpus, direct: Any) -> None:
    lists = [
        direct.call(corpus.deployed, "search", {"query": corpus.query, "result_grouping": grouping}).uris
        for grouping in Grouping
    ]
    assert all(item == lists[0] for item in lists)


def test_scores_in_a_scope_are_those_of_an_index_of_that_scope_alone(deploy: Deploy, tmp_path: Path) -> None:
    trees = ("oak ash", "elm oak oak", "fir ash", "oak", "beech fir elm")
    overlay = {f"docs/o{n}.md": page(f"O{n}", text) for n, text in enumerate(trees[:3])}
    baseline = {f"docs/b{n}.md": page(f"B{n}", text * 3) for n, text in enumerate(trees)}
    both = deploy(baseline, kb=overlay)
    alone = Deployed(tmp_path / "alone", both.overlays["kb"])
    alone.index()
    direct = TRANSPORTS["direct"](("", 0))
    for query in ("oak", "elm ash", "fir oak", "okk"):
        within = direct.call(
            both, "search", {"query": query, "knowledge_base_url": "kb", "search_scope": "kb_only"}
        ).envelope
        by_itself = direct.call(alone, "search", {"query": query}).envelope
        assert [entry["title"] for entry in within["data"]] == [entry["title"] for entry in by_itself["data"]]
        assert [entry["score"] for entry in within["data"]] == pytest.approx(
            [entry["score"] for entry in by_itself["data"]], abs=1e-9
        )
        assert within["match"]["coverage"] == pytest.approx(by_itself["match"]["coverage"], abs=1e-9)


def test_scores_of_the_real_overlay_are_those_of_its_own_index(real: Corpus, direct: Any, tmp_path: Path) -> None:
    alone = Deployed(tmp_path / "alone", real.deployed.overlays["ptx"])
    alone.index()
    for probe in _probes():
        arguments = {"query": probe["query"], "include": ALL, "limit": 100}
        within = direct.call(
            real.deployed, "search", {**arguments, "knowledge_base_url": "ptx", "search_scope": "kb_only"}
        ).envelope
        by_itself = direct.call(alone, "search", arguments).envelope
        assert [entry["score"] for entry in within["data"]] == pytest.approx(
            [entry["score"] for entry in by_itself["data"]], abs=1e-9
        )
        assert within["data"]


SHADOWED = {
    "canon/constraints/definition-of-done.md": page("Baseline done", "Old words.", uri="kb://done"),
    "docs/other.md": page("Other", "Words."),
}
SHADOWING = {"canon/done.md": page("Overlay done", "New words.", uri="kb://done")}


def test_an_overlay_document_shadows_the_baseline_one_of_its_uri_in_every_action(deploy: Deploy) -> None:
    deployed = deploy(SHADOWED, kb=SHADOWING)
    direct = TRANSPORTS["direct"](("", 0))
    kb = {"knowledge_base_url": "kb", "include": ALL}
    for action, main in (("search", {"query": "words"}), ("catalog", {})):
        entries = direct.call(deployed, action, {**kb, **main}).envelope["data"]
        assert [entry["source"] for entry in entries if entry["uri"] == "kb://done"] == ["overlay"]
    for action in ("get", "resolve"):
        data = direct.call(deployed, action, {"uri": "kb://done", "knowledge_base_url": "kb"}).envelope["data"]
        assert (data["title"], data["source"]) == ("Overlay done", "overlay")
    assert direct.call(deployed, "get", {"uri": "kb://done"}).envelope["data"]["title"] == "Baseline done"


def test_the_definition_of_done_comes_from_the_overlay_then_the_baseline_then_the_bundle(deploy: Deploy) -> None:
    path = "canon/constraints/definition-of-done.md"
    deployed = deploy(
        {path: page("Baseline's"), "docs/a.md": page("A")},
        own={path: page("Overlay's")},
        none={"docs/b.md": page("B")},
    )
    direct = TRANSPORTS["direct"](("", 0))

    def first(**arguments: Any) -> dict[str, Any]:
        found: dict[str, Any] = direct.call(deployed, "preflight", {"task": "do b", **arguments}).envelope
        return found

    assert first(knowledge_base_url="own")["data"][0]["title"] == "Overlay's"
    assert first(knowledge_base_url="none")["data"][0]["title"] == "Baseline's"
    assert first(knowledge_base_url="none")["governance_source"] == "knowledge_base"
    missing = first(knowledge_base_url="none", search_scope="kb_only")
    assert missing["governance_source"] == "incomplete"
    assert "definition_of_done" not in {entry["role"] for entry in missing["data"]}


def test_a_baseline_without_a_definition_of_done_is_served_from_the_bundle(deploy: Deploy) -> None:
    deployed = deploy({"docs/a.md": page("A", "Words about ash.")})
    direct = TRANSPORTS["direct"](("", 0))
    answer = direct.call(deployed, "preflight", {"task": "plant ash"}).envelope
    done = answer["data"][0]
    assert (done["role"], done["source"], answer["governance_source"]) == ("definition_of_done", "bundled", "bundled")
    assert direct.call(deployed, "get", {"uri": done["uri"]}).envelope["data"]["body"]
    assert done["uri"] not in direct.call(deployed, "catalog", {"include": ALL}).uris


@pytest.mark.parametrize("text", ["write an article about gauges", "Edit the README", "document the API"])
def test_a_task_that_writes_a_document_is_held_to_the_writing_canon(text: str, sample: Corpus, direct: Any) -> None:
    data = direct.call(sample.deployed, "preflight", {"task": text}).envelope["data"]
    assert "rill://canon/meta/writing-canon" in [e["uri"] for e in data if e["role"] == "constraint"]


def test_a_task_that_writes_code_is_not(sample: Corpus, direct: Any) -> None:
    data = direct.call(sample.deployed, "preflight", {"task": "implement the upload retry"}).envelope["data"]
    assert "rill://canon/meta/writing-canon" not in [e["uri"] for e in data if e["role"] == "constraint"]


@pytest.mark.parametrize(("boolean", "scope"), [(True, "merged"), (False, "kb_with_required_baseline")])
@pytest.mark.parametrize("name", ["baseline_in_search", "include_full_baseline"])
def test_the_older_booleans_mean_a_scope(name: str, boolean: bool, scope: str, sample: Corpus, direct: Any) -> None:
    arguments = {"query": "gauge", "knowledge_base_url": sample.overlay, name: boolean}
    answer = direct.call(sample.deployed, "search", arguments).envelope
    assert answer["filters_applied"]["search_scope"] == scope


def test_an_overlay_signal_tells_that_the_project_has_no_document_on_the_matter(ask: Ask, corpus: Corpus) -> None:
    if corpus.overlay != "gauge-firmware":
        pytest.skip("made for the sample")
    answer = ask("search", query="open data licence attribution", knowledge_base_url=corpus.overlay).envelope
    assert answer["match"]["signal"] != "none"
    assert answer["match"]["overlay_signal"] == "none"


@pytest.mark.parametrize("grouping", ["merged", "overlay_first", "overlay_preferred"])
def test_preflight_lists_what_is_relevant_in_the_order_of_search(real: Corpus, direct: Any, grouping: str) -> None:
    asked = {"knowledge_base_url": "ptx", "result_grouping": grouping, "limit": 100}
    for question in ("how is a claim verified", "definition of done for a release", "telemetry of searches"):
        ahead = direct.call(real.deployed, "preflight", {"task": question, **asked}).envelope["data"]
        found = direct.call(real.deployed, "search", {"query": question, **asked}).uris
        relevant = [entry["uri"] for entry in ahead if entry["role"] == "relevant"]
        named = {entry["uri"] for entry in ahead} - set(relevant)
        shared = [uri for uri in found if uri not in named]
        assert relevant
        assert relevant[: len(shared)] == shared[: len(relevant)]


@pytest.mark.parametrize(
    ("constrained", "expected"), [(True, ["kb://docs/x", "kb://docs/y"]), (False, ["kb://docs/y"])]
)
def test_a_constraint_of_the_baseline_is_a_rival_of_the_overlay_in_preflight_too(
    constrained: bool, expected: list[str], deploy: Deploy
) -> None:
    constraint = {"canon/constraints/retry.md": page("Upload retry", "Upload retry. " * 6)} if constrained else {}
    other = {f"docs/{number}.md": page("Other", "Something else.") for number in range(6)}
    deployed = deploy(
        {"docs/x.md": page("X", "On an upload and its retry."), **constraint, **other},
        own={"docs/y.md": page("Y", "On an upload and its own retry.")},
    )
    asked = {"task": "upload retry", "knowledge_base_url": "own", "result_grouping": "overlay_preferred"}
    data = TRANSPORTS["direct"](("", 0)).call(deployed, "preflight", asked).envelope["data"]
    assert [entry["uri"] for entry in data if entry["role"] == "relevant"][: len(expected)] == expected
