"""Sources to snapshot: what every document is called, what is left out and why, and what need not be parsed again."""

from __future__ import annotations

import pytest
from tests.corpora import page

from lamina.contract.ports import SkippedFile, SourceFile
from lamina.corpus.config import parse_settings
from lamina.corpus.document import Document
from lamina.corpus.reading import read
from lamina.corpus.remarks import Level
from lamina.index.build import SourceRevision, build, config_digest
from lamina.index.parsed import ParseCache
from lamina.index.snapshot import Origin, Snapshot

Files = dict[str, str | bytes]


def source_revision(origin: Origin, files: Files, settings: str = "", revision: str = "b" * 64) -> SourceRevision:
    return SourceRevision(
        origin,
        revision,
        tuple(SourceFile(path, c if isinstance(c, bytes) else c.encode()) for path, c in files.items()),
        parse_settings(settings),
    )


def built(files: Files, overlay: Files | None = None, settings: str = "", overlay_settings: str = "") -> Snapshot:
    source_revisions = [source_revision(Origin.BASELINE, files, settings)]
    if overlay is not None:
        source_revisions.append(source_revision(Origin.OVERLAY, overlay, overlay_settings, "a" * 64))
    return build(source_revisions)[0]


def test_an_alias_that_two_sources_claim_is_the_overlays() -> None:
    claimed = page("Tree", aliases=["kb://old"])
    snapshot = built({"a.md": claimed}, overlay={"z.md": claimed})
    found = snapshot.find("kb://old")
    assert found is not None
    assert snapshot.paths[found] == "z.md"


def test_documents_are_numbered_in_order_of_their_uris() -> None:
    snapshot = built({"b.md": "# B\n", "a.md": "# A\n", "c/d.md": page("D", uri="kb://0")})
    assert snapshot.uris == ["kb://0", "kb://a", "kb://b"]
    assert snapshot.paths == ["c/d.md", "a.md", "b.md"]


@pytest.mark.parametrize(
    ("files", "settings", "scheme"),
    [
        ({"a.md": "# A\n"}, "", "kb"),
        ({"a.md": page("A", uri="x://1"), "b.md": "# B\n"}, "", "x"),
        ({"a.md": page("A", uri="x://1"), "b.md": "# B\n"}, "scheme: own", "own"),
        ({"a.md": page("A", uri="x://1"), "b.md": page("B", uri="y://1"), "c.md": page("C", uri="y://2")}, "", "y"),
    ],
)
def test_a_scheme_is_set_or_the_commonest_or_the_default(files: Files, settings: str, scheme: str) -> None:
    assert built(files, settings=settings).scheme == scheme


def test_an_overlay_without_a_scheme_of_its_own_takes_the_baselines() -> None:
    snapshot = built({"a.md": page("A", uri="x://1")}, overlay={"b.md": "# B\n"})
    assert snapshot.uris == ["x://1", "x://b"]


def test_both_documents_of_one_uri_are_kept_the_overlays_first() -> None:
    snapshot = built({"a.md": "# Base\n"}, overlay={"a.md": "# Over\n"})
    assert snapshot.uris == ["kb://a", "kb://a"]
    assert [str(snapshot.origin[n]) for n in (0, 1)] == ["overlay", "baseline"]
    assert snapshot.find("kb://a") == 0
    assert snapshot.find("a.md") == 0
    assert snapshot.find("a", snapshot.mask(Origin.BASELINE)) == 1


def test_a_file_that_cannot_be_indexed_is_a_reject_and_the_second_of_a_uri_has_another() -> None:
    snapshot = built(
        {
            "good.md": "# Good\n",
            "bad.md": b"\xff\xfe",
            "twin-1.md": page("Twin", uri="kb://t"),
            "twin-2.md": page("Twin", uri="kb://t"),
        }
    )
    assert snapshot.uris == ["kb://good", "kb://t", "kb://twin-2"]
    assert {reject.path: reject.reason for reject in snapshot.rejects} == {"bad.md": "not UTF-8"}
    assert [(problem.path, problem.remark.level) for problem in snapshot.problems] == [("twin-2.md", Level.ERROR)]


def test_what_a_source_skipped_is_a_reject_too() -> None:
    skipped = (SkippedFile("link.md", "symbolic link"),)
    snapshot, _ = build([SourceRevision(Origin.BASELINE, "b" * 64, (), skipped=skipped)])
    assert [(entry.path, entry.reason) for entry in snapshot.rejects] == [("link.md", "symbolic link")]
    assert len(snapshot) == 0


def test_what_is_wrong_with_a_document_is_told_and_the_document_is_there() -> None:
    snapshot = built(
        {
            "a.md": page("A", kind="poem", audience="canon", exposure="nav", tier=1),
            "b.md": page("B", superseded_by="c.md", audience="canon", exposure="nav", tier=1),
            "d.md": "no heading",
        }
    )
    told = {(problem.path, problem.remark.text) for problem in snapshot.problems}
    assert len(snapshot) == 3
    assert told == {
        ("a.md", "kind 'poem' is not one of the five; the path decides"),
        ("b.md", "superseded_by 'c.md' names no document"),
    }


def test_unchanged_files_are_not_parsed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    files: Files = {"a.md": "# A\n", "b.md": "# B\n"}
    changed: Files = {**files, "b.md": "# Changed\n", "c.md": "# C\n"}
    _, cache = build([source_revision(Origin.BASELINE, files)])
    expected = built(changed).to_data()
    parsed: list[str] = []

    def spy(path: str, content: bytes) -> tuple[Document, str]:
        parsed.append(path)
        return read(path, content)

    monkeypatch.setattr("lamina.index.build.read", spy)
    snapshot, _ = build([source_revision(Origin.BASELINE, changed)], ParseCache.from_data(cache.to_data()))
    assert parsed == ["b.md", "c.md"]
    assert snapshot.titles == ["A", "Changed", "C"]
    assert expected == snapshot.to_data()


def test_progress_is_told_of_every_file() -> None:
    told: list[tuple[int, int]] = []
    build([source_revision(Origin.BASELINE, {"a.md": "", "b.md": b"\xff"})], progress=lambda *at: told.append(at))
    assert told == [(1, 2), (2, 2)]


def test_the_revision_is_of_the_sources_and_the_config_of_their_settings() -> None:
    snapshot = built({"a.md": ""}, overlay={"b.md": ""})
    assert str(snapshot.revision) == f"{'a' * 12}.{'b' * 12}"
    settings = parse_settings("scheme: x")
    assert config_digest([settings]) != config_digest([parse_settings(None)])
    assert config_digest([settings]) == config_digest([parse_settings("scheme: x\n")])
