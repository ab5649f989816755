"""What the product needs of the world outside, as Protocols: an object store, a counter, Markdown sources."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class StoreUnavailable(Exception):  # noqa: N818 - named for what happened, not for its base
    """A store did not answer: time-out, throttling, fault. Never raised for a missing key."""


class AlreadyExists(Exception):  # noqa: N818
    """A conditional write lost: the key exists, or is not at the version that was expected."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    """Bytes under a key with the version tag to condition a later write on."""

    content: bytes
    version: str


class ObjectStore(Protocol):
    """Keyed bytes. Every method raises StoreUnavailable when the store does not answer."""

    def get(self, key: str) -> StoredObject | None:
        """The object under `key`, or None."""

    def create(self, key: str, content: bytes) -> None:
        """Writes a key that must not exist yet; AlreadyExists if it does. Readers see all or nothing."""

    def replace(self, key: str, content: bytes, *, version: str | None = None) -> None:
        """Writes a key whole; with `version`, only over exactly that version, else AlreadyExists."""

    def delete(self, key: str) -> None:
        """Removes a key; a missing one is no error."""

    def keys(self, prefix: str) -> Iterator[str]:
        """Keys that begin with `prefix`, in ascending order."""


class RateCounter(Protocol):
    """Counts calls of a caller within one clock window."""

    def add(self, caller: str, window: int, amount: int, limit: int, expires_at: int) -> bool:
        """Adds `amount` if the sum stays within `limit` and says whether it did. Atomic across processes."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One Markdown file: its path within the knowledge base, always with forward slashes, and its raw bytes."""

    path: str
    content: bytes


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file that a source passed over, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class SourceTree:
    """All that one revision of a source holds: `revision` is its full hexadecimal id.

    `settings` is the raw text of `.kb.yml` at the root, `ignore` the lines of `.kbignore`, `unread` the paths of
    files in formats that are not read.
    """

    revision: str
    files: tuple[SourceFile, ...]
    skipped: tuple[SkippedFile, ...] = ()
    settings: str | None = None
    ignore: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


class SourceUnavailable(Exception):  # noqa: N818
    """A source could not be read; `reason` is safe to show, `retry_after` is seconds where the host gave them."""

    def __init__(self, reason: str, retry_after: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_after = retry_after


class Source(Protocol):
    """Where a knowledge base's Markdown comes from."""

    @property
    def url(self) -> str:
        """The address as the allow list names it."""

    def revision(self) -> str:
        """The full id of what `fetch` would return now; SourceUnavailable if it cannot be told."""

    def fetch(self, revision: str) -> SourceTree:
        """The files of that revision; SourceUnavailable if it cannot be read."""


Headers = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class WorkspaceCommit:
    """What a knowledge workspace stands at.

    `workspace` is its GUID, `head` a digest that chains every accepted change, `manifest` the digest of its
    committed sources. `publishing` is the path of an accepted note that may not be among the files yet.
    """

    workspace: str
    sequence: int
    head: str
    manifest: str
    publishing: str | None = None


class ProposalStatus(StrEnum):
    """Where a proposal stands; the last two are final."""

    PENDING = "pending"
    ACCEPTED = "accepted"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class ProposalDraft:
    """A proposal that has no number yet. `payload` is canonical JSON, kept as it is.

    `owner` is who may review it, `key` what a repetition is known by among the owner's, `proposed_at` ISO 8601.
    """

    owner: str
    key: str
    payload: str
    proposed_at: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """A row of the queue. `path` and `head` say what accepting it published, and which head that made."""

    id: int
    owner: str
    key: str
    payload: str
    proposed_at: str
    status: ProposalStatus = ProposalStatus.PENDING
    path: str | None = None
    head: str | None = None


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One decision, known by (pending id, transition); `detail` is canonical JSON, `at` ISO 8601."""

    pending_id: int
    transition: str
    at: str
    by: str
    detail: str


class CommitOutcome(StrEnum):
    """What became of a conditional commit; only `done` has changed anything."""

    DONE = "done"
    ROW_CHANGED = "row changed"
    HEAD_MOVED = "head moved"


class TooManyWaiting(Exception):  # noqa: N818
    """As many proposals wait as may."""


class KnowledgeLedger(Protocol):
    """Commit, queue and audit trail of one workspace. Every method raises StoreUnavailable, and is atomic by itself."""

    def latest_commit(self) -> WorkspaceCommit | None:
        """The current commit, None before the workspace is initialised."""

    def replace_head(self, commit: WorkspaceCommit, *, over: str | None) -> bool:
        """Writes the commit if the head still is `over` (None: there is no commit yet), and says whether it did."""

    def published(self, head: str) -> None:
        """Notes that nothing is left to publish of `head`; nothing happens where the head has moved."""

    def add(self, draft: ProposalDraft, *, most_waiting: int) -> tuple[Proposal, bool]:
        """The row of the draft's owner and key, and whether it is new. Raises TooManyWaiting for a new one."""

    def proposal(self, number: int) -> Proposal | None:
        """The row of that number."""

    def waiting(self) -> Iterator[Proposal]:
        """The pending rows by number."""

    def append(self, entry: AuditEntry) -> None:
        """Adds an entry; one of the same pending id and transition stays as it is."""

    def audit(self) -> Iterator[AuditEntry]:
        """Every entry by pending id, in the order of appending within one."""

    def commit(
        self, decided: Proposal, *, commit: WorkspaceCommit | None = None, over: str | None = None
    ) -> CommitOutcome:
        """Writes a decided row over the same row still pending, with its payload unchanged.

        With `commit`, also replaces the commit whose head is `over`; both or nothing.
        """


class NoteFolder(Protocol):
    """Where accepted notes become files of the workspace. Any ObjectStore is one."""

    def get(self, key: str) -> StoredObject | None:
        """The file at a path, or None."""

    def create(self, key: str, content: bytes) -> None:
        """Writes a file that must not exist yet; AlreadyExists if it does. Readers see all or nothing."""


class BuildQueue(Protocol):
    """Takes requests for a build; `address` is a knowledge base's, None the baseline's."""

    def ask(self, address: str | None) -> None:
        """Notes the request and returns at once."""


class EncoderUnavailable(Exception):  # noqa: N818
    """An encoder is not installed, did not answer, or its file is another; the message says what to do."""


class Encoder(Protocol):
    """Turns texts into vectors of whole numbers, written as in `contract.vectors`. Safe for concurrent callers."""

    @property
    def name(self) -> str:
        """What made a vector: the model and a digest of it. Vectors of different names cannot be compared."""

    @property
    def dimensions(self) -> int:
        """Numbers of a vector."""

    def passages(self, texts: Sequence[str], progress: Callable[[int, int], None] = ...) -> list[bytes]:
        """The vector of each text, in order; `progress(done, total)` is told meanwhile. Raises EncoderUnavailable."""

    def query(self, text: str) -> bytes:
        """The vector of a question. Raises EncoderUnavailable."""
