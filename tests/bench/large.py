"""A hundred thousand documents served whole: one snapshot of them, loaded and asked in a fresh process."""

from __future__ import annotations

import hashlib
import json
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from tests.bench.cold_start import cloud, compiled, measured
from tests.bench.enlarged import Enlarged, enlarged
from tests.bench.figures import LOAD_MB_A_SECOND, Line, percentile

from lamina.contract.ids import Revision, sha256_hex
from lamina.corpus.document import Document
from lamina.index.arrays import CodedColumn
from lamina.index.signed import sign, verify
from lamina.index.snapshot import Density, Snapshot
from lamina.index.structure import Structure
from lamina.index.texts import Texts
from lamina.runtime.catalogue import Pointer, index_name, snapshot_key, write_pointer
from lamina.runtime.signing import local_key
from lamina.stores.folder import FolderStore

SIZE = 100_000
# Documents that only stand in for required files, which no call searches.
BUNDLED = 6
MOST_MB = 2_048.0
MOST_MS = 20.0


def large(documents: Sequence[Document], queries: Sequence[str], scratch: Path) -> Iterator[Line]:
    """Load, calls and memory of the search function over `SIZE` documents."""
    part = f"Search through the handler at {SIZE:,} documents"
    data = scratch / "large"
    sealed = _stored(_snapshot(enlarged(documents, SIZE)), data)
    size = len(sealed)
    yield Line(part, "snapshot", size / 1e6, "MB")
    seconds = statistics.median(_seconds_to_open(sealed, data) for _ in range(3))
    yield Line(part, "load, bytes of the snapshot", size / 1e6 / seconds, "MB/s", least=LOAD_MB_A_SECOND)
    layer = compiled(sys.executable, scratch / "layer-large")
    with cloud(data) as service:
        # A snapshot of this size takes longer to read than a time to live; a warm call looks for none.
        environment = {**service.environment(), "LAMINA_SNAPSHOT_TTL": "3600"}
        figures = measured(sys.executable, layer, environment, "search", queries, times=5)
    yield Line(part, "load from S3 in a fresh process", figures["init"] / 1000, "s")
    yield Line(part, "first answer", figures["answer"], "ms")
    yield Line(part, "p50", percentile(figures["warm"], 0.5), "ms", most=MOST_MS)
    yield Line(part, "p95", percentile(figures["warm"], 0.95), "ms")
    yield Line(part, "memory", figures["memory"], "MB", most=MOST_MB)


def _snapshot(corpus: Enlarged) -> Snapshot:
    """A snapshot as a build would make it, but for the parsing."""
    count = len(corpus.drawn)
    uris = [f"kb://docs/{number:06d}" for number in range(count)]
    titles = [corpus.title(number) for number in range(count)]
    bodies = [f"# {title}\n\n{corpus.text(number)}" for number, title in enumerate(titles)]
    tokens = np.array([(20, 1, 12, 1, len(body) // 4) for body in bodies], dtype=np.int32)

    def same(value: object) -> CodedColumn:
        return CodedColumn.of([value] * count)

    return Snapshot(
        revision=Revision(baseline="0" * 12),
        scheme="kb",
        config="0" * 12,
        encoder=None,
        uris=uris,
        paths=[f"{uri.removeprefix('kb://')}.md" for uri in uris],
        titles=titles,
        hashes=[hashlib.sha256(body.encode()).digest() for body in bodies],
        dates=[None] * count,
        origin=CodedColumn.of(["baseline"] * (count - BUNDLED) + ["bundled"] * BUNDLED),
        kind=same("docs"),
        audience=same(("public",)),
        exposure=same(("public",)),
        tier=same((2,)),
        public=same(True),
        start_here=same(None),
        language=same(("en",)),
        tags=same(()),
        invalidated=same(False),
        successors={},
        dangling={},
        links={},
        aliases={},
        tokens=tokens,
        density=Density(4.0, 4.0),
        cards=Texts.pack([json.dumps([None, None, {"title": title}]) for title in titles]),
        structures=Texts.pack([Structure(1, ()).written()] * count),
        bodies=Texts.pack(bodies),
        postings=corpus.postings,
        rejects=(),
        problems=(),
    )


def _stored(snapshot: Snapshot, data: Path) -> bytes:
    """Puts the snapshot where the functions look for it; its bytes."""
    key = local_key(data / "signing.key")
    revision, config = snapshot.revision, snapshot.config
    sealed = sign(
        snapshot.to_data(),
        key,
        kind="snapshot",
        documents=len(snapshot),
        revision=str(revision),
        config=config,
        name=index_name(None),
    )
    store, name = FolderStore(data / "store"), index_name(None)
    place = snapshot_key(name, revision, config)
    store.create(place, sealed)
    write_pointer(store, name, Pointer(place, sha256_hex(sealed), str(revision), "bench", 1), None, key)
    return sealed


def _seconds_to_open(sealed: bytes, data: Path) -> float:
    key = local_key(data / "signing.key")
    started = time.perf_counter()
    Snapshot.from_data(verify(sealed, key, kind="snapshot")[1])
    return time.perf_counter() - started
