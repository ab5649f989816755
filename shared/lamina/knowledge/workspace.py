"""What a workspace is: its files as they stand, what of them is committed, and the head that chains each change."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from lamina.contract.ids import sha256_hex
from lamina.contract.ports import (
    AlreadyExists,
    AuditEntry,
    KnowledgeLedger,
    NoteFolder,
    ObjectStore,
    Source,
    SourceTree,
    SourceUnavailable,
    StoreUnavailable,
    WorkspaceCommit,
)
from lamina.corpus.config import InvalidSettings, KnowledgeBaseSettings, parse_settings
from lamina.knowledge.note import Note
from lamina.knowledge.protocol import ErrorCode, Refusal, canonical

POLICY = "lamina.knowledge-policy/1"
MANIFEST = "lamina.knowledge-manifest/1"
HEAD = "lamina.knowledge-head/1"
# The rules that a proposal is queued and accepted under; a change of them makes older proposals stale.
_RULES = {
    "propose": "queues",
    "accept": "operator",
    "reject": "operator",
    "note_path": "notes/{slug}-{review8}.md",
    "note_kind": "note_kind",
}
# A folder that is written to while it is read is read again this often.
_READS = 5

Digests = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class WorkspaceFiles:
    """The Markdown of a workspace at one moment. `digests` are the SHA-256 of the raw files by path."""

    revision: str
    contents: Mapping[str, bytes]
    digests: Digests
    settings: KnowledgeBaseSettings
    policy: str

    def differing(self, manifest: Digests) -> list[str]:
        """The committed paths whose file is gone or another."""
        return [path for path, digest in manifest.items() if self.digests.get(path) != digest]

    def uncommitted(self, manifest: Digests) -> list[str]:
        """The paths that are not committed."""
        return [path for path in self.digests if path not in manifest]


@dataclass(frozen=True, slots=True)
class WorkspaceState:
    """A commit with the manifest that it names: path → SHA-256."""

    commit: WorkspaceCommit
    manifest: Digests


@dataclass(slots=True)
class Workspace:
    """One workspace over its ports. `roots` are the spellings under which a request may name it.

    `objects` keeps manifests and notes by digest, out of sight of every reader of the workspace's files;
    `notes` is where accepted notes become such files.
    """

    root: str
    roots: frozenset[str]
    source: Source
    ledger: KnowledgeLedger
    objects: ObjectStore
    notes: NoteFolder
    now: Callable[[], str]
    new_guid: Callable[[], str]
    _files: WorkspaceFiles | None = field(default=None)
    _manifest: tuple[str, Digests] | None = field(default=None)

    def files(self) -> WorkspaceFiles:
        """The files as they stand. Raises SourceUnavailable."""
        for attempt in range(_READS):
            revision = self.source.revision()
            known = self._files
            if known is not None and known.revision == revision:
                return known
            try:
                self._files = _read(self.source.fetch(revision))
                return self._files
            except SourceUnavailable:
                if attempt == _READS - 1:
                    raise
        raise SourceUnavailable("the workspace changes all the time")

    def state(self) -> WorkspaceState | None:
        """The current commit, after completing what an interrupted acceptance left to publish."""
        commit = self.ledger.latest_commit()
        if commit is None:
            return None
        state = WorkspaceState(commit, self._committed(commit.manifest))
        if commit.publishing is not None:
            self.publish(state)
        return state

    def publish(self, state: WorkspaceState) -> None:
        """Makes the newest accepted note a file of the workspace, if it is not yet."""
        path = state.commit.publishing
        if path is None:
            return
        digest = state.manifest[path]
        stored = self.objects.get(f"{path}/{digest}")
        if stored is None or sha256_hex(stored.content) != digest:
            raise StoreUnavailable("an accepted note is missing from the object store")
        # It may have been published before the interruption; another file there is drift to the next reading.
        with suppress(AlreadyExists):
            self.notes.create(path, stored.content)
        self.ledger.published(state.commit.head)

    def keep_note(self, note: Note) -> None:
        """Keeps a note's bytes under its path and digest. Raises Refusal source_drift where its path is taken."""
        state = self.notes.get(note.path)
        if state is not None and state.content != note.content:
            raise Refusal(ErrorCode.SOURCE_DRIFT)
        self._keep(f"{note.path}/{note.sha256}", note.content)

    def keep_manifest(self, manifest: Digests) -> str:
        """Keeps a manifest under its digest, which it returns."""
        content = manifest_bytes(manifest)
        digest = sha256_hex(content)
        self._keep(f"manifests/{digest}", content)
        return digest

    def initialise(self, by: str) -> tuple[WorkspaceState, bool]:
        """Gives the workspace its GUID and commits its files; the second value says whether that was to be done."""
        known = self.state()
        if known is not None:
            return known, False
        guid = self.new_guid()
        return self._commit_files(guid, None, self.files(), by)

    def commit_again(self, state: WorkspaceState, files: WorkspaceFiles, by: str) -> tuple[WorkspaceState, bool]:
        """Seals the files as they stand now; the second value says whether the head was still the same."""
        return self._commit_files(state.commit.workspace, state.commit, files, by)

    def _commit_files(
        self, guid: str, before: WorkspaceCommit | None, files: WorkspaceFiles, by: str
    ) -> tuple[WorkspaceState, bool]:
        manifest = dict(files.digests)
        digest = self.keep_manifest(manifest)
        commit = next_commit(guid, before, digest, {"sealed": digest})
        self.ledger.append(
            AuditEntry(
                0, f"seal-{commit.sequence}-{commit.head}", self.now(), by, canonical({"head": commit.head}).decode()
            )
        )
        done = self.ledger.replace_head(commit, over=None if before is None else before.head)
        if done:
            return WorkspaceState(commit, manifest), True
        current = self.state()
        if current is None:
            raise StoreUnavailable("the commit was neither written nor found")
        return current, False

    def _committed(self, digest: str) -> Digests:
        known = self._manifest
        if known is not None and known[0] == digest:
            return known[1]
        stored = self.objects.get(f"manifests/{digest}")
        if stored is None or sha256_hex(stored.content) != digest:
            raise StoreUnavailable("the committed manifest is missing from the object store")
        files: Digests = json.loads(stored.content)["files"]
        self._manifest = (digest, files)
        return files

    def _keep(self, key: str, content: bytes) -> None:
        try:
            self.objects.create(key, content)
        except AlreadyExists:
            stored = self.objects.get(key)
            if stored is None or stored.content != content:
                raise StoreUnavailable("an object differs from its digest") from None


def next_commit(
    guid: str, before: WorkspaceCommit | None, manifest: str, change: dict[str, Any], publishing: str | None = None
) -> WorkspaceCommit:
    """The commit after a change; its head covers the head before, the manifest and the change."""
    sequence = 1 if before is None else before.sequence + 1
    previous = None if before is None else before.head
    chained = {
        "schema": HEAD,
        "workspace": guid,
        "sequence": sequence,
        "previous": previous,
        "manifest": manifest,
        "change": change,
    }
    return WorkspaceCommit(guid, sequence, sha256_hex(canonical(chained)), manifest, publishing)


def manifest_bytes(manifest: Digests) -> bytes:
    """The canonical form of a manifest, whose SHA-256 is `source_manifest_sha256`."""
    return canonical({"schema": MANIFEST, "files": dict(manifest)})


def policy_digest(settings: str | None, ignore: Iterable[str]) -> str:
    """SHA-256 of the rules in force: the contract's own, `.kb.yml` and `.kbignore`."""
    policy = {"schema": POLICY, "rules": _RULES, "settings": settings or "", "ignore": list(ignore)}
    return sha256_hex(canonical(policy))


def _read(tree: SourceTree) -> WorkspaceFiles:
    try:
        settings = parse_settings(tree.settings)
    except InvalidSettings:
        settings = KnowledgeBaseSettings()  # as the index does; the digest of the policy covers the text itself
    return WorkspaceFiles(
        revision=tree.revision,
        contents={file.path: file.content for file in tree.files},
        digests={file.path: sha256_hex(file.content) for file in tree.files},
        settings=settings,
        policy=policy_digest(tree.settings, tree.ignore),
    )
