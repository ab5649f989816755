"""Snapshots: plain data out and in, documents by URI, alias and path, and their tiers."""

from __future__ import annotations

import pickle

import pytest
from tests.corpora import page

from lamina.contract.ports import SourceFile
from lamina.index.build import Edition, build
from lamina.index.sealed import seal, unseal
from lamina.index.snapshot import Origin, Snapshot

FILES = {
    "docs/a.md": page("A", "> Quoted.\n\n## Summary\n\nShort.", tags=["x", "y"], tier=1, aliases=["old://a"]),
    "docs/b.md": page("B", superseded_by="docs/a"),
    "notes/Read me.md": "No frontmatter: é, 漢字.\n",
    "empty.md": "",
}
KEY = b"k" * 32


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    files = tuple(SourceFile(path, content.encode()) for path, content in FILES.items())
    return build([Edition(Origin.BASELINE, "b" * 64, files)])[0]


def test_it_survives_being_sealed(snapshot: Snapshot) -> None:
    sealed = seal(
        snapshot.to_data(), KEY, kind="snapshot", documents=len(snapshot), revision="r", config=snapshot.config
    )
    again = Snapshot.from_data(unseal(sealed, KEY, kind="snapshot")[1])
    assert pickle.dumps(again.to_data()) == pickle.dumps(Snapshot.from_data(again.to_data()).to_data())
    for number in range(len(snapshot)):
        assert again.uris[number] == snapshot.uris[number]
        assert again.body(number) == snapshot.body(number)
        assert again.card(number) == snapshot.card(number)
        assert again.content_hash(number) == snapshot.content_hash(number)
        assert again.tags[number] == snapshot.tags[number]
    assert again.superseded_by == snapshot.superseded_by
    assert again.tokens.tolist() == snapshot.tokens.tolist()


def test_the_tiers_of_a_document_are_kept(snapshot: Snapshot) -> None:
    number = snapshot.find("docs/a")
    assert number is not None
    card = snapshot.card(number)
    assert card.blockquote == "Quoted."
    assert card.metadata == {"title": "A", "tags": ["x", "y"], "tier": 1, "aliases": ["old://a"]}
    assert card.summary_span is not None
    assert snapshot.body(number)[slice(*card.summary_span)] == "Short."
    assert FILES["docs/a.md"].endswith(snapshot.body(number))


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("kb://docs/a", "docs/a.md"),
        ("old://a", "docs/a.md"),
        ("docs/a", "docs/a.md"),
        ("docs/a.md", "docs/a.md"),
        ("/docs/a/", "docs/a.md"),
        ("notes/Read me", "notes/Read me.md"),
        ("empty", "empty.md"),
        ("", None),
        ("docs", None),
        ("docs/A", None),
        ("kb://docs/a.md", None),
        ("kb://docs/", None),
        ("other://docs/a", None),
        ("\x00", None),
        ("../docs/a", None),
    ],
)
def test_a_name_means_one_document_or_none(snapshot: Snapshot, name: str, path: str | None) -> None:
    found = snapshot.find(name)
    assert path == (None if found is None else snapshot.paths[found])
