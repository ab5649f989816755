"""get and resolve: which document a name means, its sections, what superseded it, and how absence is told."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from tests.conftest import Ask, Corpus, Deploy
from tests.corpora import page
from tests.transports import Reply, Transport

KINDS = ["canon", "docs", "journals", "essays", "apocrypha"]

LIBRARY: dict[str, str | bytes] = {
    "docs/start.md": page("Start", "> Begin here.\n\n## Summary\n\nShort.\n\n## Next\n\nLong.", start_here=True),
    "docs/renamed.md": page("Renamed", aliases=["kb://docs/old-name", "docs/older-name", "legacy://x"]),
    "docs/own.md": page("Own", uri="other://a/b"),
    "docs/broken.md": b"# Broken\n\n\xff\xfe is not UTF-8\n",
    "docs/twin-a.md": page("Twin A", uri="kb://twin"),
    "docs/twin-b.md": page("Twin B", uri="kb://twin"),
    "notes/Start.markdown": "# Other suffix\n",
    "writings/Ünïcode näme.md": page("Ünïcode"),
}


@pytest.mark.parametrize(
    ("name", "uri"),
    [
        ("kb://docs/start", "kb://docs/start"),
        ("docs/start.md", "kb://docs/start"),
        ("docs/start", "kb://docs/start"),
        ("/docs/start.md", "kb://docs/start"),
        ("kb://docs/renamed", "kb://docs/renamed"),
        ("kb://docs/old-name", "kb://docs/renamed"),
        ("docs/older-name", "kb://docs/renamed"),
        ("legacy://x", "kb://docs/renamed"),
        ("other://a/b", "other://a/b"),
        ("docs/own", "other://a/b"),
        ("kb://twin", "kb://twin"),
        ("kb://writings/Ünïcode näme", "kb://writings/Ünïcode%20näme"),
        ("writings/Ünïcode näme.md", "kb://writings/Ünïcode%20näme"),
    ],
)
@pytest.mark.parametrize("action", ["get", "resolve"])
def test_a_document_answers_to_its_uri_its_aliases_and_its_path(
    transport: Transport, deploy: Deploy, action: str, name: str, uri: str
) -> None:
    reply = transport.call(deploy(LIBRARY), action, {"uri": name})
    assert reply.envelope["status"] == "FOUND"
    assert reply.envelope["data"]["uri"] == uri
    if action == "resolve":
        chain = [{"uri": uri, "title": reply.envelope["data"]["title"]}]
        assert chain == reply.envelope["supersession_chain"]


def test_a_body_is_the_file_after_its_frontmatter_and_the_hash_is_of_the_whole_file(
    corpus: Corpus, asking: Any
) -> None:
    ask: Ask = asking(corpus.deployed)
    for fact in corpus.facts[::7]:
        raw = (corpus.deployed.baseline / fact.path).read_bytes()
        data = ask("get", uri=fact.uri).envelope["data"]
        assert raw.decode().endswith(data["body"])
        assert hashlib.sha256(raw).hexdigest() == data["content_hash"]


@pytest.mark.parametrize("with_overlay", [False, True])
def test_every_uri_that_a_list_returns_can_be_fetched(corpus: Corpus, asking: Any, with_overlay: bool) -> None:
    ask: Ask = asking(corpus.deployed)
    extra = {"knowledge_base_url": corpus.overlay} if with_overlay else {}
    for scope in ({}, {"search_scope": "kb_only"}, {"search_scope": "kb_with_required_baseline"}):
        if scope and not with_overlay:
            continue
        for offset in (0, 500):
            for uri in ask("catalog", limit=500, offset=offset, include=KINDS, **extra, **scope).uris:
                reply = ask("get", uri=uri, disclosure=[], **extra)
                assert reply.envelope["data"]["uri"] == uri
        for uri in ask("preflight", task=corpus.task, limit=50, **extra, **scope).uris:
            assert ask("get", uri=uri, disclosure=[], **extra).envelope["data"]["uri"] == uri


def test_the_overlay_shadows_the_baseline_under_the_same_uri(transport: Transport, deploy: Deploy) -> None:
    deployed = deploy(
        {"docs/a.md": page("Baseline A"), "docs/b.md": page("Baseline B")},
        project={"docs/a.md": page("Overlay A"), ".kb.yml": "scheme: kb\n"},
    )
    listed = transport.call(deployed, "catalog", {"knowledge_base_url": "project"}).envelope["data"]
    assert [(entry["title"], entry["source"]) for entry in listed] == [
        ("Overlay A", "overlay"),
        ("Baseline B", "baseline"),
    ]
    got = transport.call(deployed, "get", {"uri": "kb://docs/a", "knowledge_base_url": "project"}).envelope["data"]
    assert (got["title"], got["source"]) == ("Overlay A", "overlay")
    alone = transport.call(deployed, "get", {"uri": "kb://docs/a"}).envelope["data"]
    assert alone["title"] == "Baseline A"
    assert "source" not in alone


def test_a_tier_that_is_asked_for_and_missing_is_null(transport: Transport, deploy: Deploy) -> None:
    deployed = deploy({"docs/bare.md": "Nothing but text.\n", "docs/empty.md": "---\n---\n", "docs/none.md": ""})
    flags = ["blockquote", "metadata", "summary", "body"]
    bare = transport.call(deployed, "get", {"uri": "docs/bare", "disclosure": flags}).envelope["data"]
    assert [bare[flag] for flag in flags] == [None, None, None, "Nothing but text.\n"]
    assert bare["title"] == "bare"
    empty = transport.call(deployed, "get", {"uri": "docs/empty", "disclosure": flags}).envelope["data"]
    assert [empty[flag] for flag in flags] == [None, {}, None, ""]
    none = transport.call(deployed, "get", {"uri": "docs/none", "disclosure": flags}).envelope["data"]
    assert [none[flag] for flag in flags] == [None, None, None, ""]
    listed = transport.call(deployed, "catalog", {"disclosure": flags[:3]}).envelope["data"]
    assert all({"blockquote", "metadata", "summary"} <= set(entry) for entry in listed)


SECTIONS = page(
    "Manual",
    "Intro.\n\n## Setting *up*\n\nOne.\n\n### Tools\n\nTwo.\n\n## Use\n\nThree.\n\n```\n## Not a heading\n```\n\n"
    "## Tools\n\nFour.\n\n## What's new? (2025)\n\nFive.\n\nUnderlined\n----------\n\nSix.",
)


@pytest.mark.parametrize(
    ("section", "first", "last"),
    [
        ("Setting up", "## Setting *up*", "Two."),
        ("setting-up", "## Setting *up*", "Two."),
        ("SETTING UP", "## Setting *up*", "Two."),
        ("## Setting up", "## Setting *up*", "Two."),
        ("Tools", "### Tools", "Two."),
        ("tools", "### Tools", "Two."),
        ("tools-1", "## Tools", "Four."),
        ("Use", "## Use", "```"),
        ("whats-new-2025", "## What's new? (2025)", "Five."),
        ("What's new? (2025)", "## What's new? (2025)", "Five."),
        ("Underlined", "Underlined", "Six."),
        ("Manual", "# Manual", "Six."),
    ],
)
@pytest.mark.parametrize("action", ["get", "resolve"])
def test_a_section_narrows_the_body_to_it_and_its_subsections(
    transport: Transport, deploy: Deploy, action: str, section: str, first: str, last: str
) -> None:
    reply = transport.call(deploy({"docs/m.md": SECTIONS}), action, {"uri": "docs/m", "section": section})
    lines = reply.envelope["data"]["body"].strip().split("\n")
    assert (lines[0], lines[-1]) == (first, last)


def test_an_unknown_section_is_told_the_headings_there_are(transport: Transport, deploy: Deploy) -> None:
    deployed = deploy({"docs/m.md": SECTIONS, "docs/n.md": "No heading.\n"})
    reply = transport.call(deployed, "get", {"uri": "docs/m", "section": "Not a heading"})
    assert reply.envelope["error_code"] == "SECTION_NOT_FOUND"
    assert reply.envelope["headings"] == [
        "Manual",
        "Setting up",
        "Tools",
        "Use",
        "Tools",
        "What's new? (2025)",
        "Underlined",
    ]
    assert reply.status in (None, 404)
    none = transport.call(deployed, "get", {"uri": "docs/n", "section": "Use"}).envelope
    assert none["headings"] == []
    assert "no headings" in none["error_message"]


def not_found(reply: Reply) -> dict[str, Any]:
    assert reply.status in (None, 404)
    assert reply.envelope["status"] == "NOT_FOUND"
    assert reply.envelope["data"] is None
    return reply.envelope


@pytest.mark.parametrize("action", ["get", "resolve"])
def test_an_absent_document_is_answered_with_what_may_have_been_meant(
    sample: Corpus, transport: Transport, action: str
) -> None:
    for wrong in (
        "rill://canon/constraints/definition-of-don",
        "definitoin of done",
        "rill://constraints/definition-of-done",
        "docs/definition_of_done.md",
    ):
        meant = not_found(transport.call(sample.deployed, action, {"uri": wrong}))["did_you_mean"]
        assert len(meant) <= 3
        assert "rill://canon/constraints/definition-of-done" in meant, wrong
        for uri in meant:
            assert transport.call(sample.deployed, "get", {"uri": uri}).envelope["status"] == "FOUND"


def test_nothing_near_is_no_suggestion(sample: Corpus, transport: Transport) -> None:
    envelope = not_found(transport.call(sample.deployed, "get", {"uri": "kb://zzqq/xxyyww"}))
    assert envelope["did_you_mean"] == []
    assert "reason" not in envelope


@pytest.mark.parametrize("name", ["docs/broken.md", "docs/broken", "kb://docs/broken"])
def test_a_file_that_is_there_but_not_readable_is_told_so(transport: Transport, deploy: Deploy, name: str) -> None:
    envelope = not_found(transport.call(deploy(LIBRARY), "get", {"uri": name}))
    assert "docs/broken.md" in envelope["reason"]
    assert "UTF-8" in envelope["reason"]


def test_a_second_file_of_one_uri_answers_by_its_path(transport: Transport, deploy: Deploy) -> None:
    deployed = deploy(LIBRARY)
    assert transport.call(deployed, "get", {"uri": "kb://twin"}).envelope["data"]["title"] == "Twin A"
    for name in ("docs/twin-b.md", "docs/twin-b", "kb://docs/twin-b"):
        found = transport.call(deployed, "get", {"uri": name}).envelope["data"]
        assert (found["title"], found["uri"]) == ("Twin B", "kb://docs/twin-b")


CHAINS: dict[str, str | bytes] = {
    "docs/one.md": page("One", superseded_by="kb://docs/two"),
    "docs/two.md": page("Two", superseded_by="docs/three.md"),
    "docs/three.md": page("Three", superseded_by="docs/four"),
    "docs/four.md": page("Four", aliases=["kb://docs/vier"]),
    "docs/to-alias.md": page("To alias", superseded_by="kb://docs/vier"),
    "docs/self.md": page("Self", superseded_by="docs/self.md"),
    "docs/ring-a.md": page("Ring A", superseded_by="docs/ring-b"),
    "docs/ring-b.md": page("Ring B", superseded_by="docs/ring-c"),
    "docs/ring-c.md": page("Ring C", superseded_by="docs/ring-b"),
    "docs/dangling.md": page("Dangling", superseded_by="docs/nowhere.md"),
    "docs/prose.md": page("Prose", superseded_by="the new way of doing it"),
    "docs/null.md": page("Null", superseded_by=None),
}


def chain(reply: Reply) -> list[str]:
    return [link["title"] for link in reply.envelope["supersession_chain"]]


@pytest.mark.parametrize(
    ("name", "titles"),
    [
        ("docs/one", ["One", "Two", "Three", "Four"]),
        ("kb://docs/three", ["Three", "Four"]),
        ("docs/four.md", ["Four"]),
        ("docs/to-alias", ["To alias", "Four"]),
        ("kb://docs/vier", ["Four"]),
        ("docs/null", ["Null"]),
    ],
)
def test_resolve_follows_what_supersedes_a_document_to_its_end(
    transport: Transport, deploy: Deploy, name: str, titles: list[str]
) -> None:
    reply = transport.call(deploy(CHAINS), "resolve", {"uri": name})
    assert reply.envelope["status"] == "FOUND"
    assert titles == chain(reply)
    assert reply.envelope["data"]["title"] == titles[-1]
    assert f"# {titles[-1]}" in reply.envelope["data"]["body"]


def test_get_gives_the_document_itself_superseded_or_not(transport: Transport, deploy: Deploy) -> None:
    assert transport.call(deploy(CHAINS), "get", {"uri": "docs/one"}).envelope["data"]["title"] == "One"


@pytest.mark.parametrize(
    ("name", "titles"),
    [("docs/self", ["Self", "Self"]), ("docs/ring-a", ["Ring A", "Ring B", "Ring C", "Ring B"])],
)
def test_a_circle_is_told_with_its_links(transport: Transport, deploy: Deploy, name: str, titles: list[str]) -> None:
    reply = transport.call(deploy(CHAINS), "resolve", {"uri": name})
    assert reply.envelope["status"] == "CIRCULAR_SUPERSESSION"
    assert reply.status in (None, 409)
    assert reply.envelope["data"] is None
    assert titles == chain(reply)


@pytest.mark.parametrize("name", ["dangling", "prose"])
def test_a_chain_into_nothing_is_told_with_its_links(transport: Transport, deploy: Deploy, name: str) -> None:
    envelope = not_found(reply := transport.call(deploy(CHAINS), "resolve", {"uri": f"docs/{name}"}))
    assert [name.capitalize()] == chain(reply)
    assert envelope["superseded_by"] in envelope["reason"]


def test_a_path_in_an_overlay_means_its_own_document_first(transport: Transport, deploy: Deploy) -> None:
    deployed = deploy(
        {"docs/new.md": page("Baseline new", uri="kb://base-new")},
        project={
            "docs/old.md": page("Old", superseded_by="docs/new.md", uri="kb://over-old"),
            "docs/new.md": page("Overlay new", uri="kb://over-new"),
        },
    )
    arguments = {"uri": "kb://over-old", "knowledge_base_url": "project"}
    reply = transport.call(deployed, "resolve", arguments)
    assert chain(reply) == ["Old", "Overlay new"]
    assert reply.envelope["data"]["source"] == "overlay"


def test_refuted_documents_can_be_left_out(transport: Transport, deploy: Deploy) -> None:
    deployed = deploy(
        {
            "docs/a.md": page("A"),
            "docs/b.md": page("B", superseded_by="docs/a"),
            "docs/c.md": page("C", invalidated=True),
            "docs/d.md": page("D", status="Refuted"),
        }
    )
    assert len(transport.call(deployed, "catalog", {}).uris) == 4
    reply = transport.call(deployed, "catalog", {"exclude_invalidated": True})
    assert reply.uris == ["kb://docs/a"]
    assert reply.envelope["filters_applied"]["exclude_invalidated"] == [True]


def test_the_older_fields_come_only_when_asked_for(corpus: Corpus, transport: Transport) -> None:
    def legacy(action: str, **arguments: Any) -> dict[str, Any]:
        plain = transport.call(corpus.deployed, action, arguments).envelope
        assert "legacy" not in plain
        older = transport.call(corpus.deployed, action, {**arguments, "include_legacy_envelope": True}).envelope
        assert {name: older[name] for name in plain} == plain
        assert set(older) - {"hits", "content"} == {*plain, "legacy"}
        fields: dict[str, Any] = older["legacy"]
        return fields

    catalog = legacy("catalog", limit=3)
    assert set(catalog) == {"categories", "start_here", "total_documents"}
    assert catalog["total_documents"] == len(corpus.facts)
    search = legacy("search", query=corpus.query, limit=3)
    assert set(search) == {"hits", "docs_considered"}
    assert len(search["hits"]) == 3
    assert search["docs_considered"] == len(corpus.facts)
    preflight = legacy("preflight", task=corpus.task)
    assert set(preflight) == {"start_here", "constraints", "dod"}
    assert preflight["dod"]["role"] == "definition_of_done"
    assert {item["role"] for item in preflight["constraints"]} == {"constraint"}
    uri = corpus.facts[5].uri
    got = legacy("get", uri=uri)
    assert got == {"content": transport.call(corpus.deployed, "get", {"uri": uri}).envelope["data"]["body"]}
