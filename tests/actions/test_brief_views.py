"""For any corpus, question and bound: the four views of a brief name one set in one order, in the same bytes again."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.corpora import write

from lamina.actions.action import QueryContext
from lamina.actions.brief import BriefRequest, brief
from lamina.contract.envelope import compact
from lamina.contract.filters import KINDS
from lamina.governance.manifest import required_paths
from lamina.index.build import SourceRevision, build
from lamina.index.snapshot import Origin
from lamina.ranking.scope import Scopes
from lamina.sources.folder import FolderSource

WORDS = ("kettle", "teapot", "water", "whistle", "hook", "café", "E0031.2", "湯沸かし", "camp_fire", "the")
FOLDERS = ("docs", "canon", "odd", "writings", "canon/apocrypha")

sentences = st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join)
titles = st.one_of(
    sentences, st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=30), st.just("a\u2028b] — [c")
)
bodies = st.one_of(sentences, st.text(st.characters(exclude_categories=["Cs"]), max_size=300))
frontmatter = st.fixed_dictionaries(
    {"title": titles},
    optional={
        "status": st.sampled_from(["refuted", "active", "retracted"]),
        "invalidated": st.booleans(),
        "superseded_by": st.just("docs/x"),
        "tags": st.lists(st.sampled_from(["hot", "cold"]), max_size=2),
    },
)
paths = st.tuples(st.sampled_from(FOLDERS), st.sampled_from([*WORDS, "two words"])).map(
    lambda entry: "/".join(entry) + ".md"
)
documents = st.tuples(frontmatter, bodies).map(
    lambda entry: f"---\n{yaml.safe_dump(entry[0], allow_unicode=True)}---\n\n{entry[1]}\n"
)
corpora = st.dictionaries(paths, documents, min_size=1, max_size=8)
questions = st.one_of(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join), st.text(min_size=1, max_size=20)
).filter(lambda text: text.replace("\x00", " ").strip() != "")
options = st.fixed_dictionaries(
    {},
    optional={
        "limit": st.integers(1, 25),
        "max_chars": st.integers(0, 900),
        "exclude_invalidated": st.booleans(),
        "kinds": st.lists(st.sampled_from(list(KINDS)), min_size=1, max_size=5),
        "tags": st.lists(st.sampled_from(["hot", "cold"]), max_size=2),
        "result_grouping": st.sampled_from(["merged", "overlay_first", "grouped", "overlay_preferred"]),
    },
)


def _source_revision(origin: Origin, files: Mapping[str, str]) -> SourceRevision:
    with tempfile.TemporaryDirectory() as name:
        source = FolderSource(write(Path(name), files))
        tree = source.fetch(source.revision())
    return SourceRevision(origin, tree.revision, tree.files)


def _asked(
    baseline: Mapping[str, str], overlay: Mapping[str, str] | None, question: str, chosen: Mapping[str, Any]
) -> tuple[dict[str, Any], QueryContext]:
    source_revisions = [_source_revision(Origin.BASELINE, baseline)]
    arguments = {"question": question, **chosen}
    if overlay is not None:
        source_revisions.insert(0, _source_revision(Origin.OVERLAY, overlay))
        arguments["knowledge_base_url"] = "camp"
    context = QueryContext(Scopes(build(source_revisions)[0], required_paths()), None if overlay is None else "camp")
    return brief(BriefRequest.of(arguments), context).envelope, context


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(corpora, st.none() | corpora, questions, options)
def test_the_four_views_of_a_brief_always_agree(
    baseline: Mapping[str, str], overlay: Mapping[str, str] | None, question: str, chosen: Mapping[str, Any]
) -> None:
    envelope, context = _asked(baseline, overlay, question, chosen)
    data, snapshot = envelope["data"], context.snapshot
    uris = [hit["uri"] for hit in data["hits"]]
    assert data["citation_ids"] == uris
    assert [entry["id"] for entry in data["results"]] == uris
    assert [entry["rank"] for entry in data["results"]] == list(range(1, len(uris) + 1))
    lines = data["text"].splitlines()
    assert len(lines) == len(uris)
    for line, hit, result in zip(lines, data["hits"], data["results"], strict=True):
        title = " ".join(hit["title"].split())
        passage = " ".join(hit["snippet"].split())
        assert line == f"- [{hit['uri']}] {title}" + (f" — {passage}" if passage else "")
        assert (result["score"], result["snippet"], result["origin"]) == (hit["score"], hit["snippet"], hit["source"])
        number = snapshot.find(hit["uri"])
        assert number is not None
        assert result["digest"] == snapshot.content_hash(number)
        if chosen.get("exclude_invalidated", True):
            assert not snapshot.invalidated[number]
    assert len(data["text"]) <= chosen.get("max_chars", len(data["text"]))
    assert len(uris) <= chosen.get("limit", 5)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(corpora, st.none() | corpora, questions, options)
def test_documents_read_in_another_order_give_the_same_bytes(
    baseline: Mapping[str, str], overlay: Mapping[str, str] | None, question: str, chosen: Mapping[str, Any]
) -> None:
    backwards = dict(reversed(list(baseline.items())))
    first, _ = _asked(baseline, overlay, question, chosen)
    second, _ = _asked(backwards, overlay, question, chosen)
    assert compact(first["data"]) == compact(second["data"])


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(corpora, questions, st.integers(0, 900))
def test_a_bound_shows_a_beginning_of_what_is_shown_without_it(
    baseline: Mapping[str, str], question: str, bound: int
) -> None:
    whole, _ = _asked(baseline, None, question, {})
    bounded, _ = _asked(baseline, None, question, {"max_chars": bound})
    count = len(bounded["data"]["results"])
    assert bounded["data"]["results"] == whole["data"]["results"][:count]
    assert whole["data"]["text"].startswith(bounded["data"]["text"])
    if count < len(whole["data"]["results"]):
        following = "\n".join(whole["data"]["text"].split("\n")[: count + 1])
        assert len(following) > bound
