"""Snapshots in memory: looked after once per time to live, stale when the store fails, bounded in number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.corpora import Deployed, page, write

from lamina.contract.errors import LaminaError
from lamina.contract.ids import Revision
from lamina.contract.ports import ObjectStore, StoredObject, StoreUnavailable
from lamina.governance.manifest import required_paths
from lamina.runtime.catalogue import index_name, read_pointer
from lamina.runtime.signing import local_key
from lamina.runtime.warm import WarmSnapshots
from lamina.stores.folder import FolderStore

BASELINE = index_name(None)


@dataclass(slots=True)
class Watched:
    """A store that counts reads and fails when told to."""

    inner: ObjectStore
    reads: list[str] = field(default_factory=list)
    failing: bool = False

    def get(self, key: str) -> StoredObject | None:
        self.reads.append(key)
        if self.failing:
            raise StoreUnavailable("throttled")
        return self.inner.get(key)

    def create(self, key: str, content: bytes) -> None:
        self.inner.create(key, content)

    def replace(self, key: str, content: bytes, *, version: str | None = None) -> None:
        self.inner.replace(key, content, version=version)

    def delete(self, key: str) -> None:
        self.inner.delete(key)

    def keys(self, prefix: str) -> Iterator[str]:
        if self.failing:
            raise StoreUnavailable("throttled")
        return self.inner.keys(prefix)


@dataclass(slots=True)
class Bench:
    """A deployment with a watched store and a clock that the test moves."""

    deployed: Deployed
    store: Watched
    warm: WarmSnapshots
    wanted: list[str]
    refused: list[str]
    now: list[float]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    overlays = {name: write(tmp_path / name, {"docs/a.md": page(name)}) for name in ("one", "two", "three")}
    deployed = Deployed(tmp_path / "data", write(tmp_path / "baseline", {"docs/oak.md": page("Oak")}), overlays)
    deployed.index()
    store = Watched(FolderStore(deployed.data / "store"))
    now, wanted, refused = [0.0], [], []  # type: tuple[list[float], list[str], list[str]]
    warm = WarmSnapshots(
        store=store,
        signing_key=lambda: local_key(deployed.data / "signing.key"),
        required=required_paths(),
        ttl=60,
        max_bytes=10**9,
        on_missing=wanted.append,
        on_refused=lambda name, reason: refused.append(reason),
        clock=lambda: now[0],
    )
    return Bench(deployed, store, warm, wanted, refused, now)


def test_a_warm_call_reads_nothing_and_the_pointer_is_looked_at_once_per_time_to_live(bench: Bench) -> None:
    assert not bench.warm.current(BASELINE).cached
    first = len(bench.store.reads)
    assert first == 2
    bench.now[0] = 59.9
    assert bench.warm.current(BASELINE).cached
    assert len(bench.store.reads) == first
    bench.now[0] = 60.1
    bench.warm.current(BASELINE)
    assert len(bench.store.reads) == first + 1


def test_a_newer_snapshot_is_taken_up_after_the_time_to_live(bench: Bench) -> None:
    old = bench.warm.current(BASELINE).scopes.snapshot.revision
    write(bench.deployed.baseline, {"docs/elm.md": page("Elm")})
    bench.deployed.index()
    assert bench.warm.current(BASELINE).scopes.snapshot.revision == old
    bench.now[0] = 61
    served = bench.warm.current(BASELINE)
    assert served.scopes.snapshot.revision != old
    assert not served.stale


def test_the_old_snapshot_is_served_as_stale_while_the_store_fails(bench: Bench) -> None:
    bench.warm.current(BASELINE)
    bench.store.failing = True
    bench.now[0] = 61
    assert bench.warm.current(BASELINE).stale
    bench.store.failing = False
    assert not bench.warm.current(BASELINE).stale


def test_a_store_that_fails_before_anything_is_held_is_a_clear_error(bench: Bench) -> None:
    bench.store.failing = True
    for revision in (None, Revision("0" * 12)):
        with pytest.raises(LaminaError) as caught:
            _ = bench.warm.pinned(BASELINE, revision) if revision else bench.warm.current(BASELINE)
        assert caught.value.kind.code == "STORE_UNAVAILABLE"
        assert caught.value.retry_after is not None


def test_an_index_that_is_not_built_yet_is_asked_for(bench: Bench) -> None:
    with pytest.raises(LaminaError) as caught:
        bench.warm.current("kb-unknown")
    assert caught.value.kind.code == "INDEX_NOT_READY"
    assert bench.wanted == ["kb-unknown"]


def test_a_refused_snapshot_is_reported_and_the_older_one_goes_on_as_stale(bench: Bench) -> None:
    old = bench.warm.current(BASELINE).scopes.snapshot.revision
    write(bench.deployed.baseline, {"docs/elm.md": page("Elm")})
    bench.deployed.index()
    pointer, _ = read_pointer(bench.store, BASELINE, bench.warm.signing_key)
    assert pointer is not None
    path = bench.deployed.data / "store" / pointer.key
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    bench.now[0] = 61
    served = bench.warm.current(BASELINE)
    assert (served.scopes.snapshot.revision, served.stale) == (old, True)
    assert len(bench.refused) == 1


def test_a_refused_snapshot_with_nothing_older_is_not_ready_rather_than_wrong(bench: Bench) -> None:
    pointer, _ = read_pointer(bench.store, BASELINE, bench.warm.signing_key)
    assert pointer is not None
    path = bench.deployed.data / "store" / pointer.key
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(LaminaError) as caught:
        bench.warm.current(BASELINE)
    assert caught.value.kind.code == "INDEX_NOT_READY"
    assert len(bench.refused) == 1


def test_the_least_recently_used_snapshot_leaves_when_memory_is_full(bench: Bench) -> None:
    sizes = []
    for name in ("one", "two", "three"):
        pointer, _ = read_pointer(bench.store, index_name(name), bench.warm.signing_key)
        assert pointer is not None
        sizes.append((bench.deployed.data / "store" / pointer.key).stat().st_size)
    bench.warm.max_bytes = sum(sizes) - 1
    for name in ("one", "two", "one", "three"):
        bench.warm.current(index_name(name))
    reads = len(bench.store.reads)
    assert bench.warm.current(index_name("one")).cached
    assert bench.warm.current(index_name("three")).cached
    assert len(bench.store.reads) == reads
    assert not bench.warm.current(index_name("two")).cached


def test_a_pinned_revision_is_read_from_the_store_after_the_pointer_moved_on(bench: Bench) -> None:
    old = bench.warm.current(BASELINE).scopes.snapshot.revision
    write(bench.deployed.baseline, {"docs/elm.md": page("Elm")})
    bench.deployed.index()
    fresh = WarmSnapshots(
        store=bench.store,
        signing_key=lambda: local_key(bench.deployed.data / "signing.key"),
        required=required_paths(),
        ttl=60,
        max_bytes=10**9,
    )
    assert fresh.pinned(BASELINE, old).scopes.snapshot.revision == old


def test_a_pinned_revision_that_no_longer_exists_is_gone(bench: Bench) -> None:
    with pytest.raises(LaminaError) as caught:
        bench.warm.pinned(BASELINE, Revision("0" * 12))
    assert caught.value.kind.code == "REVISION_GONE"
