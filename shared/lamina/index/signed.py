"""The envelope of a stored index: plain data, pickled, signed, and refused unless every check holds.

Layout: magic, manifest length (4 bytes, big-endian), manifest as JSON, HMAC-SHA256 of the manifest (32 bytes),
pickle. The manifest holds the pickle's SHA-256, so the signature covers both; nothing is unpickled before both
are verified.
"""

from __future__ import annotations

import hashlib
import hmac
import io
import json
import pickle
from dataclasses import asdict, dataclass
from typing import Any, NoReturn

# A change of what a snapshot holds makes a new number, and with it a new place in the store.
FORMAT = 6

_MAGIC = b"LAMINA\x00\x01"
_SIGNATURE_BYTES = 32
_MANIFEST_LIMIT = 64 * 1024


# What the unpickler raises for opcodes that nobody would write, lengths past all memory among them.
_UNREADABLE = (
    pickle.UnpicklingError,
    EOFError,
    ValueError,
    LookupError,
    AttributeError,
    TypeError,
    OverflowError,
    MemoryError,
    RecursionError,
)


class SnapshotRefused(Exception):  # noqa: N818
    """Stored bytes that must not be used; the message says which check failed, and holds nothing of theirs."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is known of an index before it is opened: `name` whose it is, `inputs` what it was made of, `build` when."""

    format: int
    kind: str
    documents: int
    revision: str
    config: str
    sha256: str
    payload_bytes: int
    name: str = ""
    inputs: str = ""
    build: int = 0


def sign(
    data: dict[str, Any],
    key: bytes,
    *,
    kind: str,
    documents: int,
    revision: str,
    config: str,
    name: str = "",
    inputs: str = "",
    build: int = 0,
) -> bytes:
    """Plain data as signed bytes. Raises SnapshotRefused where the data holds anything but plain values."""
    payload = pickle.dumps(data, protocol=5)
    _load_plain(payload)
    sha256 = hashlib.sha256(payload).hexdigest()
    manifest = Manifest(FORMAT, kind, documents, revision, config, sha256, len(payload), name, inputs, build)
    header = json.dumps(asdict(manifest), sort_keys=True, separators=(",", ":")).encode()
    return b"".join((_MAGIC, len(header).to_bytes(4, "big"), header, _signature(header, key), payload))


def verify(content: bytes, key: bytes, *, kind: str) -> tuple[Manifest, dict[str, Any]]:
    """The manifest and data of signed bytes. Raises SnapshotRefused before anything of the pickle is read."""
    view = memoryview(content)
    start = len(_MAGIC) + 4
    if len(content) < start or view[: len(_MAGIC)] != _MAGIC:
        raise SnapshotRefused("not a signed index")
    length = int.from_bytes(view[len(_MAGIC) : start], "big")
    if length > _MANIFEST_LIMIT or len(content) < start + length + _SIGNATURE_BYTES:
        raise SnapshotRefused("truncated")
    header = bytes(view[start : start + length])
    signature = bytes(view[start + length : start + length + _SIGNATURE_BYTES])
    if not hmac.compare_digest(signature, _signature(header, key)):
        raise SnapshotRefused("signature does not verify")
    try:
        manifest = Manifest(**json.loads(header))
    except (ValueError, TypeError) as error:
        raise SnapshotRefused("the manifest is of another version") from error
    payload = view[start + length + _SIGNATURE_BYTES :]
    if manifest.format != FORMAT:
        raise SnapshotRefused(f"format {manifest.format} where {FORMAT} is read")
    if manifest.kind != kind:
        raise SnapshotRefused(f"a {manifest.kind} where a {kind} is read")
    if len(payload) != manifest.payload_bytes or hashlib.sha256(payload).hexdigest() != manifest.sha256:
        raise SnapshotRefused("content differs from its manifest")
    return manifest, _load_plain(payload)


def _signature(header: bytes, key: bytes) -> bytes:
    return hmac.new(key, _MAGIC + header, hashlib.sha256).digest()


class _PlainUnpickler(pickle.Unpickler):
    """Reads dict, list, tuple, str, bytes, numbers, bool and None: whatever names a class is refused."""

    def find_class(self, module_name: str, global_name: str, /) -> NoReturn:
        raise SnapshotRefused("the pickle names a class")

    def persistent_load(self, pid: Any, /) -> NoReturn:
        raise SnapshotRefused("the pickle names a persistent object")


def _load_plain(payload: bytes | memoryview) -> dict[str, Any]:
    try:
        data = _PlainUnpickler(io.BytesIO(payload)).load()
    except _UNREADABLE as error:
        raise SnapshotRefused("the pickle cannot be read") from error
    if not isinstance(data, dict):
        raise SnapshotRefused("the pickle is not a mapping")
    return data
