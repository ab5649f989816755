"""Speed and size beside the bounds of the speed table: building, the snapshot, calls, growth, memory, workloads."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tests.bench.cold_start import cold_starts, warm_calls
from tests.bench.engines import searched
from tests.bench.figures import LOAD_MB_A_SECOND, Line, show
from tests.bench.growth import SIZES, growth
from tests.bench.indexes import Text, indexes
from tests.bench.large import large
from tests.bench.provenance import checksum
from tests.bench.workloads import workloads
from tests.corpora import REAL, SAMPLES, Deployed, unpacked, write

from lamina.contract.ports import SourceFile
from lamina.corpus.document import Document, parse
from lamina.index.build import SourceRevision, build
from lamina.index.signed import sign, verify
from lamina.index.snapshot import Origin, Snapshot
from lamina.sources.folder import FolderSource

BUILD_SECONDS = 3.0
SNAPSHOT_RATIO = 0.7
SAMPLE_SIZE = 600
_KEY = b"a key for benchmarks, 32 bytes.."
_ROUNDS = 3

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Corpus:
    """What is measured on: a baseline folder, its name, its files, and queries that people asked of it."""

    name: str
    folder: Path
    files: tuple[SourceFile, ...]
    queries: tuple[str, ...]

    @property
    def raw_bytes(self) -> int:
        """Bytes of Markdown."""
        return sum(len(file.content) for file in self.files)

    @property
    def checksum(self) -> str:
        """SHA-256 over paths and contents."""
        return checksum((file.path, file.content) for file in self.files)

    def documents(self) -> list[Document]:
        """Every file parsed."""
        return [parse(file.path, file.content) for file in self.files]


def corpus_in(scratch: Path) -> Corpus:
    """The real baseline where it is at hand, else copies of the sample up to six hundred files."""
    if REAL.is_dir():
        folder = unpacked("klappy.dev-2026-04-28.tar.gz", scratch / "baseline")
        name = "klappy.dev-2026-04-28"
        asked = REAL.parent / "eval" / "queries.jsonl"
    else:
        folder, name = scratch / "baseline", f"sample, copied up to {SAMPLE_SIZE} files"
        originals = sorted((SAMPLES / "handbook").rglob("*.md"))
        for number in range(SAMPLE_SIZE):
            copy, at = divmod(number, len(originals))
            path = originals[at].relative_to(SAMPLES / "handbook").as_posix()
            text = originals[at].read_text(encoding="utf-8").replace("\nuri: rill://", f"\nuri: rill://copy-{copy}/")
            write(folder, {f"{copy}/{path}": text})
        asked = SAMPLES / "questions.jsonl"
    queries = tuple(json.loads(line)["query"] for line in asked.read_text(encoding="utf-8").splitlines())
    source = FolderSource(folder)
    return Corpus(name, folder, tuple(source.fetch(source.revision()).files), queries)


def building(corpus: Corpus) -> Iterator[Line]:
    """Build, rebuild after one change, snapshot and its load."""
    part = f"Index of {len(corpus.files)} documents, {corpus.raw_bytes / 1e6:.2f} MB of Markdown"
    source_revision = SourceRevision(Origin.BASELINE, corpus.checksum[:12], corpus.files)
    (snapshot, cache), seconds = _best(lambda: build([source_revision]))
    yield Line(part, "build", seconds, "s", most=BUILD_SECONDS)
    entry, *rest = corpus.files
    changed = SourceRevision(
        source_revision.origin, source_revision.revision, (SourceFile(entry.path, entry.content + b"\nMore.\n"), *rest)
    )
    _, seconds = _best(lambda: build([changed], cache))
    yield Line(part, "rebuild after one change", seconds, "s")
    remembered = sum(cache.find(file) is not None for file in changed.files)
    yield Line(part, "files parsed again after one change", len(changed.files) - remembered, "files", most=1)
    sealed = sign(
        snapshot.to_data(), _KEY, kind="snapshot", documents=len(snapshot), revision="0" * 12, config=snapshot.config
    )
    yield Line(part, "snapshot", len(sealed) / 1e6, "MB")
    yield Line(part, "snapshot against raw Markdown", len(sealed) / corpus.raw_bytes, "×", most=SNAPSHOT_RATIO)
    _, seconds = _best(lambda: Snapshot.from_data(verify(sealed, _KEY, kind="snapshot")[1]), rounds=15)
    yield Line(part, "load", seconds * 1000, "ms")
    yield Line(part, "load, bytes of the snapshot", len(sealed) / 1e6 / seconds, "MB/s", least=LOAD_MB_A_SECOND)
    yield Line(part, "load, bytes of the Markdown", corpus.raw_bytes / 1e6 / seconds, "MB/s")


def speed(scratch: Path, pythons: Sequence[str], sizes: Sequence[int] = SIZES) -> tuple[Corpus, list[Line]]:
    """Prints every figure as it comes; gives the corpus and all figures."""
    corpus = corpus_in(scratch)
    sys.stdout.write(f"\nCorpus: {corpus.name}, {len(corpus.files)} files\n")
    deployed = Deployed(scratch / "data", corpus.folder)
    deployed.index()

    def lines() -> Iterator[Line]:
        yield from building(corpus)
        yield from cold_starts(pythons, deployed.data, corpus.queries, scratch)
        yield from warm_calls(deployed.data, sys.executable, corpus.queries, scratch)
        yield from workloads(deployed)
        documents = corpus.documents()
        texts = [Text(f.path, f.content, searched(d)) for f, d in zip(corpus.files, documents, strict=True)]
        yield from indexes(texts, corpus.queries[0], scratch / "indexes")
        yield from growth(documents, corpus.queries, sizes)
        if max(sizes) >= 100_000:
            yield from large(documents, corpus.queries, scratch)

    return corpus, show(lines())


def _best(action: Callable[[], T], rounds: int = _ROUNDS) -> tuple[T, float]:
    """The result, and the median of seconds over some rounds."""
    taken = []
    for _ in range(rounds):
        started = time.perf_counter()
        result = action()
        taken.append(time.perf_counter() - started)
    return result, statistics.median(taken)
