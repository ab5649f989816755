"""A brief from small corpora, without a deployment: lines, bounds, what is left out, and what its digest covers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from tests.corpora import page

from lamina.actions.action import QueryContext
from lamina.actions.brief import BriefRequest, brief
from lamina.actions.search import SearchRequest, search
from lamina.contract.errors import LaminaError
from lamina.contract.ports import SourceFile
from lamina.governance.manifest import required_paths
from lamina.index.build import SourceRevision, build
from lamina.index.snapshot import Origin
from lamina.ranking.scope import Scopes

BASELINE = {
    "docs/kettle.md": page("Kettle", "A kettle boils water.\n\nIt whistles."),
    "docs/teapot.md": page("Teapot", "A teapot holds water that a kettle boiled.", tags=["pots"]),
    "docs/old-kettle.md": page("Old Kettle", "A kettle never boils.", status="refuted"),
    "docs/gone-kettle.md": page("Gone Kettle", "A kettle is gone.", superseded_by="docs/kettle"),
    "docs/false-kettle.md": page("False Kettle", "A kettle lies.", invalidated=True),
    "odd/kettle-diary.md": page("Kettle Diary", "Today the kettle broke."),
}
OVERLAY = {"docs/camp.md": page("Camp Kettle", "The camp kettle hangs on a hook.")}


def context(baseline: Mapping[str, str] = BASELINE, overlay: Mapping[str, str] | None = None) -> QueryContext:
    """A snapshot of texts by path."""
    source_revisions = [_source_revision(Origin.BASELINE, "b", baseline)]
    if overlay is not None:
        source_revisions.insert(0, _source_revision(Origin.OVERLAY, "a", overlay))
    snapshot, _ = build(source_revisions)
    return QueryContext(Scopes(snapshot, required_paths()), None if overlay is None else "camp")


def _source_revision(origin: Origin, digit: str, texts: Mapping[str, str]) -> SourceRevision:
    files = tuple(SourceFile(path, text.encode()) for path, text in texts.items())
    return SourceRevision(origin, digit * 40, files)


def asked(of: QueryContext, **arguments: Any) -> dict[str, Any]:
    """The envelope of a brief; with an overlay, over it."""
    given = {"question": "kettle", **arguments}
    if of.knowledge_base is not None:
        given.setdefault("knowledge_base_url", of.knowledge_base)
    return brief(BriefRequest.of(given), of).envelope


def test_text_is_one_line_a_document_with_id_title_and_snippet() -> None:
    data = asked(context())["data"]
    first, *_ = data["text"].split("\n")
    assert first == f"- [kb://docs/kettle] Kettle — {data['hits'][0]['snippet']}"
    assert len(data["text"].split("\n")) == len(data["hits"]) == 2


def test_a_document_without_text_has_a_line_without_a_snippet() -> None:
    only = context({"docs/kettle.md": "---\ntitle: The  Kettle\n---\n"})
    assert asked(only)["data"]["text"] == "- [kb://docs/kettle] The Kettle"


def test_white_space_of_a_title_is_folded_into_one_line() -> None:
    only = context({"docs/kettle.md": "# Kettle\u2028and\u00a0 pot\n"})
    text = asked(only)["data"]["text"]
    assert text.startswith("- [kb://docs/kettle] Kettle and pot — ")
    assert len(text.splitlines()) == 1


@pytest.mark.parametrize("name", ["old-kettle", "gone-kettle", "false-kettle"])
def test_a_refuted_document_enters_a_brief_only_when_asked_for(name: str) -> None:
    uri = f"kb://docs/{name}"
    assert uri not in asked(context())["data"]["citation_ids"]
    assert uri in asked(context(), exclude_invalidated=False)["data"]["citation_ids"]


def test_filters_of_a_brief_say_what_they_removed() -> None:
    envelope = asked(context())
    assert envelope["filtered_out"] == 4  # three refuted, one journal
    assert envelope["filters_applied"] == {"include": ["canon", "docs", "essays"], "exclude_invalidated": [True]}
    assert asked(context(), kinds=["journals"])["data"]["citation_ids"] == ["kb://odd/kettle-diary"]
    assert asked(context(), tags=["pots"])["data"]["citation_ids"] == ["kb://docs/teapot"]


def test_nothing_found_is_an_empty_brief_and_not_an_error() -> None:
    envelope = asked(context(), question="zeppelin")
    assert envelope["status"] == "NOT_FOUND"
    data = envelope["data"]
    assert (data["hits"], data["citation_ids"], data["results"], data["text"]) == ([], [], [], "")


def test_the_first_document_that_does_not_fit_ends_the_brief() -> None:
    whole = asked(context())["data"]
    first, second = whole["text"].split("\n")
    shortened = asked(context(), max_chars=len(whole["text"]) - 1)
    assert shortened["data"]["text"] == first
    assert shortened["data"]["results"] == whole["results"][:1]
    assert shortened["omitted_by_budget"] == 1
    exact = asked(context(), max_chars=len(whole["text"]))
    assert exact["data"]["text"] == f"{first}\n{second}"
    assert exact["omitted_by_budget"] == 0


def test_a_later_document_never_takes_the_place_of_one_that_does_not_fit() -> None:
    texts = {"docs/a.md": page("Kettle " * 20, "kettle " * 30), "docs/b.md": page("K", "kettle and much else")}
    whole = asked(context(texts))["data"]
    assert len(whole["text"].split("\n")[1]) < len(whole["text"].split("\n")[0])
    tight = asked(context(texts), max_chars=len(whole["text"].split("\n")[1]))
    assert (tight["status"], tight["data"]["text"], tight["data"]["results"]) == ("FOUND", "", [])


def test_results_are_what_search_finds_in_the_same_order_with_the_same_scores() -> None:
    of = context(overlay=OVERLAY)
    for grouping in ("merged", "overlay_first", "overlay_preferred"):
        options = {"knowledge_base_url": "camp", "result_grouping": grouping, "limit": 5}
        found = search(SearchRequest.of({"query": "kettle", "exclude_invalidated": True, **options}), of).envelope
        expected = [(hit["uri"], hit["score"], hit["snippet"], hit["source"]) for hit in found["data"]]
        hits = asked(of, **options)["data"]["hits"]
        assert expected == [(hit["uri"], hit["score"], hit["snippet"], hit["source"]) for hit in hits]


def test_origin_is_baseline_without_a_knowledge_base_and_tells_them_apart_with_one() -> None:
    assert {entry["origin"] for entry in asked(context())["data"]["results"]} == {"baseline"}
    results = asked(context(overlay=OVERLAY))["data"]["results"]
    assert [entry["origin"] for entry in results] == ["overlay", "baseline", "baseline"]


def test_grouped_names_the_hits_of_each_side() -> None:
    envelope = asked(context(overlay=OVERLAY), result_grouping="grouped")
    assert envelope["overlay_hits"] == [envelope["data"]["citation_ids"][0]]
    assert envelope["baseline_hits"] == envelope["data"]["citation_ids"][1:]


@pytest.mark.parametrize(
    "same", [{"question": "water"}, {"max_chars": 10}, {"receipt": {"run_id": "r"}}, {"consumer": "c"}], ids=str
)
def test_the_configuration_digest_ignores_what_does_not_rank(same: dict[str, Any]) -> None:
    assert _configuration() == _configuration(**same)


@pytest.mark.parametrize(
    "other",
    [
        {"limit": 6},
        {"exclude_invalidated": False},
        {"tags": ["pots"]},
        {"kinds": ["docs"]},
        {"result_grouping": "merged"},
        {"search_scope": "kb_only"},
    ],
    ids=str,
)
def test_the_configuration_digest_covers_every_option_that_ranks(other: dict[str, Any]) -> None:
    assert _configuration() != _configuration(**other)


def test_the_configuration_digest_takes_options_by_their_meaning() -> None:
    assert _configuration() == _configuration(limit="5", kinds=["essays", "docs", "canon"], baseline_in_search=True)


def test_the_configuration_digest_covers_the_ranking_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    from lamina.actions.brief import _settings_digest
    from lamina.ranking import match

    before = _configuration()
    monkeypatch.setattr(match, "WEAK_COVERAGE", 0.123)
    _settings_digest.cache_clear()
    assert before != _configuration()
    monkeypatch.undo()
    _settings_digest.cache_clear()
    assert before == _configuration()


def _configuration(**arguments: Any) -> str:
    digest: str = asked(context(overlay=OVERLAY), **arguments)["data"]["retriever_config_digest"]
    return digest


@pytest.mark.parametrize(
    ("arguments", "code", "parameter"),
    [
        ({"question": "  "}, "EMPTY_QUERY", "question"),
        ({"limit": 0}, "INVALID_PARAMETER", "limit"),
        ({"limit": 26}, "INVALID_PARAMETER", "limit"),
        ({"max_chars": -1}, "INVALID_PARAMETER", "max_chars"),
        ({"kinds": ["novels"]}, "INVALID_FILTER_VALUE", "kinds"),
        ({"include": ["docs"]}, "INVALID_PARAMETER", "include"),
        ({"audience": "docs"}, "INVALID_PARAMETER", "audience"),
        ({"search_scope": "kb_only"}, "INVALID_PARAMETER", "search_scope"),
        ({"receipt": {}}, "INVALID_PARAMETER", "receipt"),
        ({"receipt": {"run_id": "r", "mood": "good"}}, "INVALID_PARAMETER", "receipt"),
        ({"receipt": {"run_id": 4}}, "INVALID_PARAMETER", "receipt"),
        ({"receipt": {"run_id": "r" * 257}}, "INVALID_PARAMETER", "receipt"),
        ({"receipt": "{"}, "INVALID_PARAMETER", "receipt"),
        ({"receipt": True}, "INVALID_PARAMETER", "receipt"),
    ],
    ids=str,
)
def test_a_wrong_request_is_refused_by_name(arguments: dict[str, Any], code: str, parameter: str) -> None:
    with pytest.raises(LaminaError) as raised:
        BriefRequest.of({"question": "kettle", **arguments})
    assert (raised.value.kind.code, raised.value.details["parameter"]) == (code, parameter)


@pytest.mark.parametrize(
    "sent",
    [
        {"run_id": "r1", "actor_id": "a"},
        '{"run_id": "r1", "actor_id": "a"}',
        "run_id=r1,actor_id=a",
        ["run_id=r1", "actor_id=a"],
    ],
    ids=str,
)
def test_whose_run_it_is_may_be_sent_as_an_object_its_json_or_pairs(sent: Any) -> None:
    run = BriefRequest.of({"question": "kettle", "receipt": sent}).receipt
    assert run is not None
    assert run.model_dump(exclude_none=True) == {"run_id": "r1", "actor_id": "a"}
