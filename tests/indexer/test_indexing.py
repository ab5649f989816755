"""Builds: what they write, what they leave alone when they fail, and that two at once come to one index."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.corpora import Deployed, page, write

from lamina.contract.ports import SourceTree, SourceUnavailable
from lamina.governance.manifest import required_paths
from lamina.index import build as build_module
from lamina.index.signed import FORMAT, verify
from lamina.index.snapshot import Snapshot
from lamina.indexer.builds import LEASE_SECONDS, Builder, _process
from lamina.indexer.indexing import KEPT_SNAPSHOTS, Feed, Indexer
from lamina.indexer.wiring import builder
from lamina.runtime.catalogue import index_name, lease_key, pointer_key, read_pointer
from lamina.runtime.settings import Settings
from lamina.runtime.signing import local_key
from lamina.sources.folder import FolderSource
from lamina.stores.folder import FolderStore

FILES = {f"docs/{name}.md": page(name.title(), f"About {name}.") for name in ("oak", "elm", "ash")}


def _deployed(root: Path) -> Deployed:
    return Deployed(root / "data", write(root / "baseline", FILES))


def _store(deployed: Deployed) -> FolderStore:
    return FolderStore(deployed.data / "store")


def _indexer(deployed: Deployed) -> Indexer:
    return Indexer(_store(deployed), lambda: local_key(deployed.data / "signing.key"))


def _builder(deployed: Deployed) -> Builder:
    return builder(Settings.of(deployed.environment()))


def _snapshots(deployed: Deployed) -> list[str]:
    return [key for key in _store(deployed).keys(f"index/v{FORMAT}/") if key.endswith(".pkl") and "/parsed/" not in key]


def test_a_snapshot_is_written_under_its_revisions_and_the_pointer_names_it_with_its_digest(tmp_path: Path) -> None:
    deployed = _deployed(tmp_path)
    built = _indexer(deployed).index(None, Feed(FolderSource(deployed.baseline)), None)
    pointer, _ = read_pointer(_store(deployed), index_name(None), _indexer(deployed).signing_key)
    assert pointer is not None
    assert built.documents == 3
    assert pointer.key.startswith(f"index/v{FORMAT}/baseline_-_{built.revision}_")
    manifest, data = verify(
        (deployed.data / "store" / pointer.key).read_bytes(), local_key(deployed.data / "signing.key"), kind="snapshot"
    )
    assert manifest.documents == 3 + len(required_paths())
    assert len(Snapshot.from_data(data)) == manifest.documents


def test_unchanged_sources_are_not_built_again(tmp_path: Path) -> None:
    deployed = _deployed(tmp_path)
    feed = Feed(FolderSource(deployed.baseline))
    assert not _indexer(deployed).index(None, feed, None).unchanged
    before = _snapshots(deployed)
    assert _indexer(deployed).index(None, feed, None).unchanged
    assert _snapshots(deployed) == before


def test_unchanged_files_are_not_parsed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deployed = _deployed(tmp_path)
    _indexer(deployed).index(None, Feed(FolderSource(deployed.baseline)), None)
    write(deployed.baseline, {"docs/oak.md": page("Oak", "Rewritten."), "docs/fir.md": page("Fir")})
    parsed: list[str] = []
    from lamina.corpus.reading import read

    def counted(path: str, content: bytes) -> object:
        parsed.append(path)
        return read(path, content)

    monkeypatch.setattr(build_module, "read", counted)
    built = _indexer(deployed).index(None, Feed(FolderSource(deployed.baseline)), None)
    assert built.documents == 4
    assert parsed.count("docs/oak.md") == 1
    assert parsed.count("docs/fir.md") == 1
    assert "docs/elm.md" not in parsed


def test_an_incremental_build_gives_the_bytes_of_a_fresh_one(tmp_path: Path) -> None:
    first, second = _deployed(tmp_path / "a"), _deployed(tmp_path / "b")
    first.index()
    for deployed in (first, second):
        write(deployed.baseline, {"docs/oak.md": page("Oak", "Rewritten.", tags=["tree"])})
        deployed.index()
    contents = []
    for deployed in (first, second):
        pointer, _ = read_pointer(_store(deployed), index_name(None), _indexer(deployed).signing_key)
        assert pointer is not None
        sealed = (deployed.data / "store" / pointer.key).read_bytes()
        contents.append(verify(sealed, local_key(deployed.data / "signing.key"), kind="snapshot")[1])
    assert contents[0] == contents[1]


def test_changed_settings_make_a_new_snapshot_of_the_same_revision(tmp_path: Path) -> None:
    deployed = _deployed(tmp_path)
    plain = _indexer(deployed).index(None, Feed(FolderSource(deployed.baseline)), None)
    laid_over = _indexer(deployed).index(None, Feed(FolderSource(deployed.baseline), "kinds: {docs/: essays}"), None)
    assert laid_over.revision == plain.revision
    assert len(_snapshots(deployed)) == 2


def test_settings_that_do_not_fit_are_told_and_the_rest_is_indexed(tmp_path: Path) -> None:
    deployed = _deployed(tmp_path)
    write(deployed.baseline, {".kb.yml": "kinds: {docs/: stories}"})
    built = _indexer(deployed).index(None, Feed(FolderSource(deployed.baseline)), None)
    assert built.documents == 3
    assert [entry.path for entry in built.skipped] == [".kb.yml"]


def test_a_subfolder_and_ignored_paths_are_left_out(tmp_path: Path) -> None:
    deployed = _deployed(tmp_path)
    write(deployed.baseline, {"kb/docs/yew.md": page("Yew"), "kb/drafts/x.md": page("X")})
    settings = "subfolder: kb\nignore: [drafts/]\nscheme: wood"
    _indexer(deployed).index(None, Feed(FolderSource(deployed.baseline), settings), None)
    reading = deployed.runtime().warm.current(index_name(None)).scopes.snapshot
    assert [uri for uri in reading.uris if "canon" not in uri and "odd/" not in uri] == ["wood://docs/yew"]


class _FailingSource:
    """A source whose archive cannot be had."""

    url = "https://github.com/o/r"

    def revision(self) -> str:
        return "f" * 40

    def fetch(self, revision: str) -> SourceTree:
        raise SourceUnavailable("the archive is cut off")


def test_a_failed_build_leaves_the_pointer_as_it_was(tmp_path: Path) -> None:
    deployed = _deployed(tmp_path)
    deployed.index()
    before = _store(deployed).get(pointer_key(index_name(None)))
    with pytest.raises(SourceUnavailable):
        _indexer(deployed).index(None, Feed(_FailingSource()), None)
    assert _store(deployed).get(pointer_key(index_name(None))) == before


def _corrupted(content: bytes) -> dict[str, bytes]:
    middle = len(content) // 2
    return {
        "tampered": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :],
        "truncated": content[:middle],
        "unsigned": content[-middle:],
        "empty": b"",
    }


@pytest.mark.parametrize("damage", ["tampered", "truncated", "unsigned", "empty", "wrong key"])
def test_a_refused_snapshot_is_left_for_inspection_and_rebuilt_beside(tmp_path: Path, damage: str) -> None:
    deployed = _deployed(tmp_path)
    deployed.index()
    pointer, _ = read_pointer(_store(deployed), index_name(None), _indexer(deployed).signing_key)
    assert pointer is not None
    path = deployed.data / "store" / pointer.key
    content = path.read_bytes()
    if damage == "wrong key":
        (deployed.data / "signing.key").unlink()
        content = path.read_bytes()
    else:
        content = _corrupted(content)[damage]
        path.chmod(0o600)
        path.write_bytes(content)
    deployed.index()
    moved, _ = read_pointer(_store(deployed), index_name(None), _indexer(deployed).signing_key)
    assert moved is not None
    assert moved.key == pointer.key.replace(".pkl", ".r1.pkl")
    assert path.read_bytes() == content
    assert deployed.runtime().warm.current(index_name(None)).scopes.snapshot.find("docs/oak") is not None


def test_a_damaged_pointer_is_mended_by_the_next_build(tmp_path: Path) -> None:
    deployed = _deployed(tmp_path)
    deployed.index()
    _store(deployed).replace(pointer_key(index_name(None)), b"{broken")
    deployed.index()
    assert deployed.runtime().warm.current(index_name(None)).scopes.snapshot.find("docs/oak") is not None


def test_old_snapshots_are_removed_once_enough_newer_ones_are_kept(tmp_path: Path) -> None:
    deployed = _deployed(tmp_path)
    for number in range(KEPT_SNAPSHOTS + 4):
        write(deployed.baseline, {"docs/oak.md": page("Oak", f"Version {number}.")})
        deployed.index()
    assert len(_snapshots(deployed)) == KEPT_SNAPSHOTS + 1


def _index_in_child(root: str, barrier: Callable[[], object]) -> None:
    barrier()
    deployed = Deployed(Path(root) / "data", Path(root) / "baseline")
    _indexer(deployed).index(None, Feed(FolderSource(deployed.baseline)), None)


def test_indexers_at_once_come_to_one_snapshot_and_one_pointer(tmp_path: Path) -> None:
    deployed = _deployed(tmp_path)
    local_key(deployed.data / "signing.key")
    context = multiprocessing.get_context("spawn")
    gate = context.Barrier(3)
    children = [context.Process(target=_index_in_child, args=(str(tmp_path), gate.wait)) for _ in range(3)]
    for child in children:
        child.start()
    for child in children:
        child.join(60)
    assert [child.exitcode for child in children] == [0, 0, 0]
    pointer, _ = read_pointer(_store(deployed), index_name(None), _indexer(deployed).signing_key)
    assert pointer is not None
    assert _snapshots(deployed) == [pointer.key]
    assert deployed.runtime().warm.current(index_name(None)).scopes.snapshot.find("docs/oak") is not None


_KILLED = """
import os, pathlib, sys, time
from tests.corpora import Deployed
from lamina.stores.folder import FolderStore
deployed = Deployed(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
create = FolderStore.create
def slow(self, key, content):
    print("writing", flush=True)
    time.sleep(60)
    create(self, key, content)
FolderStore.create = slow
deployed.index()
"""


def test_a_build_killed_in_the_middle_leaves_the_old_index_serving(tmp_path: Path) -> None:
    deployed = _deployed(tmp_path)
    deployed.index()
    old = deployed.runtime().warm.current(index_name(None)).scopes.snapshot.revision
    write(deployed.baseline, {"docs/oak.md": page("Oak", "Rewritten.")})
    root = Path(__file__).resolve().parents[2]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), str(root / "shared")])}
    child = subprocess.Popen(
        [sys.executable, "-c", _KILLED, str(deployed.data), str(deployed.baseline)],
        stdout=subprocess.PIPE,
        env=environment,
    )
    assert child.stdout is not None
    assert child.stdout.readline().strip() == b"writing"
    child.send_signal(signal.SIGKILL)
    child.wait(10)
    child.stdout.close()
    assert deployed.runtime().warm.current(index_name(None)).scopes.snapshot.revision == old
    deployed.index()
    assert deployed.runtime().warm.current(index_name(None)).scopes.snapshot.revision != old


def test_only_one_build_of_an_index_runs_at_a_time(tmp_path: Path) -> None:
    deployed = _deployed(tmp_path)
    made = _builder(deployed)
    inner: list[object] = []
    outer = made.build(None, lambda done, total: inner.append(_builder(deployed).build(None)))
    assert outer is not None
    assert inner
    assert set(inner) == {None}
    assert _store(deployed).get(lease_key(index_name(None))) is None


def test_a_lease_whose_owner_died_runs_out(tmp_path: Path) -> None:
    deployed = _deployed(tmp_path)
    made = _builder(deployed)
    now = time.time()
    lease = {"owner": "somebody", "until": now + LEASE_SECONDS}
    made.store.create(lease_key(index_name(None)), json.dumps(lease).encode())
    assert made.build(None) is None
    later = Builder(
        made.store, made.indexer, made.opener, made.baseline, made.allow, clock=lambda: now + LEASE_SECONDS + 1
    )
    assert later.build(None) is not None


def _held_by(process: list[object]) -> bytes:
    return json.dumps({"owner": "somebody", "until": time.time() + LEASE_SECONDS, "process": process}).encode()


def test_a_lease_of_a_process_that_was_killed_is_over_at_once(tmp_path: Path) -> None:
    deployed = _deployed(tmp_path)
    made = _builder(deployed)
    key = lease_key(index_name(None))
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        held = _process(other.pid)
        made.store.create(key, _held_by(held))
        assert made.build(None) is None, "it lives, and may build for as long as it renews"
        other.kill()
    assert made.build(None) is not None
    for gone in (held, [socket.gethostname(), os.getpid(), "0"]):
        made.store.replace(key, _held_by(gone))
        assert made.build(None) is not None, "another process bears that number now"


@pytest.mark.parametrize("process", [["another-machine", 1, None], [socket.gethostname(), 0, None], ["x"], "x", None])
def test_a_lease_whose_process_cannot_be_looked_at_runs_its_time(tmp_path: Path, process: Any) -> None:
    made = _builder(_deployed(tmp_path))
    made.store.create(lease_key(index_name(None)), _held_by(process))
    assert made.build(None) is None


def test_a_local_build_names_its_process(tmp_path: Path) -> None:
    deployed = _deployed(tmp_path)
    named: list[object] = []

    def look(done: int, total: int | None) -> None:
        stored = _store(deployed).get(lease_key(index_name(None)))
        assert stored is not None
        named.append(json.loads(stored.content)["process"])

    assert builder(Settings.of(deployed.environment())).build(None, look) is not None
    assert named[0] == _process(os.getpid())
