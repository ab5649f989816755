"""A page that is asked for by its whole title comes first within its group."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.conftest import Ask, Corpus, Deploy
from tests.corpora import Deployed, page

KINDS = ["canon", "docs", "journals", "essays", "apocrypha"]
LOUDER = "Winter ferry timetable. " * 12
FILES = {
    "docs/ferry.md": page("Winter Ferry", "Two sentences. Nothing more."),
    "winter-ferry/winter-ferry/winter.md": page("All about the winter ferry", LOUDER, tags=["winter", "ferry"]),
    "docs/cafe.md": page("Café du Port: Öffnung", "Closed on Mondays."),
    "docs/port.md": page("Port", "Café du port, öffnung, café du port, öffnung. " * 9),
    "docs/what.md": page("What is it?", "A question."),
}


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("Winter Ferry", "kb://docs/ferry"),
        ("  winter   FERRY! ", "kb://docs/ferry"),
        ("cafe du port offnung", "kb://docs/cafe"),
        ("what is it", "kb://docs/what"),
        ("winter ferry timetable", "kb://winter-ferry/winter-ferry/winter"),
    ],
)
def test_a_whole_title_stands_first_however_it_is_written(
    deploy: Deploy, asking: Callable[[Deployed], Ask], query: str, first: str
) -> None:
    reply = asking(deploy(FILES))("search", query=query)
    assert reply.uris[0] == first


def test_of_several_pages_with_one_title_the_better_match_stands_first(
    deploy: Deploy, asking: Callable[[Deployed], Ask]
) -> None:
    files = {
        "docs/a.md": page("Anchor", "Something else."),
        "docs/b.md": page("Anchor", "The anchor holds. An anchor is heavy."),
        "docs/c.md": page("Anchors and chains", "anchor " * 50),
    }
    reply = asking(deploy(files))("search", query="anchor")
    assert reply.uris[:2] == ["kb://docs/b", "kb://docs/a"]


def test_an_overlay_still_stands_above_a_baseline_page_of_that_title(
    deploy: Deploy, asking: Callable[[Deployed], Ask]
) -> None:
    deployed = deploy({"docs/ferry.md": page("Winter Ferry")}, trees={"docs/oak.md": page("Oak", "The winter ferry.")})
    reply = asking(deployed)("search", query="Winter Ferry", knowledge_base_url="trees")
    assert [entry["source"] for entry in reply.envelope["data"]] == ["overlay", "baseline"]


def test_an_alias_counts_as_a_title(deploy: Deploy, asking: Callable[[Deployed], Ask]) -> None:
    files = {
        "docs/crossing.md": page("Crossings", "Boats.", aliases=["Winter Ferry"]),
        "winter-ferry/winter.md": page("All about the winter ferry", LOUDER, tags=["winter", "ferry"]),
    }
    assert asking(deploy(files))("search", query="winter  ferry").uris[0] == "kb://docs/crossing"


def test_a_title_is_found_among_hundreds_that_begin_with_it(deploy: Deploy, asking: Callable[[Deployed], Ask]) -> None:
    files = {f"docs/notes-{n}.md": page(f"Release notes {n}", "release notes") for n in range(260)}
    files["docs/zz.md"] = page("Release notes", "Where they are.")
    assert asking(deploy(files))("search", query="Release notes").uris[0] == "kb://docs/zz"


def test_every_title_of_a_corpus_finds_its_page(corpus: Corpus, asking: Callable[[Deployed], Ask]) -> None:
    ask = asking(corpus.deployed)
    listed = ask("catalog", include=KINDS, limit=120).envelope["data"]
    first = {
        entry["title"]: ask("search", query=entry["title"], include=KINDS, limit=1).envelope["data"][0]["title"]
        for entry in listed
    }
    assert len(first) > 20
    assert {title: found for title, found in first.items() if title.casefold() != found.casefold()} == {}
