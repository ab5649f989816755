"""One address for every way to write it: which document a name means, and which are spelled like one that is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.corpora import page
from tests.index.test_build import built

from lamina.corpus.address import bare, encoded, spellings
from lamina.index.nearest import nearest
from lamina.index.snapshot import Snapshot

_LIBRARY = {
    "docs/my note.md": "# Spaced\n",
    "docs/Café.md": "# Composed\n",
    "docs/日本語.md": "# Japanese\n",
    "docs/a%20b.md": "# Percent\n",
    "docs/a&b+c.md": "# Marks\n",
    "docs/a:b.md": "# Colon\n",
    "docs/what is C#.md": "# Sharp\n",
    "docs/FAQ?.md": "# Faq\n",
    "docs/Foo.md": "# Upper\n",
    "docs/foo.md": "# Lower\n",
    "docs/Heat Pump.md": "# The heat pump\n\n## Setup\n\nPlug it in.\n",
    "pump/index.md": "Pumps.\n",
    "pump/README.md": "# About pumps\n",
    "valve/_index.md": "Valves.\n",
    "README.md": "# Root\n",
    "docs/new.md": page(
        "Tidal gates",
        aliases=["TGX", "Old tide page", "/old/tide/"],
        redirect_from="/legacy/tide",
        permalink="/gates/",
        slug="tidal",
    ),
    "own/a.md": page("Own", uri="other://x/y"),
}


@pytest.fixture(scope="module")
def library() -> Snapshot:
    return built(dict(_LIBRARY), settings="scheme: kb")


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("kb://docs/my%20note", "docs/my note.md"),
        ("kb://docs/my note", "docs/my note.md"),
        ("docs/my%20note.md", "docs/my note.md"),
        ("docs/my note", "docs/my note.md"),
        ("./docs/my note.md", "docs/my note.md"),
        ("/docs/my note/", "docs/my note.md"),
        ("docs//my note", "docs/my note.md"),
        ("docs/../docs/my note", "docs/my note.md"),
        ("kb://DOCS/MY%20NOTE", "docs/my note.md"),
        ("docs/Cafe\u0301.md", "docs/Café.md"),
        ("kb://docs/Caf\u00e9", "docs/Café.md"),
        ("kb://docs/Caf%C3%A9", "docs/Café.md"),
        ("kb://docs/Cafe%CC%81", "docs/Café.md"),
        ("kb://docs/%E6%97%A5%E6%9C%AC%E8%AA%9E", "docs/日本語.md"),
        ("kb://docs/日本語", "docs/日本語.md"),
        ("docs/a%20b.md", "docs/a%20b.md"),
        ("docs/a%20b", "docs/a%20b.md"),
        ("kb://docs/a%2520b", "docs/a%20b.md"),
        ("docs/a&b+c", "docs/a&b+c.md"),
        ("kb://docs/a%26b%2Bc", "docs/a&b+c.md"),
        ("docs/a:b.md", "docs/a:b.md"),
        ("docs/what is C#", "docs/what is C#.md"),
        ("kb://docs/what%20is%20C%23", "docs/what is C#.md"),
        ("docs/FAQ?", "docs/FAQ?.md"),
        ("docs/Foo", "docs/Foo.md"),
        ("docs/foo", "docs/foo.md"),
        ("Heat Pump", "docs/Heat Pump.md"),
        ("heat pump", "docs/Heat Pump.md"),
        ("[[Heat Pump#Setup|x]]", "docs/Heat Pump.md"),
        ("![[Heat Pump]]", "docs/Heat Pump.md"),
        ("docs/Heat Pump#Setup", "docs/Heat Pump.md"),
        ("The heat pump", "docs/Heat Pump.md"),
        ("pump", "pump/index.md"),
        ("kb://pump/", "pump/index.md"),
        ("pump/README", "pump/README.md"),
        ("valve", "valve/_index.md"),
        ("kb://valve", "valve/_index.md"),
        ("TGX", "docs/new.md"),
        ("tgx", "docs/new.md"),
        ("Old tide page", "docs/new.md"),
        ("old/tide", "docs/new.md"),
        ("/old/tide/", "docs/new.md"),
        ("/legacy/tide/", "docs/new.md"),
        ("gates", "docs/new.md"),
        ("tidal", "docs/new.md"),
        ("docs/tidal", "docs/new.md"),
        ("other://x/y", "own/a.md"),
        ("own/a", "own/a.md"),
        ("kb://own/a", "own/a.md"),
    ],
)
def test_every_way_to_write_a_name_means_one_document(library: Snapshot, name: str, path: str) -> None:
    found = library.find(name)
    assert found is not None
    assert library.paths[found] == path


@pytest.mark.parametrize(
    "name", ["docs/nowhere", "kb://nowhere", "other://docs/foo", "elsewhere/Heat Pump", "", "#", "/../x"]
)
def test_a_name_that_means_nothing_finds_nothing(library: Snapshot, name: str) -> None:
    assert library.find(name) is None


def test_the_uri_of_a_list_is_the_shortest_way_to_its_document(library: Snapshot) -> None:
    for number, uri in enumerate(library.uris):
        assert library.find(uri) == number
        assert library.find(library.paths[number]) == number


def test_a_title_that_two_pages_bear_is_no_address() -> None:
    snapshot = built({"a.md": "# Twins\n", "b.md": "# Twins\n"})
    assert snapshot.find("Twins") is None


def test_a_wiki_name_means_the_page_nearest_the_root() -> None:
    snapshot = built({"z/z/note.md": "# Deep\n", "y/note.md": "# Shallow\n"})
    found = snapshot.find("note")
    assert found is not None
    assert snapshot.paths[found] == "y/note.md"


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("a b.md", "a%20b"),
        ("real] Real — x.md", "real%5D%20Real%20%E2%80%94%20x"),
        ("日本語/メモ.md", "日本語/メモ"),
        ("Cafe\u0301.md", "Caf\u00e9"),
        ("a\u202eb.md", "a%E2%80%AEb"),
        ("it's.md", "it%27s"),
        ("v1.2_x~y-z.md", "v1.2_x~y-z"),
    ],
)
def test_a_path_becomes_a_uri_that_forges_nothing(path: str, uri: str) -> None:
    assert encoded(path.removesuffix(".md")) == uri


@given(st.text(max_size=40))
def test_a_name_and_its_encoded_form_are_compared_as_one(path: str) -> None:
    assert bare(path.replace("%", "").replace("\\", "")) in spellings(encoded(path.replace("%", "").replace("\\", "")))


def test_what_is_misspelled_is_offered_first_by_its_spelling() -> None:
    snapshot = built(
        {
            "canon/principles/vodka-architecture.md": "# Vodka\n",
            "canon/principles/architecture.md": "# Architecture\n",
            "canon/principles/other.md": "# Architecture of principles in the canon of vodka\n",
            "odd/vodka.md": "# Vodka\n",
        }
    )
    for name in ("kb://canon/principles/vodka-architectur", "canon/principle/vodka-architecture", "vodka-architekture"):
        first = nearest(name, snapshot.uris, snapshot.paths, 3)[0]
        assert snapshot.paths[first] == "canon/principles/vodka-architecture.md"
    assert nearest("kb://something/else/entirely", snapshot.uris, snapshot.paths, 3) == []
    assert nearest("x" * 600, snapshot.uris, snapshot.paths, 3) == []


def test_the_published_page_has_the_uri_that_several_claim_and_each_answers_by_its_path() -> None:
    snapshot = built(
        {
            "a.md": page("Placeholder", uri="kb://same", exposure="draft"),
            "b.md": page("Essay", uri="kb://same", exposure="public"),
            "c.md": page("Plain", uri="kb://same"),
        }
    )
    assert [
        snapshot.titles[n] for name in ("kb://same", "a.md", "b.md", "c.md") if (n := snapshot.find(name)) is not None
    ] == [
        "Essay",
        "Placeholder",
        "Essay",
        "Plain",
    ]
    assert len(set(snapshot.uris)) == 3
