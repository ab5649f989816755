"""Accepted notes as files of a local workspace: each written whole or not at all, never through a link."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from lamina.contract.ids import sha256_hex
from lamina.contract.ports import AlreadyExists, StoredObject, StoreUnavailable
from lamina.stores.keys import check_key


class NoteFiles:
    """Files below `root`; `writing` is a folder on the same disk where a file is prepared."""

    def __init__(self, root: Path, writing: Path) -> None:
        self._root = root
        self._writing = writing

    def get(self, key: str) -> StoredObject | None:
        """The file at a path, or None. Raises StoreUnavailable for anything there that is no plain file."""
        check_key(key)
        try:
            self._refuse_links(key)
            handle = os.open(self._root / key, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(handle, "rb") as file:
                content = file.read()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise StoreUnavailable(f"cannot read {key}: {error.strerror}") from error
        return StoredObject(content, sha256_hex(content))

    def create(self, key: str, content: bytes) -> None:
        """Writes a file that must not exist yet; AlreadyExists if it does."""
        check_key(key)
        target = self._root / key
        try:
            self._refuse_links(key)
            target.parent.mkdir(parents=True, exist_ok=True)
            self._writing.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self._writing)
            prepared = Path(name)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(handle)
                # The note is for everyone who may read the workspace, unlike a temporary file.
                prepared.chmod(0o666 & ~_umask())
                os.link(prepared, target)  # unlike a rename, a link never takes the place of another file
            finally:
                prepared.unlink(missing_ok=True)
            _sync(target.parent)
        except FileExistsError as error:
            raise AlreadyExists(key) from error
        except OSError as error:
            raise StoreUnavailable(f"cannot write {key}: {error.strerror}") from error

    def _refuse_links(self, key: str) -> None:
        """A folder that is a link may lead out of the workspace, where no reader would find the note."""
        folder = self._root
        for part in key.split("/")[:-1]:
            folder /= part
            if folder.is_symlink():
                raise StoreUnavailable(f"{part} is a symbolic link")


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _sync(folder: Path) -> None:
    """Makes a new name outlive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
