"""An index is published by words first and with its vectors as a new revision; only new pieces are encoded."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.corpora import Deployed, page, write
from tests.fakes.encoder import SubjectEncoder
from tests.transports import TRANSPORTS

from lamina.contract.ids import Revision
from lamina.contract.ports import Encoder
from lamina.encoders.choice import EncoderChoice
from lamina.indexer import indexing
from lamina.indexer.indexing import Built, Feed, Indexer
from lamina.runtime.catalogue import read_pointer, vectors_key
from lamina.runtime.query_vectors import QueryVectors
from lamina.runtime.signing import local_key
from lamina.runtime.wiring import Runtime
from lamina.sources.folder import FolderSource
from lamina.stores.folder import FolderStore

PAGES = {
    "board.md": page("The board", "The river is read at the board."),
    "pack.md": page("The pack", "The battery lasts five years."),
    "loaf.md": page("The loaf", "The dough goes into the oven."),
}


@dataclass(frozen=True, slots=True)
class OneEncoder(EncoderChoice):
    """A choice of one encoder, whatever the base."""

    encoder: SubjectEncoder = field(default_factory=SubjectEncoder)
    setting: str = "small"

    def for_building(self, documents: int) -> Encoder | None:
        return self.encoder

    def named(self, name: str) -> Encoder | None:
        return self.encoder if self.encoder.name == name else None


@dataclass
class Base:
    """A folder of pages, its store, and what encodes it."""

    deployed: Deployed
    choice: OneEncoder = field(default_factory=OneEncoder)

    def __post_init__(self) -> None:
        self.store = FolderStore(self.deployed.data / "store")

    def index(self, *, by_words: bool = False) -> Built:
        indexer = Indexer(self.store, lambda: local_key(self.deployed.data / "signing.key"), encoders=self.choice)
        return indexer.index(None, Feed(FolderSource(self.deployed.baseline)), None, by_words=by_words)

    def runtime(self) -> Runtime:
        runtime = self.deployed.runtime()
        runtime.query_vectors = QueryVectors(self.choice)
        return runtime


@pytest.fixture
def base(tmp_path: Path) -> Base:
    return Base(Deployed(tmp_path / "data", write(tmp_path / "pages", PAGES)))


def test_a_small_base_has_its_vectors_at_once(base: Base) -> None:
    built = base.index()
    revision = Revision.parse(built.revision)
    assert built.meaning == "ready"
    assert revision is not None
    assert revision.vectors is not None
    assert base.index() == Built("baseline", built.revision, None, unchanged=True)


def test_many_pieces_follow_as_a_new_revision(base: Base, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "FEW_PIECES", 3)
    first = base.index(by_words=True)
    assert (first.meaning, "~" in first.revision, base.choice.encoder.encoded) == ("following", False, [])
    again = base.index(by_words=True)
    assert (again.unchanged, again.meaning) == (True, "following")
    second = base.index()
    assert (second.meaning, second.revision.partition("~")[0]) == ("ready", first.revision)
    assert "~" in second.revision


def test_one_call_publishes_by_words_before_it_encodes(base: Base, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "FEW_PIECES", 3)
    seen: list[str] = []
    encode = base.choice.encoder.passages

    def passages(texts: list[str], progress: object) -> list[bytes]:
        pointer, _ = read_pointer(base.store, "baseline", base.deployed.signing_key)
        assert pointer is not None
        seen.append(pointer.revision)
        return encode(texts)

    monkeypatch.setattr(SubjectEncoder, "passages", lambda self, texts, progress: passages(texts, progress))
    built = base.index()
    assert seen == [built.revision.partition("~")[0]]
    assert built.meaning == "ready"


def test_a_changed_page_encodes_its_own_pieces_alone(base: Base) -> None:
    base.index()
    base.choice.encoder.encoded.clear()
    write(base.deployed.baseline, {"pack.md": page("The pack", "The cells last seven years.")})
    assert base.index().meaning == "ready"
    assert base.choice.encoder.encoded == ["The cells last seven years."]


def test_an_overlay_takes_the_vectors_of_the_baseline_as_they_are(base: Base, tmp_path: Path) -> None:
    base.index()
    base.choice.encoder.encoded.clear()
    overlay = write(tmp_path / "overlay", {"siren.md": page("The siren", "It tells an alarm.")})
    indexer = Indexer(base.store, lambda: local_key(base.deployed.data / "signing.key"), encoders=base.choice)
    built = indexer.index("camp", Feed(FolderSource(base.deployed.baseline)), Feed(FolderSource(overlay)))
    assert built.meaning == "ready"
    assert base.choice.encoder.encoded == ["The siren", "It tells an alarm."]


def test_an_encoder_that_fails_leaves_an_index_by_words_that_a_later_build_completes(base: Base) -> None:
    base.choice.encoder.fails = True
    built = base.index()
    assert (built.meaning, "~" in built.revision) == ("unavailable", False)
    base.choice.encoder.fails = False
    assert base.index().meaning == "ready"


def test_lost_vectors_are_made_again(base: Base) -> None:
    built = base.index()
    pointer, _ = read_pointer(base.store, "baseline", base.deployed.signing_key)
    assert pointer is not None
    base.store.delete(vectors_key(pointer.key))
    again = base.index()
    assert (again.unchanged, again.revision) == (False, built.revision)
    assert base.store.get(vectors_key(pointer.key)) is not None


def test_a_base_may_say_that_it_wants_none_and_nothing_else(base: Base) -> None:
    write(base.deployed.baseline, {".kb.yml": "encoder: none\n"})
    built = base.index()
    assert (built.meaning, "~" in built.revision, base.choice.encoder.encoded) == ("none", False, [])
    write(base.deployed.baseline, {".kb.yml": "encoder: bedrock:amazon.titan-embed-text-v2:0\n"})
    skipped = base.index().skipped
    assert [entry.path for entry in skipped] == [".kb.yml"]


def test_search_finds_in_other_words_and_an_older_page_stays_as_it_was(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "FEW_PIECES", 3)
    ask = TRANSPORTS["direct"](("", 0))
    first = base.index(by_words=True)
    before = ask.call(base.deployed, "search", {"query": "accumulator"}).envelope
    assert (before["status"], before["match"]["meaning"]) == ("NOT_FOUND", "following")
    assert (before["match"]["signal"], before["match"]["probability"]) == ("none", 0)
    base.index()
    pinned = ask.call(base.deployed, "search", {"query": "accumulator", "revision": first.revision}).envelope
    assert pinned["status"] == "NOT_FOUND"
    after = ask.call(base.deployed, "search", {"query": "accumulator"}).envelope
    assert after["match"]["meaning"] == "unavailable", "this process may use no encoder"
