"""The signing key and the other secrets: from Secrets Manager on AWS, from files of the owner's locally."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lamina.contract.ports import StoreUnavailable
from lamina.runtime.settings import Settings

_KEY_BYTES = 32


class InsecureKey(StoreUnavailable):
    """The key file may be read or written by others: to a caller, a store that does not answer."""


@dataclass(slots=True)
class KeyReadOnce:
    """A key that is read at its first use, and again after `forget`."""

    read: Callable[[], bytes]
    _held: bytes | None = None

    def __call__(self) -> bytes:
        """The key. Raises what reading it raises."""
        if self._held is None:
            self._held = self.read()
        return self._held

    def forget(self) -> None:
        """Reads the key anew at the next use."""
        self._held = None


def signing_key_of(settings: Settings) -> KeyReadOnce:
    """The key of a deployment."""
    if settings.data is not None:
        path = settings.data / "signing.key"
        return KeyReadOnce(lambda: _file_key(path))
    secret = settings.signing_secret or ""
    return KeyReadOnce(lambda: _secret_key(secret))


def _file_key(path: Path) -> bytes:
    try:
        return local_key(path)
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be read or made: {error.strerror}") from error


def local_key(path: Path) -> bytes:
    """The key in a file, which is made where there is none. Raises InsecureKey where others may read it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    if not path.exists():
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secrets.token_bytes(_KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
        try:
            # Where another process made the key first, both use that one.
            with suppress(FileExistsError):
                os.link(draft, path)
        finally:
            draft.unlink()
    if path.stat().st_mode & 0o077:
        raise InsecureKey(f"{path} may be read by others. Run: chmod 600 {path}")
    key = path.read_bytes()
    if len(key) < _KEY_BYTES:
        raise InsecureKey(f"{path} holds no whole key. Remove it and build the index again.")
    return key


def secret_of(settings: Settings, name: str | None, file: str) -> Callable[[], bytes | None]:
    """A function that gives a shared secret: from Secrets Manager, or locally from a file in the data folder."""
    if settings.data is not None:
        path = settings.data / file
        return cache(lambda: _secret_file(path))
    return cache(lambda: _secret_key(name) if name else None)


def _secret_file(path: Path) -> bytes | None:
    try:
        return path.read_bytes().strip() if path.is_file() else None
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be read: {error.strerror}") from error


def _secret_key(name: str) -> bytes:
    """The value of a secret in Secrets Manager. Raises StoreUnavailable where it cannot be read."""
    from lamina.stores.aws import FAILURES, make_client

    try:
        # Within a function's ten seconds there has to be time left to say that it failed.
        client = make_client("secretsmanager", at_cold_start=True, read_seconds=1.5, attempts=2)
        value = client.get_secret_value(SecretId=name)
    except FAILURES as error:
        raise StoreUnavailable(f"the secret cannot be read: {type(error).__name__}") from error
    text = value.get("SecretString")
    return bytes(value["SecretBinary"]) if text is None else str(text).encode()
