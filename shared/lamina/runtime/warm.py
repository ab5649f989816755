"""What outlives a call: snapshots in memory, bounded, each looked after at most once per time to live."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from lamina.contract.errors import LaminaError
from lamina.contract.ids import Revision, sha256_hex
from lamina.contract.ports import ObjectStore, StoreUnavailable
from lamina.index.signed import SnapshotRefused, verify
from lamina.index.snapshot import Snapshot
from lamina.index.vectors import Vectors
from lamina.ranking.scope import Scopes
from lamina.runtime.catalogue import read_pointer, snapshot_prefix, vectors_key

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Held:
    """A snapshot in memory: whose it is, the digest of its signed bytes, and their number."""

    key: str
    name: str
    sha256: str
    scopes: Scopes
    size: int


@dataclass(slots=True)
class StoredVectors:
    """The vectors that belong to a snapshot, read at the first call that needs them; safe for concurrent callers."""

    store: ObjectStore
    signing_key: Callable[[], bytes]
    key: str
    digest: str | None
    documents: int
    _read: Vectors | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self) -> Vectors | None:
        """The vectors; None where there are none, or they cannot be had now."""
        if self.digest is None:
            return None
        with self._lock:
            if self._read is None:
                try:
                    self._read = self._checked()
                except (StoreUnavailable, SnapshotRefused) as error:
                    logger.error("searched by words alone, the vectors of %s: %s", self.key, error)
            return self._read

    def _checked(self) -> Vectors:
        stored = self.store.get(vectors_key(self.key))
        if stored is None:
            raise SnapshotRefused("missing")
        vectors = Vectors.verified(stored.content, self.signing_key())
        if vectors.digest != self.digest or len(vectors.counts) != self.documents:
            raise SnapshotRefused("of another snapshot")
        return vectors


# A store that makes callers wait before it fails is not asked again for so many times that long.
_PATIENCE = 10


@dataclass(slots=True)
class _Current:
    """What a name stood for when the store was last asked; `stale` where it had a newer one or did not answer."""

    key: str
    checked_at: float
    build: int
    stale: bool = False
    asked_again_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Served:
    """A snapshot to answer from. `stale` says that a newer one may exist but could not be had."""

    scopes: Scopes
    stale: bool
    cached: bool


@dataclass(slots=True)
class WarmSnapshots:
    """Snapshots by key, least recently used leaves first. Safe for concurrent callers."""

    store: ObjectStore
    signing_key: Callable[[], bytes]
    required: tuple[str, ...]
    ttl: float
    max_bytes: int
    on_missing: Callable[[str], None] = lambda name: None
    on_refused: Callable[[str, str], None] = lambda name, reason: None
    clock: Callable[[], float] = time.monotonic
    _held: OrderedDict[str, Held] = field(default_factory=OrderedDict)
    _current: dict[str, _Current] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def current(self, name: str) -> Served:
        """The newest snapshot of an index, or an older one where the store fails.

        Raises INDEX_NOT_READY where there is none yet, STORE_UNAVAILABLE where none can be had.
        """
        with self._lock:
            known = self._current.get(name)
            now = self.clock()
            if known is not None and known.key in self._held:
                if now - known.checked_at < self.ttl:
                    return Served(self._use(known.key).scopes, stale=known.stale, cached=True)
                if now < known.asked_again_at:
                    return Served(self._use(known.key).scopes, stale=True, cached=True)
            try:
                return self._newest(name, known, now)
            except StoreUnavailable as error:
                if known is None or known.key not in self._held:
                    raise LaminaError(
                        "STORE_UNAVAILABLE", "Storage did not answer. Try again in a few seconds."
                    ) from error
                logger.warning("store unavailable, serving the older snapshot of %s", name)
                ended = self.clock()
                known.asked_again_at = ended + min(self.ttl, (ended - now) * _PATIENCE)
                return Served(self._use(known.key).scopes, stale=True, cached=True)

    def thaw(self) -> None:
        """After the process stood still for an unknown time: pointers are looked at again at the next call."""
        with self._lock:
            for known in self._current.values():
                known.checked_at = known.asked_again_at = -math.inf

    def pinned(self, name: str, revision: Revision) -> Served:
        """The snapshot of exactly that revision. Raises REVISION_GONE, STORE_UNAVAILABLE."""
        with self._lock:
            prefix = snapshot_prefix(name, revision)
            known = self._current.get(name)
            held = [key for key in self._held if key.startswith(prefix)]
            if held:
                newest = known.key if known is not None and known.key in held else held[-1]
                return Served(self._use(newest).scopes, stale=False, cached=True)
            try:
                pointer, _ = read_pointer(self.store, name, self.signing_key)
                keys = list(self.store.keys(prefix))
                if pointer is not None and pointer.key in keys:
                    keys = [*(key for key in keys if key != pointer.key), pointer.key]
                for key in reversed(keys):
                    try:
                        self._load(name, key, None)
                    except SnapshotRefused as error:
                        self._refused(name, key, error)
                        continue
                    if key in self._held:
                        return Served(self._use(key).scopes, stale=False, cached=False)
            except StoreUnavailable as error:
                raise LaminaError("STORE_UNAVAILABLE", "Storage did not answer. Try again in a few seconds.") from error
            raise LaminaError(
                "REVISION_GONE",
                f"the snapshot of revision {revision} no longer exists. Start again without revision, from offset 0.",
                revision=str(revision),
            )

    def _newest(self, name: str, known: _Current | None, now: float) -> Served:
        pointer, _ = read_pointer(self.store, name, self.signing_key)
        if pointer is None:
            self.on_missing(name)
            return self._older(name, known, now, "is not built yet")
        if known is not None and pointer.build < known.build:
            self._refused(name, pointer.key, SnapshotRefused("an older build than was served before"))
            return self._older(name, known, now, "was put back to an older one and is being rebuilt")
        held = self._held.get(pointer.key)
        cached = held is not None and (held.name, held.sha256) == (name, pointer.sha256)
        if not cached:
            try:
                self._load(name, pointer.key, pointer.sha256)
            except SnapshotRefused as error:
                self._refused(name, pointer.key, error)
                return self._older(name, known, now, "was refused and is being rebuilt")
            if pointer.key not in self._held:
                self.on_missing(name)
                return self._older(name, known, now, "is missing and is being rebuilt")
        self._current[name] = _Current(pointer.key, now, pointer.build)
        return Served(self._use(pointer.key).scopes, stale=False, cached=cached)

    def _older(self, name: str, known: _Current | None, now: float, why: str) -> Served:
        if known is not None and known.key in self._held:
            known.checked_at, known.stale = now, True
            return Served(self._use(known.key).scopes, stale=True, cached=True)
        raise LaminaError("INDEX_NOT_READY", f"The index of this knowledge base {why}. Try again shortly.")

    def _refused(self, name: str, key: str, error: SnapshotRefused) -> None:
        logger.error("snapshot refused: %s: %s", key, error)
        self.on_refused(name, str(error))

    def _load(self, name: str, key: str, sha256: str | None) -> None:
        """Reads, verifies and keeps a snapshot; nothing happens where the key is gone."""
        stored = self.store.get(key)
        if stored is None:
            return
        found = sha256_hex(stored.content)
        if sha256 is not None and found != sha256:
            raise SnapshotRefused("content differs from its pointer")
        manifest, data = verify(stored.content, self.signing_key(), kind="snapshot")
        if manifest.name != name:
            raise SnapshotRefused("a snapshot of another knowledge base lies under this name")
        snapshot = Snapshot.from_data(data)
        if not key.startswith(snapshot_prefix(name, snapshot.revision)):
            raise SnapshotRefused("a snapshot of another revision lies under this name")
        vectors = StoredVectors(self.store, self.signing_key, key, snapshot.revision.vectors, len(snapshot))
        scopes = Scopes(snapshot, self.required, vectors)
        self._held[key] = Held(key, name, found, scopes, len(stored.content))
        while len(self._held) > 1 and sum(held.size for held in self._held.values()) > self.max_bytes:
            self._held.popitem(last=False)

    def _use(self, key: str) -> Held:
        self._held.move_to_end(key)
        return self._held[key]
