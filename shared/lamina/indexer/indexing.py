"""The indexer's job: sources → snapshot → store, pointer last, so that a failed build changes nothing."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from lamina.actions.corpus_check import corpus_check, counted
from lamina.contract.ids import Revision, sha256_hex
from lamina.contract.ports import (
    AlreadyExists,
    Encoder,
    EncoderUnavailable,
    ObjectStore,
    SkippedFile,
    Source,
    SourceFile,
    SourceUnavailable,
    StoreUnavailable,
)
from lamina.corpus.config import AXES, InvalidSettings, KnowledgeBaseSettings, parse_settings
from lamina.encoders.choice import EncoderChoice
from lamina.governance.manifest import bundle_revision, bundled_files, required_paths
from lamina.index.build import Progress, SourceRevision, build
from lamina.index.parsed import ANALYSIS, ParseCache
from lamina.index.pieces import PIECES_VERSION, pieces_of
from lamina.index.signed import FORMAT, SnapshotRefused, sign, verify
from lamina.index.snapshot import Origin, Snapshot
from lamina.index.vectors import Vectors
from lamina.indexer.encoding import FEW_PIECES, Pieces, earlier_vectors
from lamina.runtime.catalogue import (
    Pointer,
    cache_key,
    index_name,
    newest_build,
    read_pointer,
    remember_build,
    snapshot_key,
    vectors_key,
    write_pointer,
)
from lamina.sources.bounds import selected

logger = logging.getLogger(__name__)

# Snapshots before the current one that pinned pages can still be read from.
KEPT_SNAPSHOTS = 10

# Far more than ever compete for one name; a bound so that a fault cannot spin.
_RETRIES = 100

MeaningOfIndex = Literal["ready", "following", "unavailable", "none"]


@dataclass(frozen=True, slots=True)
class Built:
    """What a build came to: `documents` counts overlay and baseline, `remarks` what the check says, by level.

    `unread` are the paths of files in formats that are not read.

    `unchanged` says that the current index already was of these sources; nothing was counted then. `meaning` says
    whether its documents can be found by meaning: a later build may bring what is `following`.
    """

    name: str
    revision: str
    documents: int | None
    unchanged: bool
    skipped: tuple[SkippedFile, ...] = ()
    remarks: Mapping[str, int] = field(default_factory=dict)
    unread: tuple[str, ...] = ()
    meaning: MeaningOfIndex | None = None


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
    encoders: EncoderChoice = field(default_factory=EncoderChoice)

    def index(
        self,
        knowledge_base: str | None,
        baseline: Feed,
        overlay: Feed | None,
        progress: Progress = lambda done, total: None,
        encoding: Progress = lambda done, total: None,
        *,
        by_words: bool = False,
    ) -> Built:
        """Brings one index up to date. Raises SourceUnavailable, StoreUnavailable; then nothing has changed.

        Where many pieces have to be encoded, the index is published by words first, and again with its vectors;
        `by_words` leaves that to a later call. `encoding(done, total)` is told of pieces as `progress` is of files.
        """
        feeds = [(Origin.BASELINE, baseline), *([(Origin.OVERLAY, overlay)] if overlay else [])]
        for _ in range(_RETRIES):
            built = self._attempt(index_name(knowledge_base), feeds, progress, encoding, by_words)
            if built is not None:
                return built
        raise AlreadyExists("other builds moved the pointer each time")

    def _attempt(
        self,
        name: str,
        feeds: Sequence[tuple[Origin, Feed]],
        progress: Progress,
        encoding: Progress,
        by_words: bool,
    ) -> Built | None:
        """One build; None where another build moved the pointer meanwhile, perhaps to something newer."""
        pointer, version = read_pointer(self.store, name, self.signing_key)
        started = int(time.time() * 1000)
        revisions = {origin: feed.source.revision() for origin, feed in feeds}
        inputs = _inputs_digest(feeds, revisions, self.encoders.identity)
        wanted = (inputs, _without_vectors(inputs)) if by_words else (inputs,)
        if pointer is not None and pointer.inputs in wanted and self._is_current(name, pointer):
            following = pointer.inputs != inputs
            return Built(name, pointer.revision, None, unchanged=True, meaning="following" if following else None)
        draft = replace(self._draft(name, feeds, revisions, inputs, progress), started=started)
        encoder = self._encoder(draft)
        if encoder is None:
            return self._publish(draft, None, pointer, version)
        draft = replace(draft, snapshot=replace(draft.snapshot, encoder=encoder.name))
        pieces = Pieces.of(
            pieces_of(draft.snapshot, draft.cache), encoder, earlier_vectors(self.store, self.signing_key, name)
        )
        if len(pieces.missing) > FEW_PIECES and (pointer is None or pointer.inputs != _without_vectors(inputs)):
            published = self._publish(draft, None, pointer, version, "following")
            if published is None or by_words:
                return published
            pointer, version = read_pointer(self.store, name, self.signing_key)
        try:
            return self._publish(draft, pieces.encoded(encoder, encoding), pointer, version, "ready")
        except EncoderUnavailable as error:
            logger.warning("%s: indexed by words alone: %s", name, error)
            return self._publish(draft, None, pointer, version, "unavailable")

    def _draft(
        self,
        name: str,
        feeds: Sequence[tuple[Origin, Feed]],
        revisions: dict[Origin, str],
        inputs: str,
        progress: Progress,
    ) -> _Draft:
        """Fetches and parses. Raises SourceUnavailable."""
        source_revisions = [source_revision_of(origin, feed, revisions[origin]) for origin, feed in feeds]
        skipped = tuple(each for source_revision in source_revisions for each in source_revision.skipped)
        settings = source_revisions[-1].settings
        source_revisions.append(SourceRevision(Origin.BUNDLED, bundle_revision(), bundled_files()))
        snapshot, cache = build(source_revisions, self._cache(name), progress)
        live = len(snapshot) - int(np.count_nonzero(snapshot.mask(Origin.BUNDLED)))
        if not live and not self.accepts_empty:
            raise SourceUnavailable("it holds no Markdown that can be indexed")
        unread = tuple(path for source_revision in source_revisions for path in source_revision.unread)
        return _Draft(name, snapshot, cache, inputs, live, skipped, unread, settings)

    def _encoder(self, draft: _Draft) -> Encoder | None:
        """What encodes the documents; None where they are to be found by words alone."""
        return None if draft.settings.encoder == "none" else self.encoders.for_building(draft.live)

    def _publish(
        self,
        draft: _Draft,
        vectors: Vectors | None,
        pointer: Pointer | None,
        version: str | None,
        meaning: MeaningOfIndex = "none",
    ) -> Built | None:
        """Writes vectors, snapshot and at last the pointer; None where another build moved that meanwhile."""
        snapshot = draft.snapshot
        if vectors is not None:
            snapshot = replace(snapshot, revision=replace(snapshot.revision, vectors=vectors.digest))
        is_final = meaning in ("ready", "none")
        inputs = draft.inputs if is_final else _without_vectors(draft.inputs)
        last = max(0 if pointer is None else pointer.build, newest_build(self.store, draft.name, self.signing_key))
        number = max(last + 1, draft.started)
        key, sha256 = self._write(draft.name, snapshot, vectors, inputs, number)
        before = () if pointer is None else (pointer.key, *pointer.earlier)
        earlier = tuple(other for other in dict.fromkeys(before) if other != key)
        try:
            moved = Pointer(key, sha256, str(snapshot.revision), inputs, number, earlier[:KEPT_SNAPSHOTS])
            write_pointer(self.store, draft.name, moved, version, self.signing_key())
        except AlreadyExists:
            return None
        self._tidy(draft.name, moved, earlier[KEPT_SNAPSHOTS:], draft.cache)
        remarks = counted(corpus_check(snapshot))
        return Built(
            draft.name, str(snapshot.revision), draft.live, False, draft.skipped, remarks, draft.unread, meaning
        )

    def _write(
        self, name: str, snapshot: Snapshot, vectors: Vectors | None, inputs: str, number: int
    ) -> tuple[str, str]:
        """Writes the snapshot once, after its vectors. A refused object stays, and the next number is taken."""
        signed = sign(
            snapshot.to_data(),
            self.signing_key(),
            kind="snapshot",
            documents=len(snapshot),
            revision=str(snapshot.revision),
            config=snapshot.config,
            name=name,
            inputs=inputs,
            build=number,
        )
        for retry in range(_RETRIES):
            key = snapshot_key(name, snapshot.revision, snapshot.config, retry)
            if vectors is not None:
                self.store.replace(vectors_key(key), vectors.signed(self.signing_key()))
            try:
                self.store.create(key, signed)
                return key, sha256_hex(signed)
            except AlreadyExists:
                stored = self.store.get(key)
                if stored is not None and self._opens(name, key, stored.content):
                    return key, sha256_hex(stored.content)
        raise SnapshotRefused(f"{_RETRIES} refused snapshots under one name; remove them from the store")

    def _opens(self, name: str, key: str, content: bytes) -> bool:
        try:
            manifest, data = verify(content, self.signing_key(), kind="snapshot")
            if manifest.name != name:
                raise SnapshotRefused("of another knowledge base")
            Snapshot.from_data(data)
        except SnapshotRefused as error:
            logger.error("snapshot refused: %s: %s", key, error)
            return False
        return True

    def _is_current(self, name: str, pointer: Pointer) -> bool:
        """Whether the pointer is of the newest build, and what it names is there, unchanged, and opens."""
        if pointer.build < newest_build(self.store, name, self.signing_key):
            logger.error("the pointer of %s was put back to an older build: built again", name)
            return False
        stored = self.store.get(pointer.key)
        return (
            stored is not None
            and sha256_hex(stored.content) == pointer.sha256
            and self._opens(name, pointer.key, stored.content)
            and self._has_its_vectors(pointer)
        )

    def _has_its_vectors(self, pointer: Pointer) -> bool:
        revision = Revision.parse(pointer.revision)
        if revision is None or revision.vectors is None:
            return True
        stored = self.store.get(vectors_key(pointer.key))
        if stored is None:
            return False
        try:
            return Vectors.verified(stored.content, self.signing_key()).digest == revision.vectors
        except SnapshotRefused as error:
            logger.error("vectors refused: %s: %s", pointer.key, error)
            return False

    def _cache(self, name: str) -> ParseCache | None:
        stored = self.store.get(cache_key(name))
        if stored is None:
            return None
        try:
            return ParseCache.from_data(verify(stored.content, self.signing_key(), kind="parsed")[1])
        except SnapshotRefused as error:
            logger.warning("what the last build remembered is refused: %s", error)
            return None

    def _tidy(self, name: str, moved: Pointer, old: Sequence[str], cache: ParseCache) -> None:
        """What is left to do once the index is published, and no reason to call it failed."""
        try:
            remember_build(self.store, name, moved, self.signing_key())
            for key in old:
                self.store.delete(key)
                self.store.delete(vectors_key(key))
            self._keep(name, cache)
        except StoreUnavailable as error:
            logger.warning("%s: the index is published, but not tidied up after: %s", name, error)

    def _keep(self, name: str, cache: ParseCache) -> None:
        signed = sign(
            cache.to_data(),
            self.signing_key(),
            kind="parsed",
            documents=len(cache.entries),
            revision="",
            config=ANALYSIS,
        )
        self.store.replace(cache_key(name), signed)


@dataclass(frozen=True, slots=True)
class _Draft:
    """A snapshot that is not published: `live` of its documents are of its sources, whose settings these are.

    `started` is when its build began, in milliseconds since 1970.
    """

    name: str
    snapshot: Snapshot
    cache: ParseCache
    inputs: str
    live: int
    skipped: tuple[SkippedFile, ...]
    unread: tuple[str, ...]
    settings: KnowledgeBaseSettings
    started: int = 0


def _without_vectors(inputs: str) -> str:
    """What stands in the pointer of an index that is to have vectors and has none yet."""
    return f"{inputs} by words"


def _inputs_digest(feeds: Sequence[tuple[Origin, Feed]], revisions: dict[Origin, str], encoder: str) -> str:
    parts: list[Any] = [FORMAT, ANALYSIS, bundle_revision(), encoder, PIECES_VERSION]
    parts += [[str(origin), revisions[origin], feed.settings or ""] for origin, feed in feeds]
    return sha256_hex(json.dumps(parts).encode())


def source_revision_of(origin: Origin, feed: Feed, revision: str) -> SourceRevision:
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
    return SourceRevision(
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
