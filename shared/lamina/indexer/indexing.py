"""The indexer's job: sources → snapshot → store, pointer last, so that a failed build changes nothing."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from lamina.actions.corpus_check import corpus_check, counted
from lamina.contract.ids import sha256_hex
from lamina.contract.ports import (
    AlreadyExists,
    ObjectStore,
    SkippedFile,
    Source,
    SourceFile,
    SourceUnavailable,
    StoreUnavailable,
)
from lamina.corpus.config import AXES, InvalidSettings, KnowledgeBaseSettings, parse_settings
from lamina.governance.manifest import bundle_revision, bundled_files, required_paths
from lamina.index.build import Edition, Progress, build
from lamina.index.parsed import ANALYSIS, ParseCache
from lamina.index.signed import FORMAT, SnapshotRefused, sign, verify
from lamina.index.snapshot import Origin, Snapshot
from lamina.runtime.catalogue import (
    Pointer,
    cache_key,
    index_name,
    read_pointer,
    snapshot_key,
    write_pointer,
)
from lamina.sources.bounds import selected

logger = logging.getLogger(__name__)

# Snapshots before the current one that pinned pages can still be read from.
KEPT_SNAPSHOTS = 10

# Far more than ever compete for one name; a bound so that a fault cannot spin.
_RETRIES = 100


@dataclass(frozen=True, slots=True)
class Built:
    """What a build came to: `documents` counts overlay and baseline, `remarks` what the check says, by level.

    `unread` are the paths of files in formats that are not read.

    `unchanged` says that the current index already was of these sources; nothing was counted then.
    """

    name: str
    revision: str
    documents: int | None
    unchanged: bool
    skipped: tuple[SkippedFile, ...] = ()
    remarks: Mapping[str, int] = field(default_factory=dict)
    unread: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Feed:
    """A source and the settings that the operator lays over its own."""

    source: Source
    settings: str | None = None


@dataclass(frozen=True, slots=True)
class Indexer:
    """Builds the indexes of a deployment into its store.

    `accepts_empty` says whether an index without a document of its sources may be published: on a person's own
    machine that is a wrong folder, on a deployment a knowledge base that is yet to be written.
    """

    store: ObjectStore
    signing_key: Callable[[], bytes]
    accepts_empty: bool = True

    def index(
        self,
        knowledge_base: str | None,
        baseline: Feed,
        overlay: Feed | None,
        progress: Progress = lambda done, total: None,
    ) -> Built:
        """Brings one index up to date. Raises SourceUnavailable, StoreUnavailable; then nothing has changed."""
        for _ in range(_RETRIES):
            built = self._attempt(index_name(knowledge_base), baseline, overlay, progress)
            if built is not None:
                return built
        raise AlreadyExists("other builds moved the pointer each time")

    def _attempt(self, name: str, baseline: Feed, overlay: Feed | None, progress: Progress) -> Built | None:
        """One build; None where another build moved the pointer meanwhile, perhaps to something newer."""
        pointer, version = read_pointer(self.store, name)
        feeds = [(Origin.BASELINE, baseline), *([(Origin.OVERLAY, overlay)] if overlay else [])]
        revisions = {origin: feed.source.revision() for origin, feed in feeds}
        inputs = _inputs_digest(feeds, revisions)
        if pointer is not None and pointer.inputs == inputs and self._is_whole(pointer):
            return Built(name, pointer.revision, None, unchanged=True)
        editions = [source_edition(origin, feed, revisions[origin]) for origin, feed in feeds]
        skipped = tuple(one for edition in editions for one in edition.skipped)
        editions.append(Edition(Origin.BUNDLED, bundle_revision(), bundled_files()))
        snapshot, cache = build(editions, self._cache(name), progress)
        live = len(snapshot) - int(np.count_nonzero(snapshot.mask(Origin.BUNDLED)))
        if not live and not self.accepts_empty:
            raise SourceUnavailable("it holds no Markdown that can be indexed")
        key, sha256 = self._write(name, snapshot)
        before = () if pointer is None else (pointer.key, *pointer.earlier)
        earlier = tuple(one for one in dict.fromkeys(before) if one != key)
        try:
            moved = Pointer(key, sha256, str(snapshot.revision), inputs, earlier[:KEPT_SNAPSHOTS])
            write_pointer(self.store, name, moved, version)
        except AlreadyExists:
            return None
        self._tidy(name, earlier[KEPT_SNAPSHOTS:], cache)
        unread = tuple(path for edition in editions for path in edition.unread)
        remarks = counted(corpus_check(snapshot))
        return Built(name, str(snapshot.revision), live, False, skipped, remarks, unread)

    def _write(self, name: str, snapshot: Snapshot) -> tuple[str, str]:
        """Writes the snapshot once; a refused object under its name stays, and the next number is taken."""
        sealed = sign(
            snapshot.to_data(),
            self.signing_key(),
            kind="snapshot",
            documents=len(snapshot),
            revision=str(snapshot.revision),
            config=snapshot.config,
        )
        for retry in range(_RETRIES):
            key = snapshot_key(name, snapshot.revision, snapshot.config, retry)
            try:
                self.store.create(key, sealed)
                return key, sha256_hex(sealed)
            except AlreadyExists:
                stored = self.store.get(key)
                if stored is not None and self._opens(key, stored.content):
                    return key, sha256_hex(stored.content)
        raise SnapshotRefused(f"{_RETRIES} refused snapshots under one name; remove them from the store")

    def _opens(self, key: str, content: bytes) -> bool:
        try:
            Snapshot.from_data(verify(content, self.signing_key(), kind="snapshot")[1])
        except SnapshotRefused as error:
            logger.error("snapshot refused: %s: %s", key, error)
            return False
        return True

    def _is_whole(self, pointer: Pointer) -> bool:
        """Whether what the pointer names is there, unchanged, and opens."""
        stored = self.store.get(pointer.key)
        return (
            stored is not None
            and sha256_hex(stored.content) == pointer.sha256
            and self._opens(pointer.key, stored.content)
        )

    def _cache(self, name: str) -> ParseCache | None:
        stored = self.store.get(cache_key(name))
        if stored is None:
            return None
        try:
            return ParseCache.from_data(verify(stored.content, self.signing_key(), kind="parsed")[1])
        except SnapshotRefused as error:
            logger.warning("what the last build remembered is refused: %s", error)
            return None

    def _tidy(self, name: str, old: Sequence[str], cache: ParseCache) -> None:
        """What is left to do once the index is published, and no reason to call it failed."""
        try:
            for key in old:
                self.store.delete(key)
            self._keep(name, cache)
        except StoreUnavailable as error:
            logger.warning("%s: the index is published, but not tidied up after: %s", name, error)

    def _keep(self, name: str, cache: ParseCache) -> None:
        sealed = sign(
            cache.to_data(),
            self.signing_key(),
            kind="parsed",
            documents=len(cache.entries),
            revision="",
            config=ANALYSIS,
        )
        self.store.replace(cache_key(name), sealed)


def _inputs_digest(feeds: Sequence[tuple[Origin, Feed]], revisions: dict[Origin, str]) -> str:
    parts = [FORMAT, ANALYSIS, bundle_revision()]
    parts += [[str(origin), revisions[origin], feed.settings or ""] for origin, feed in feeds]
    return sha256_hex(json.dumps(parts).encode())


def source_edition(origin: Origin, feed: Feed, revision: str) -> Edition:
    """Fetches a source and applies its settings; settings that do not fit are told and left out."""
    tree = feed.source.fetch(revision)
    skipped = list(tree.skipped)
    try:
        settings = parse_settings(feed.settings or tree.settings)
    except InvalidSettings as error:
        settings = KnowledgeBaseSettings()
        skipped.append(SkippedFile(".kb.yml", f"settings are not used: {error}"))
    files = {file.path: file for file in tree.files}
    kept = _kept(files, settings)
    if settings.required is None and any(path in kept for path in required_paths()):
        # What governs others says of each page for whom it is and how much it matters.
        settings = settings.model_copy(update={"required": AXES})
    return Edition(
        origin,
        tree.revision,
        tuple(SourceFile(path, files[whole].content) for path, whole in kept.items()),
        settings,
        tuple(skipped),
        tuple(_kept(tree.unread, settings)),
    )


def _kept(paths: Iterable[str], settings: KnowledgeBaseSettings) -> dict[str, str]:
    """The paths that the settings leave in, relative to the subfolder, each with its path in the source."""
    base = f"{settings.subfolder}/" if settings.subfolder else ""
    inside = {path.removeprefix(base): path for path in paths if path.startswith(base)}
    return {path: inside[path] for path in selected(inside, settings.ignore)}
