"""An object store in a local folder: a file a key, written whole or not at all, safe across processes."""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lamina.contract.ids import sha256_hex
from lamina.contract.ports import AlreadyExists, StoredObject, StoreUnavailable
from lamina.stores.keys import check_key

_LOCK = ".lock"
_WRITING = ".writing"
_ABANDONED_SECONDS = 3600


class FolderStore:
    """Files under `root`, readable by their owner alone; `version` is the SHA-256 of the content.

    A write prepares the whole content beside the store, then, under a lock that all processes share, checks
    its condition and renames. A process killed at any moment leaves the old content or the new.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def get(self, key: str) -> StoredObject | None:
        """The object under `key`, or None."""
        check_key(key)
        try:
            content = (self._root / key).read_bytes()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
        except OSError as error:
            raise StoreUnavailable(f"cannot read {key}: {error.strerror}") from error
        return StoredObject(content, sha256_hex(content))

    def create(self, key: str, content: bytes) -> None:
        """Writes a key that must not exist yet; AlreadyExists if it does."""
        with self._prepared(key, content) as (prepared, target), self._locked():
            if target.is_file():
                raise AlreadyExists(key)
            _rename(prepared, target)

    def replace(self, key: str, content: bytes, *, version: str | None = None) -> None:
        """Writes a key whole; with `version`, only over exactly that version, else AlreadyExists."""
        with self._prepared(key, content) as (prepared, target), self._locked():
            if version is not None:
                current = self.get(key)
                if current is None or current.version != version:
                    raise AlreadyExists(key)
            _rename(prepared, target)

    def delete(self, key: str) -> None:
        """Removes a key; a missing one is no error."""
        check_key(key)
        target = self._root / key
        with _answering(key), self._locked():
            if target.is_file():
                target.unlink()

    def keys(self, prefix: str) -> Iterator[str]:
        """Keys that begin with `prefix`, in ascending order."""
        folder = prefix.rpartition("/")[0]
        if folder:
            check_key(folder)
        found: list[str] = []
        with _answering(prefix):
            for at, folders, files in os.walk(self._root / folder, onerror=_raise_unless_missing):
                folders[:] = [name for name in folders if not name.startswith(".")]
                below = Path(at).relative_to(self._root).as_posix()
                found += [name if below == "." else f"{below}/{name}" for name in files if name[0] != "."]
        return iter(sorted(key for key in found if key.startswith(prefix)))

    @contextmanager
    def _prepared(self, key: str, content: bytes) -> Iterator[tuple[Path, Path]]:
        """A file on the same disk that holds the content for good, and the place it is to take."""
        check_key(key)
        target = self._root / key
        writing = self._root / _WRITING
        with _answering(key):
            for folder in reversed((target.parent, *target.parent.parents)):
                if folder.is_relative_to(self._root):
                    folder.mkdir(mode=0o700, parents=folder == self._root, exist_ok=True)
            writing.mkdir(mode=0o700, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=writing)
            prepared = Path(name)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(handle)
                yield prepared, target
            finally:
                prepared.unlink(missing_ok=True)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Excludes other writers, threads and processes alike; a killed process lets go of the lock."""
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(self._root / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            _sweep(self._root / _WRITING)
            yield
        finally:
            os.close(handle)


def _rename(prepared: Path, target: Path) -> None:
    prepared.replace(target)
    # The new name has to outlive a power cut as the content does.
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _sweep(writing: Path) -> None:
    """Removes what killed writers left behind."""
    abandoned = time.time() - _ABANDONED_SECONDS
    with suppress(FileNotFoundError):
        for entry in os.scandir(writing):
            with suppress(FileNotFoundError):
                if entry.stat().st_mtime < abandoned:
                    Path(entry.path).unlink()


def _raise_unless_missing(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise error


@contextmanager
def _answering(key: str) -> Iterator[None]:
    """What the file system refuses is StoreUnavailable; a key that is a folder of others is ValueError."""
    try:
        yield
    except (NotADirectoryError, IsADirectoryError, FileExistsError) as error:
        raise ValueError(f"{key} and another key would need to be file and folder at once") from error
    except OSError as error:
        raise StoreUnavailable(f"cannot write {key}: {error.strerror}") from error
