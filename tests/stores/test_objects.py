"""One suite for every object store, then what is particular to a folder."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.aws import BUCKET, fake_bucket

from lamina.contract.ports import AlreadyExists, ObjectStore, StoreUnavailable
from lamina.stores.folder import FolderStore
from lamina.stores.s3 import S3Store


@pytest.fixture
def s3() -> Iterator[Any]:
    with fake_bucket() as client:
        yield client


@pytest.fixture(params=["folder", "s3", "s3 below a prefix"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    if request.param == "folder":
        return FolderStore(tmp_path / "store")
    client = request.getfixturevalue("s3")
    client.put_object(Bucket=BUCKET, Key="other/key", Body=b"someone else's")
    return S3Store(client, BUCKET, "tenant/") if "prefix" in request.param else S3Store(client, BUCKET, "t-")


def content(store: ObjectStore, key: str) -> bytes | None:
    found = store.get(key)
    return None if found is None else found.content


def test_what_is_written_is_read_back_byte_for_byte(store: ObjectStore) -> None:
    body = bytes(range(256)) * 1000
    store.create("index/v1/a.pkl", body)
    store.create("empty", b"")
    assert content(store, "index/v1/a.pkl") == body
    assert content(store, "empty") == b""


def test_a_missing_key_is_none(store: ObjectStore) -> None:
    store.create("a/b", b"x")
    assert [store.get("c"), store.get("a"), store.get("a/b/c"), store.get("d/e/f")] == [None] * 4


def test_creating_a_key_twice_loses_and_changes_nothing(store: ObjectStore) -> None:
    store.create("key", b"first")
    with pytest.raises(AlreadyExists):
        store.create("key", b"second")
    assert content(store, "key") == b"first"


def test_replacing_writes_over_anything_and_over_nothing(store: ObjectStore) -> None:
    store.replace("key", b"first")
    store.replace("key", b"second")
    assert content(store, "key") == b"second"


def test_replacing_a_version_needs_exactly_that_version(store: ObjectStore) -> None:
    store.create("key", b"first")
    first = store.get("key")
    assert first is not None
    store.replace("key", b"second", version=first.version)
    with pytest.raises(AlreadyExists):
        store.replace("key", b"third", version=first.version)
    assert content(store, "key") == b"second"


def test_replacing_a_version_of_a_key_that_is_gone_loses(store: ObjectStore) -> None:
    store.create("key", b"first")
    first = store.get("key")
    assert first is not None
    store.delete("key")
    with pytest.raises(AlreadyExists):
        store.replace("key", b"second", version=first.version)
    assert store.get("key") is None


def test_deleting_removes_a_key_and_does_not_mind_a_missing_one(store: ObjectStore) -> None:
    store.create("a/b", b"x")
    for key in ("a/b", "a/b", "never", "a"):
        store.delete(key)
    assert store.get("a/b") is None
    store.create("a/b", b"again")


def test_keys_are_listed_by_prefix_in_ascending_order(store: ObjectStore) -> None:
    names = ["b", "a/2", "a/10", "a-b", "a/c/d", "ab", "Z", "é", "日本"]
    for name in names:
        store.create(name, b"x")
    assert list(store.keys("")) == sorted(names)
    assert list(store.keys("a")) == ["a-b", "a/10", "a/2", "a/c/d", "ab"]
    assert list(store.keys("a/")) == ["a/10", "a/2", "a/c/d"]
    assert list(store.keys("a/1")) == ["a/10"]
    assert list(store.keys("none/such")) == []


BAD_KEYS = ["", "/a", "a/", "a//b", "../a", "a/../b", "./a", ".hidden", "a/.b", "a\\b", "a\0b", "a\nb", "x" * 1000]


@pytest.mark.parametrize("key", BAD_KEYS)
def test_a_key_that_could_lead_elsewhere_is_refused_by_every_method(store: ObjectStore, key: str) -> None:
    calls: list[Callable[[], object]] = [
        lambda: store.get(key),
        lambda: store.create(key, b""),
        lambda: store.replace(key, b""),
        lambda: store.delete(key),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="not a key"):
            call()


def test_of_forty_that_create_one_key_at_once_one_wins(store: ObjectStore) -> None:
    def create(n: int) -> int | None:
        try:
            store.create("contested", str(n).encode())
        except AlreadyExists:
            return None
        return n

    with ThreadPoolExecutor(40) as threads:
        winners = [n for n in threads.map(create, range(40)) if n is not None]
    assert len(winners) == 1
    assert content(store, "contested") == str(winners[0]).encode()


def test_no_count_is_lost_when_many_replace_by_version(store: ObjectStore) -> None:
    store.create("count", b"0")

    def increment(_: int) -> None:
        while True:
            found = store.get("count")
            assert found is not None
            try:
                store.replace("count", str(int(found.content) + 1).encode(), version=found.version)
            except AlreadyExists:
                continue
            return

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(increment, range(24)))
    assert content(store, "count") == b"24"


INCREMENT = """
import sys
from pathlib import Path
from lamina.contract.ports import AlreadyExists
from lamina.stores.folder import FolderStore
store = FolderStore(Path(sys.argv[1]))
try:
    store.create("contested", sys.argv[2].encode())
    print("won")
except AlreadyExists:
    pass
for _ in range(10):
    while True:
        found = store.get("count")
        try:
            store.replace("count", str(int(found.content) + 1).encode(), version=found.version)
            break
        except AlreadyExists:
            pass
"""


def start(program: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": ":".join(filter(None, sys.path))},
    )


def test_conditions_hold_across_processes(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    store.create("count", b"0")
    children = [start(INCREMENT, str(tmp_path), str(n)) for n in range(4)]
    outputs = [child.communicate()[0] for child in children]
    assert "".join(outputs) == "won\n"
    assert content(store, "count") == b"40"


KILLED = """
import os, signal, sys
from pathlib import Path
from lamina.stores.folder import FolderStore
def die(*arguments):
    os.kill(os.getpid(), signal.SIGKILL)
setattr(os, sys.argv[2], die)
FolderStore(Path(sys.argv[1])).replace("key", b"new" * 100000)
"""


@pytest.mark.parametrize("moment", ["fsync", "replace"])
def test_a_process_killed_while_it_writes_leaves_the_old_content_and_no_lock(tmp_path: Path, moment: str) -> None:
    store = FolderStore(tmp_path)
    store.create("key", b"old")
    child = start(KILLED, str(tmp_path), moment)
    child.communicate()
    assert child.returncode == -signal.SIGKILL
    assert content(store, "key") == b"old"
    assert list(store.keys("")) == ["key"]
    store.replace("key", b"newer")
    assert content(store, "key") == b"newer"


def test_what_a_killed_process_left_is_swept_away_in_time(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    store.create("key", b"old")
    left = tmp_path / ".writing" / "left"
    left.write_bytes(b"half")
    os.utime(left, (0, 0))
    store.replace("key", b"new")
    assert list((tmp_path / ".writing").iterdir()) == []


def test_readers_see_the_old_or_the_new_and_never_a_part(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    bodies = {letter * 300_000 for letter in (b"a", b"b")}
    store.create("key", b"a" * 300_000)

    def write(n: int) -> None:
        store.replace("key", (b"a", b"b")[n % 2] * 300_000)

    with ThreadPoolExecutor(2) as threads:
        writing = [threads.submit(write, n) for n in range(30)]
        seen = [content(store, "key") for _ in range(200)]
        for entry in writing:
            entry.result()
    assert set(seen) <= bodies


def test_files_and_folders_are_for_their_owner_alone(tmp_path: Path) -> None:
    root = tmp_path / "deep" / "store"
    FolderStore(root).create("a/b/c", b"x")
    below = list(root.rglob("*"))
    assert {stat.S_IMODE(path.stat().st_mode) for path in below if path.is_file()} == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in [root, *below] if path.is_dir()} == {0o700}


def test_a_key_cannot_be_a_folder_of_other_keys_too(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    store.create("a/b", b"x")
    store.create("f", b"x")
    for key in ("a", "f/g"):
        with pytest.raises(ValueError, match="file and folder"):
            store.create(key, b"x")


def test_a_disk_that_refuses_is_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    store = FolderStore(tmp_path)
    store.create("key", b"old")
    monkeypatch.setattr("lamina.stores.folder.os.fsync", full)
    with pytest.raises(StoreUnavailable, match="No space left"):
        store.replace("key", b"new")
    assert content(store, "key") == b"old"
