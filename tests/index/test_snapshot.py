"""Snapshots: plain data out and in, documents by URI, alias and path, and their tiers."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.corpora import page

from lamina.contract.ports import SourceFile
from lamina.index.arrays import from_plain, packed, to_plain, unpacked
from lamina.index.build import SourceRevision, build
from lamina.index.signed import SnapshotRefused, sign, verify
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
    return build([SourceRevision(Origin.BASELINE, "b" * 64, files)])[0]


def test_it_survives_being_sealed(snapshot: Snapshot) -> None:
    sealed = sign(
        snapshot.to_data(), KEY, kind="snapshot", documents=len(snapshot), revision="r", config=snapshot.config
    )
    again = Snapshot.from_data(verify(sealed, KEY, kind="snapshot")[1])
    assert pickle.dumps(again.to_data()) == pickle.dumps(Snapshot.from_data(again.to_data()).to_data())
    for number in range(len(snapshot)):
        assert again.uris[number] == snapshot.uris[number]
        assert again.body(number) == snapshot.body(number)
        assert again.preview(number) == snapshot.preview(number)
        assert again.content_hash(number) == snapshot.content_hash(number)
        assert again.tags[number] == snapshot.tags[number]
    assert again.successors == snapshot.successors
    assert again.links == snapshot.links
    assert again.problems == snapshot.problems
    assert again.tokens.tolist() == snapshot.tokens.tolist()


def test_the_tiers_of_a_document_are_kept(snapshot: Snapshot) -> None:
    number = snapshot.find("docs/a")
    assert number is not None
    preview = snapshot.preview(number)
    assert preview.blockquote == "Quoted."
    assert preview.metadata == {"title": "A", "tags": ["x", "y"], "tier": 1, "aliases": ["old://a"]}
    assert preview.summary_span is not None
    assert snapshot.body(number)[slice(*preview.summary_span)] == "Short."
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
        ("docs/A", "docs/a.md"),
        ("kb://docs/a.md", "docs/a.md"),
        ("kb://docs/", None),
        ("other://docs/a", None),
        ("\x00", None),
        ("../docs/a", None),
    ],
)
def test_a_name_means_one_document_or_none(snapshot: Snapshot, name: str, path: str | None) -> None:
    found = snapshot.find(name)
    assert path == (None if found is None else snapshot.paths[found])


def _longer(plain: Any) -> Any:
    """An array, or a packed one, with one number more."""
    if isinstance(plain[0], tuple):
        return packed(np.append(unpacked(plain, np.int64), 1))
    return to_plain(np.append(from_plain(plain), from_plain(plain)[:1], axis=0))


WRONG: dict[str, Callable[[dict[str, Any]], None]] = {
    "a row too many": lambda data: data["postings"].update(row_sizes=_longer(data["postings"]["row_sizes"])),
    "a frequency too many": lambda data: data["postings"].update(frequencies=_longer(data["postings"]["frequencies"])),
    "a length too many": lambda data: data["postings"].update(
        lengths=_longer(data["postings"]["lengths"]), head_lengths=_longer(data["postings"]["head_lengths"])
    ),
    "a head too many": lambda data: data["postings"].update(head_lengths=_longer(data["postings"]["head_lengths"])),
    "documents that there are not": lambda data: data["postings"].update(
        document_gaps=packed(unpacked(data["postings"]["document_gaps"], np.int64) + 900)
    ),
    "a document twice in a row": lambda data: data["postings"].update(
        document_gaps=packed(np.minimum(unpacked(data["postings"]["document_gaps"], np.int64), 0))
    ),
    "no frequencies": lambda data: data["postings"].update(
        frequencies=packed(unpacked(data["postings"]["frequencies"], np.int64) * 0)
    ),
    "another type": lambda data: data["postings"].update(
        lengths=(("<u4", *data["postings"]["lengths"][0][1:]), *data["postings"]["lengths"][1:])
    ),
    "a place below zero": lambda data: data["postings"].update(
        lengths=(data["postings"]["lengths"][0], to_plain(np.array([-1])), to_plain(np.array([7])))
    ),
    "places of another type": lambda data: data["postings"].update(
        lengths=(data["postings"]["lengths"][0], to_plain(np.array([True])), to_plain(np.array([7])))
    ),
    "an origin too many": lambda data: data.update(origin=(data["origin"][0], _longer(data["origin"][1]))),
    "an origin out of range": lambda data: data.update(
        origin=(data["origin"][0], to_plain(from_plain(data["origin"][1]) + np.uint8(9)))
    ),
    "tokens of one tier": lambda data: data.update(tokens=to_plain(from_plain(data["tokens"])[:, :1])),
    "a title that is none": lambda data: data.update(titles=[None, *data["titles"][1:]]),
    "a path too few": lambda data: data.update(paths=data["paths"][1:]),
    "a body of text": lambda data: data.update(bodies=(data["bodies"][0], ["", *data["bodies"][1][1:]])),
    "a date too few": lambda data: data.update(dates=data["dates"][1:]),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_signed_data_that_does_not_fit_together_is_refused(wrong: str, snapshot: Snapshot) -> None:
    data = snapshot.to_data()
    Snapshot.from_data(data)
    WRONG[wrong](data)
    with pytest.raises(SnapshotRefused):
        Snapshot.from_data(data)
