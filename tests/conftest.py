"""What the tests share: the sample and the real corpora, indexed once a session, and every transport to them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest
from hypothesis import settings
from tests.corpora import NOT_AT_HAND, REAL, SAMPLES, Deployed, Fact, facts, unpacked, write
from tests.transports import TRANSPORTS, Reply, Transport, as_described, running_gateway

# How long an example takes is no matter of correctness, and a busy machine must not fail it.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

Files = Mapping[str, str | bytes]


class Ask(Protocol):
    """Calls an action with arguments."""

    def __call__(self, action: str, /, **arguments: Any) -> Reply: ...


class Deploy(Protocol):
    """Writes and indexes a small corpus."""

    def __call__(self, files: Files, /, **overlays: Files) -> Deployed: ...


@dataclass(frozen=True, slots=True)
class Corpus:
    """A deployment with what the contract's checks need to know of it; `overlay` is the name of its only one."""

    deployed: Deployed
    overlay: str
    scheme: str
    query: str
    task: str
    facts: tuple[Fact, ...]


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """The sample knowledge base and the project laid over it."""
    deployed = Deployed(
        tmp_path_factory.mktemp("sample"),
        SAMPLES / "handbook",
        {"gauge-firmware": SAMPLES / "gauge-firmware"},
    )
    deployed.index()
    known = tuple(facts(deployed.baseline, "rill", ignored="templates/"))
    return Corpus(deployed, "gauge-firmware", "rill", "gauge battery", "Write a notice about a flood", known)


@pytest.fixture(scope="session")
def real(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """The two real repositories; tests that need them skip where they are not at hand."""
    if not REAL.is_dir():
        pytest.skip(NOT_AT_HAND)
    folder = tmp_path_factory.mktemp("real")
    deployed = Deployed(
        folder / "data",
        unpacked("klappy.dev-2026-04-28.tar.gz", folder / "baseline"),
        {"ptx": unpacked("ptxprint-mcp-2026-04-28.tar.gz", folder / "overlay")},
    )
    deployed.index()
    known = tuple(facts(deployed.baseline, "klappy"))
    return Corpus(deployed, "ptx", "klappy", "definition of done", "Write an essay about evidence", known)


@pytest.fixture(scope="session", params=["sample", "real"])
def corpus(request: pytest.FixtureRequest) -> Corpus:
    """Each corpus in turn."""
    found: Corpus = request.getfixturevalue(request.param)
    return found


@pytest.fixture(scope="session")
def gateway() -> Iterator[tuple[str, int]]:
    """The address of the local gateway."""
    with running_gateway() as address:
        yield address


@pytest.fixture(scope="session", params=TRANSPORTS)
def transport(request: pytest.FixtureRequest, gateway: tuple[str, int]) -> Transport:
    """Each transport in turn."""
    return TRANSPORTS[request.param](gateway)


@pytest.fixture
def ask(corpus: Corpus, transport: Transport) -> Ask:
    """A call to each corpus over each transport, whose answer has no field that its schema lacks."""
    return lambda action, /, **arguments: as_described(action, transport.call(corpus.deployed, action, arguments))


@pytest.fixture
def deploy(tmp_path: Path) -> Deploy:
    """A factory of small corpora: files by path, overlays by name."""

    def made(files: Files, /, **overlays: Files) -> Deployed:
        deployed = Deployed(
            tmp_path / "data",
            write(tmp_path / "baseline", files),
            {name: write(tmp_path / f"overlay-{name}", content) for name, content in overlays.items()},
        )
        deployed.index()
        return deployed

    return made


@pytest.fixture
def asking() -> Callable[[Deployed], Ask]:
    """Calls to a deployment by direct invocation, for behaviour that has nothing to do with the transport."""

    def of(deployed: Deployed) -> Ask:
        direct = TRANSPORTS["direct"](("", 0))
        return lambda action, /, **arguments: direct.call(deployed, action, arguments)

    return of


def pytest_configure() -> None:
    """Commands of this process search by words alone unless a test asks for more: encoding takes its time."""
    os.environ["LAMINA_ENCODER"] = "none"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says once, at the end, how many tests were left out because ../shared is not at hand."""
    left_out = [report for report in terminalreporter.stats.get("skipped", ()) if NOT_AT_HAND in str(report.longrepr)]
    if left_out:
        terminalreporter.write_line(
            f"{len(left_out)} tests were left out: {NOT_AT_HAND}. Put it there to run these too.", yellow=True
        )
