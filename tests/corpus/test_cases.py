"""The small inputs that once went wrong, asked through the actions: skipped where they are not at hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.corpora import CHECKOUT, NOT_AT_HAND, Deployed
from tests.transports import TRANSPORTS

CASES = CHECKOUT.parent / "shared" / "cases" / "markdown"
_KINDS = ["canon", "docs", "journals", "essays", "apocrypha"]

Asking = Callable[..., dict[str, Any]]
Base = Callable[[str], Asking]


@pytest.fixture
def base(tmp_path: Path) -> Base:
    """Indexes a case and gives what asks it."""
    if not CASES.is_dir():
        pytest.skip(NOT_AT_HAND)

    def asked(name: str) -> Asking:
        deployed = Deployed(tmp_path / name, CASES / name)
        deployed.index()

        def ask(action: str, **arguments: Any) -> dict[str, Any]:
            envelope: dict[str, Any] = TRANSPORTS["direct"](("", 0)).call(deployed, action, arguments).envelope
            return envelope

        return ask

    return asked


def titles(envelope: dict[str, Any]) -> list[str]:
    return [entry["title"] for entry in envelope["data"]]


def got(ask: Asking, name: str, **arguments: Any) -> Any:
    envelope = ask("get", uri=name, **arguments)
    assert envelope["status"] == "FOUND", name
    return envelope["data"]


@pytest.mark.parametrize(
    ("case", "word", "path"),
    [
        ("01-second-block", "zephyrine", "a"),
        ("02-leading-break", "quokkafold", "a"),
        ("02-leading-break", "wallabyte", "b"),
        ("02-leading-break", "numbatcher", "c"),
        ("03-bad-yaml", "Ferry: winter table", "bad"),
        ("05-bom-crlf", "marsupix", "cr"),
        ("08-ja", "水道料金", "a"),
        ("08-ja", "データ", "c"),
        ("08-ja", "البيانات", "ar"),
        ("08-ja", "데이터베이스", "ko"),
        ("08-ja", "配置", "zh"),
        ("11-ext", "mdxonlyword", "a"),
        ("11-ext", "mkdonlyword", "d"),
        ("11-ext", "mdownonlyword", "e"),
        ("11-ext", "markdownonlyword", "f"),
        ("11-ext", "upperonlyword", "g"),
        ("11-ext", "qmdonlyword", "i"),
        ("12-headings", "gapword", "adm"),
        ("20-odd", "capword", "short"),
        ("20-odd", "noteword", "short"),
        ("20-odd", "nulword", "nul"),
        ("20-odd", "footword", "footnote"),
        ("20-odd", "onlyfmword", "fm"),
        ("20-odd", "frobnicate_widget", "codeonly"),
        ("20-odd", "row3777", "table"),
        ("21-empty-mdx-site", "mdxsite", "docs/a"),
    ],
)
def test_what_a_page_says_is_found_and_given(base: Base, case: str, word: str, path: str) -> None:
    ask = base(case)
    found = ask("search", query=word)
    uris = [entry["uri"].partition("://")[2] for entry in found["data"]]
    assert path in uris or got(ask, path)["uri"] in [entry["uri"] for entry in found["data"]]


def test_what_opens_like_frontmatter_and_is_none_is_in_the_body(base: Base) -> None:
    ask = base("02-leading-break")
    for name, word in (("a", "quokkafold"), ("b", "wallabyte"), ("c", "numbatcher")):
        assert word in got(ask, name)["body"]
    assert titles(ask("catalog")) == ["Moth garden", "Second garden", "Third garden"]


def test_one_bad_value_costs_no_other(base: Base) -> None:
    ask = base("03-bad-yaml")
    assert got(ask, "harbor://ferry")["title"] == "Ferry: winter table"
    assert titles(ask("catalog", tags="boat")) == ["Ferry: winter table"]
    assert titles(ask("catalog", tags="ice")) == ["Frost log"]
    assert got(ask, "each")["title"] == "Loop"
    problems = {problem["path"]: problem for problem in ask("baseline-check")["data"]["problems"]}
    assert {path: problems[path]["line"] for path in ("bad.md", "baddate.md", "percent.md", "tmpl.md")} == {
        "bad.md": 2,
        "baddate.md": 3,
        "percent.md": 3,
        "tmpl.md": 2,
    }


def test_pages_are_in_order_of_time_and_the_unreadable_last(base: Base) -> None:
    listed = titles(base("04-dates")("catalog", sort_by="date", order="desc"))
    numbers = [title.split()[0] for title in listed]
    assert numbers == ["D0", "D10", "D8", "D7", "D3", "D1", "D2", "D9", "D4", "D11", "D6", "D5"] or numbers == [
        *["D0", "D10", "D8", "D7", "D3", "D1", "D2", "D9", "D4"],
        *["D6", "D11", "D5"],
    ]


def test_other_frontmatter_gives_the_same(base: Base) -> None:
    ask = base("09-toml")
    kiln = got(ask, "old/kiln", disclosure=["blockquote", "metadata", "body"])
    assert (kiln["title"], kiln["blockquote"], kiln["metadata"]["date"]) == (
        "Kiln firing",
        "Slow then fast.",
        "2024-05-01",
    )
    assert "+++" not in kiln["body"]
    assert sorted(titles(ask("catalog", tags="clay"))) == ["Glaze recipes", "Kiln firing"]


def test_a_folder_is_its_index(base: Base) -> None:
    ask = base("10-folder-index")
    assert [got(ask, name)["title"] for name in ("pump", "kb://pump/", "valve", "pump/deep")] == [
        "pump",
        "pump",
        "valve",
        "Deep pump",
    ]
    assert got(ask, "pump")["uri"] == "kb://pump/index"


def test_formats_that_are_not_read_are_counted_and_named(base: Base) -> None:
    ask = base("11-ext")
    missing = ask("get", uri="b.rst")
    assert missing["status"] == "NOT_FOUND"
    assert ".rst" in missing["reason"]
    groups = {group["topic"]: group for group in ask("baseline-check")["data"]["groups"]}
    assert groups["unread-format"]["count"] == 2


def test_a_section_is_found_by_its_id(base: Base) -> None:
    ask = base("12-headings")
    for section in ("mast", "set-up-the-mast", "Set up the mast", "sail", "-launch", "config--env-vars-faq"):
        assert got(ask, "cid", section=section)["body"].startswith("## ")


def test_tags_are_one_however_they_are_written(base: Base) -> None:
    ask = base("14-tags")
    every = {"T case", "T csv", "T inline", "T kw", "T map", "T nested", "T obs", "T ok", "T single", "T space"}
    assert set(titles(ask("catalog", tags="alpha"))) == every
    assert set(titles(ask("catalog", tags="#ALPHA"))) == every
    assert titles(ask("catalog", tags="project")) == ["T obs"]
    assert titles(ask("catalog", tags="1.10")) == ["T year"]


def test_every_name_is_fetched_by_what_lists_give_and_by_its_path(base: Base) -> None:
    for case in ("15-names", "23-mcp-uris"):
        ask = base(case)
        for entry in ask("catalog", limit=100)["data"]:
            assert got(ask, entry["uri"])["title"] == entry["title"]
    ask = base("15-names")
    for name in ("my note", "kb://my%20note", "MY NOTE.md", "caf\u00e9", "Cafe\u0301.md", "a:b.md", "it's", "a%20b.md"):
        assert got(ask, name)["title"]
    assert got(ask, "Foo.md")["title"] == "Upper Foo"
    assert got(ask, "foo.md")["title"] == "Lower foo"


@pytest.mark.parametrize(
    "name", ["TGX", "tgx", "Old tide page", "/old/tide/", "old/tide", "/legacy/tide", "gates", "tidal"]
)
def test_an_alias_is_an_address(base: Base, name: str) -> None:
    assert got(base("16-alias"), name)["title"] == "Tidal gates"


def test_what_is_no_page_for_everybody_has_a_filter(base: Base) -> None:
    ask = base("17-draft")
    assert sorted(titles(ask("catalog", exposure="draft"))) == ["Draft plan", "Exposed draft", "Unpub"]
    assert sorted(titles(ask("catalog", exposure="hidden"))) == ["Hid", "Noindex"]


def test_every_way_to_be_superseded_leads_to_the_successor(base: Base) -> None:
    ask = base("18-adr")
    for number in ("0001-rabbit", "0002-redis", "0003-sqs", "0004-nats", "0006-zmq", "0007-mq", "0010-ok", "0011-abs"):
        answer = ask("resolve", uri=f"docs/adr/{number}.md")
        assert answer["status"] == "FOUND", number
        assert answer["data"]["title"] == "Use Kafka", number
    assert ask("resolve", uri="docs/adr/0012-gone.md")["status"] == "NOT_FOUND"
    assert titles(ask("catalog", exclude_invalidated=True)) == ["Use Kafka"]
    told = [problem["path"] for problem in ask("baseline-check")["data"]["problems"]]
    assert told == ["docs/adr/0012-gone.md"]


def test_both_pages_of_one_uri_are_reached_by_their_paths(base: Base) -> None:
    ask = base("19-dups")
    assert [got(ask, name)["title"] for name in ("kb://same", "u1.md", "u2.md", "x.md", "x.markdown")] == [
        "Same one",
        "Same one",
        "Same two",
        "X",
        "X two",
    ]
    levels = {problem["path"]: problem["level"] for problem in ask("baseline-check")["data"]["problems"]}
    assert levels == {"u2.md": "error", "x.md": "error"}


def test_no_case_is_fatal(base: Base) -> None:
    for folder in sorted(path.name for path in CASES.iterdir() if path.is_dir()):
        ask = base(folder)
        listed = ask("catalog", limit=500, include=_KINDS)
        assert listed["status"] in ("FOUND", "NOT_FOUND")
        assert ask("baseline-check")["status"] == "COMPLETE"
