"""What the product needs of the world outside, as Protocols: an object store, a counter, Markdown sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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

    `settings` is the raw text of `.kb.yml` at the root, `ignore` the lines of `.kbignore`.
    """

    revision: str
    files: tuple[SourceFile, ...]
    skipped: tuple[SkippedFile, ...] = ()
    settings: str | None = None
    ignore: tuple[str, ...] = ()


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
