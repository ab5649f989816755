"""One's own machine failing: a full disk, killed processes, clocks that jump, folders that change and vanish."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from tests.bench.load import served
from tests.conftest import Deploy
from tests.corpora import CHECKOUT, Deployed, page, write
from tests.fakes.knowledge import FILES, Desk, FolderBackend
from tests.transports import handler_of, stand_before

from lamina.contract.errors import LaminaError
from lamina.contract.ports import StoreUnavailable
from lamina.indexer.builds import LEASE_SECONDS, Builder
from lamina.indexer.wiring import builder
from lamina.local.deployment import Deployment
from lamina.local.indexes import LocalIndexes
from lamina.runtime.catalogue import index_name, lease_key, pointer_key
from lamina.runtime.settings import Settings
from lamina.runtime.wiring import wire
from lamina.stores.folder import FolderStore

READING = {
    "search": {"query": "wood"},
    "catalog": {},
    "preflight": {"task": "cut wood"},
    "get": {"uri": "kb://docs/oak"},
    "resolve": {"uri": "kb://docs/oak"},
    "brief": {"question": "which wood"},
    "baseline_check": {},
}
BUILD = """
import sys
from pathlib import Path
from tests.corpora import Deployed
Deployed(Path(sys.argv[1]), Path(sys.argv[2])).index()
"""


@contextmanager
def full_disk(free: int = 0) -> Iterator[None]:
    """No file of this process may grow past `free` bytes while the block runs."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (free, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def oaks(deploy: Deploy) -> Deployed:
    """One document, indexed."""
    return deploy({"docs/oak.md": page("Oak", "Oak wood.")})


def asked() -> dict[str, dict[str, Any]]:
    """What every reading function answers in a process that has just started."""
    wire.cache_clear()
    return {name: handler_of(name)(dict(given), None) for name, given in READING.items()}


def titles(deployed: Deployed) -> list[str]:
    """The titles of the catalog in a process that has just started."""
    stand_before(deployed)
    wire.cache_clear()
    return [entry["title"] for entry in handler_of("catalog")({}, None)["data"]]


def test_every_reading_function_answers_as_before_while_the_disk_is_full(oaks: Deployed) -> None:
    stand_before(oaks)
    before = asked()
    with full_disk():
        during = asked()
    assert during == before
    assert all(envelope["status"] != "ERROR" for envelope in during.values())


def test_a_deployment_without_a_key_and_without_room_for_one_is_a_clear_503(oaks: Deployed) -> None:
    stand_before(oaks)
    (oaks.data / "signing.key").unlink()
    with full_disk():
        found = asked()
    assert {envelope.get("error_code", envelope["status"]) for envelope in found.values()} == {
        "STORE_UNAVAILABLE",
        "UNREACHABLE",
    }


def test_a_key_that_others_may_read_is_a_clear_503(oaks: Deployed) -> None:
    stand_before(oaks)
    (oaks.data / "signing.key").chmod(0o644)
    wire.cache_clear()
    event = {"httpMethod": "GET", "path": "/v1/search", "queryStringParameters": {"query": "wood"}}
    answer = handler_of("search")(event, None)
    assert (answer["statusCode"], json.loads(answer["body"])["error_code"]) == (503, "STORE_UNAVAILABLE")


def test_a_build_that_runs_out_of_disk_anywhere_leaves_the_index_as_it_was(oaks: Deployed) -> None:
    write(oaks.baseline, {"docs/elm.md": page("Elm", "Elm wood.")})
    for free in (0, 10, 1_000, 5_000, 10_000, 20_000):
        with full_disk(free):
            try:
                oaks.index()
                break
            except StoreUnavailable:
                pass
        assert titles(oaks) == ["Oak"]
    oaks.index()
    assert titles(oaks) == ["Elm", "Oak"]


def test_a_proposal_that_finds_no_room_is_unavailable_and_can_be_made_again(tmp_path: Path) -> None:
    desk = Desk(FolderBackend(tmp_path / "workspace"))
    for path, content in FILES.items():
        desk.backend.write(path, content)
    desk.initialise()
    proposal = desk.proposal()
    with full_disk():
        assert desk.answer(proposal, service=desk.service()).code == "unavailable"
    assert desk.answer(proposal, service=desk.service()).result is not None
    assert len(list(desk.running.workspace.ledger.waiting())) == 1


def test_a_damaged_counter_lets_readers_through_and_opens_no_file_more_with_each(oaks: Deployed) -> None:
    stand_before(oaks)
    wire.cache_clear()
    (oaks.data / "limits.sqlite").write_bytes(b"this is no database" * 100)
    event = {"httpMethod": "GET", "path": "/v1/get", "queryStringParameters": {"uri": "kb://docs/oak"}}
    assert handler_of("get")(event, None)["statusCode"] == 200
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - numbers, not paths
    for _ in range(30):
        assert handler_of("get")(event, None)["statusCode"] == 200
    assert len(os.listdir("/proc/self/fd")) <= before + 2  # noqa: PTH208


@pytest.mark.parametrize("content", [b"", b"{", b"null", b"[]", b'{"key": 5}', b"\xff" * 40, b"[" * 90_000])
def test_a_pointer_that_was_half_written_is_a_clear_503_and_is_built_over(oaks: Deployed, content: bytes) -> None:
    stand_before(oaks)
    (oaks.data / "store" / pointer_key(index_name(None))).write_bytes(content)
    assert {envelope.get("error_code", envelope["status"]) for envelope in asked().values()} == {
        "INDEX_NOT_READY",
        "UNREACHABLE",
    }
    oaks.index()
    assert titles(oaks) == ["Oak"]


@pytest.mark.parametrize("key", ["../../signing.key", "index/v1/../../../x.pkl", "/etc/passwd", "index/v1/.pkl/", ""])
def test_a_pointer_to_anything_but_a_snapshot_is_no_pointer(oaks: Deployed, key: str) -> None:
    path = oaks.data / "store" / pointer_key(index_name(None))
    path.write_text(json.dumps({**json.loads(path.read_text()), "key": key}))
    stand_before(oaks)
    assert asked()["search"]["error_code"] == "INDEX_NOT_READY"


def test_a_snapshot_of_another_knowledge_base_under_a_pinned_name_is_not_served(deploy: Deploy) -> None:
    deployed = deploy({"docs/oak.md": page("Oak")}, trees={"docs/elm.md": page("Elm")})
    stand_before(deployed)
    pinned = handler_of("catalog")({}, None)["revision"]
    store = deployed.data / "store" / "index"
    own, foreign = (next(store.rglob(f"{name}_*.pkl")) for name in (index_name(None), index_name("trees")))
    shutil.copy(foreign, own)
    wire.cache_clear()
    assert handler_of("catalog")({"revision": pinned}, None)["error_code"] == "REVISION_GONE"


def test_a_build_killed_at_any_moment_leaves_an_index_that_answers(oaks: Deployed) -> None:
    environment = {**os.environ, "PYTHONPATH": f"{CHECKOUT}:{CHECKOUT / 'shared'}"}
    for number in range(6):
        write(oaks.baseline, {f"docs/elm-{number}.md": page(f"Elm {number}")})
        process = subprocess.Popen([sys.executable, "-c", BUILD, oaks.data, oaks.baseline], env=environment)
        try:
            process.wait(0.25 + 0.1 * number)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
        found = titles(oaks)
        assert found == sorted([*(f"Elm {n}" for n in range(len(found) - 1)), "Oak"])
    oaks.index()
    assert len(titles(oaks)) == 7


def _builder(deployed: Deployed, now: float) -> Builder:
    return replace(builder(Settings.of(deployed.environment())), clock=lambda: now)


@pytest.mark.parametrize("until", [4_000_000_000, 1e300, float("inf"), -5, "soon", None])
def test_a_lease_of_a_clock_that_was_wrong_holds_nobody_up(oaks: Deployed, until: Any) -> None:
    store = FolderStore(oaks.data / "store")
    store.create(lease_key(index_name(None)), json.dumps({"owner": "gone", "until": until}).encode())
    assert _builder(oaks, time.time()).build(None) is not None


def test_a_lease_holds_for_its_time_and_no_longer(oaks: Deployed) -> None:
    store, now = FolderStore(oaks.data / "store"), 1_800_000_000.0
    lease = json.dumps({"owner": "other", "until": now + LEASE_SECONDS}).encode()
    store.create(lease_key(index_name(None)), lease)
    assert _builder(oaks, now).build(None) is None
    assert _builder(oaks, now + LEASE_SECONDS).build(None) is not None


def test_clocks_that_jump_neither_stop_reading_nor_give_more_bodies_than_a_minute_has(oaks: Deployed) -> None:
    stand_before(oaks)
    wire.cache_clear()
    runtime, now = wire(), [1_800_000_000.0]
    runtime.wall_clock = lambda: now[0]
    runtime.body_limit = replace(runtime.body_limit, per_minute=3, wall_clock=lambda: now[0])
    given = 0
    for jump in (0, 1, -1, 0, 59, -59, -120, 120, 0, -3600, 3600, 0):
        now[0] = 1_800_000_000.0 + jump
        assert handler_of("search")({"query": "wood"}, None)["total"] == 1
        try:
            runtime.body_limit.spend("caller")
            given += int(now[0] // 60) == 30_000_000
        except LaminaError as error:
            assert error.kind.code == "RATE_LIMITED"
            assert 1 <= (error.retry_after or 0) <= 60
    assert given <= 3


def catalog(address: tuple[str, int], **query: str) -> tuple[int, list[str]]:
    """Status and titles of a catalog over HTTP."""
    connection = HTTPConnection(*address, timeout=30)
    try:
        connection.request("GET", "/v1/catalog?" + "&".join(f"{name}={value}" for name, value in query.items()))
        response = connection.getresponse()
        envelope = json.loads(response.read())
    finally:
        connection.close()
    return response.status, [entry["title"] for entry in envelope.get("data", ())]


def eventually(holds: Callable[[], bool]) -> bool:
    """Whether something comes to hold within a minute."""
    for _ in range(600):
        if holds():
            return True
        time.sleep(0.1)
    return False


def test_two_processes_serve_one_folder_while_its_files_change_and_vanish(tmp_path: Path) -> None:
    baseline, overlay = tmp_path / "baseline", tmp_path / "overlay"
    write(baseline, {"docs/oak.md": page("Oak")})
    write(overlay, {"docs/elm.md": page("Elm")})
    deployed = Deployed(tmp_path / "unused", baseline, {"trees": overlay})
    with ExitStack() as stack:
        ports = [stack.enter_context(served(deployed, tmp_path / "data"))[0] for _ in range(2)]

        def both(expected: list[str], **query: str) -> bool:
            found = [catalog(address, **query) for address in ports]
            assert all(status == 200 for status, _ in found)
            return all(titles == expected for _, titles in found)

        assert both(["Oak"])
        write(baseline, {"docs/ash.md": page("Ash")})
        assert eventually(lambda: both(["Ash", "Oak"]))
        (baseline / "docs/oak.md").unlink()
        assert eventually(lambda: both(["Ash"]))
        shutil.move(overlay, tmp_path / "away")
        write(baseline, {"docs/yew.md": page("Yew")})
        assert eventually(lambda: both(["Ash", "Yew"]))
        assert all(status == 200 for status, _ in (catalog(port, knowledge_base_url="trees") for port in ports))
        shutil.move(tmp_path / "away", overlay)
        assert eventually(lambda: both(["Ash", "Elm", "Yew"], knowledge_base_url="trees"))


def test_a_watch_outlives_whatever_a_build_raises(oaks: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    indexes = LocalIndexes.of(Deployment(oaks.data, str(oaks.baseline)))
    raised: list[Exception] = [RuntimeError("one"), StoreUnavailable("two"), OSError("three")]

    def fail(*_: object) -> None:
        raise raised.pop()

    monkeypatch.setattr(Builder, "build", fail)
    assert [indexes._rebuild(None) for _ in range(3)] == [False, False, False]
