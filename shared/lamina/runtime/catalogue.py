"""Where the index of each knowledge base is kept: its key in the store, and the pointer to the current one."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass

from lamina.contract.ids import Revision, sha256_hex
from lamina.contract.ports import ObjectStore
from lamina.index.signed import FORMAT

logger = logging.getLogger(__name__)

BASELINE = "baseline"
SETTINGS_PREFIX = "settings/"

_ROOT = f"index/v{FORMAT}"
# Keys part their fields by "_", so a name may not hold one.
_UNSAFE = re.compile(r"[^A-Za-z0-9.-]")
_LONGEST_NAME = 100
_KEY = re.compile(rf"{_ROOT}/[A-Za-z0-9.~_-]{{1,220}}\.pkl")
_NO_OVERLAY = _NO_VECTORS = "-"


@dataclass(frozen=True, slots=True)
class Pointer:
    """The current index of a knowledge base; `inputs` is a digest of all that decides what it holds.

    `build` grows with each build of a name, so that an older pointer is known for what it is.

    `earlier` are the snapshots before it that are still kept for callers who page through them, newest first.
    """

    key: str
    sha256: str
    revision: str
    inputs: str
    build: int
    earlier: tuple[str, ...] = ()


def index_name(knowledge_base: str | None) -> str:
    """The part of keys that names a knowledge base; None is the baseline alone. No two names share one."""
    if knowledge_base is None:
        return BASELINE
    spelt = _UNSAFE.sub(_escaped, knowledge_base)
    if len(spelt) > _LONGEST_NAME:
        # "~~" is in no spelling that is short enough to stay whole.
        spelt = f"{spelt[:_LONGEST_NAME]}~~{sha256_hex(knowledge_base.encode())[:32]}"
    return f"kb-{spelt}"


def snapshot_prefix(name: str, revision: Revision) -> str:
    """What the keys of all snapshots of one revision begin with."""
    sources = f"{revision.overlay or _NO_OVERLAY}_{revision.baseline}"
    return f"{_ROOT}/{name}_{sources}_{revision.vectors or _NO_VECTORS}_"


def snapshot_key(name: str, revision: Revision, config: str, retry: int = 0) -> str:
    """The key of a snapshot; `retry` counts refused objects under the same name, which are left for inspection."""
    return f"{snapshot_prefix(name, revision)}{config}{f'.r{retry}' if retry else ''}.pkl"


def vectors_key(key: str) -> str:
    """The key of the vectors that belong to the snapshot under `key`."""
    return f"{_ROOT}/vectors/{key.removeprefix(_ROOT + '/')}"


def pointer_key(name: str) -> str:
    """The key of the pointer."""
    return f"{_ROOT}/pointers/{name}.json"


def newest_build_key(name: str) -> str:
    """The key of a second copy of the newest pointer, by which a build sees that the first was put back."""
    return f"{_ROOT}/builds/{name}.json"


def cache_key(name: str) -> str:
    """The key of what a build remembers for the next."""
    return f"{_ROOT}/parsed/{name}.pkl"


def lease_key(name: str) -> str:
    """The key whose owner is building."""
    return f"{_ROOT}/leases/{name}.json"


def settings_key(name: str) -> str:
    """The key of the settings that the operator lays over a knowledge base's own."""
    return f"{SETTINGS_PREFIX}{name}.yml"


def read_pointer(store: ObjectStore, name: str, signing_key: Callable[[], bytes]) -> tuple[Pointer | None, str | None]:
    """The pointer and its version in the store. A damaged or unsigned one is none, but has a version to mend it by."""
    stored = store.get(pointer_key(name))
    if stored is None:
        return None, None
    return _pointer(stored.content, name, signing_key()), stored.version


def write_pointer(store: ObjectStore, name: str, pointer: Pointer, version: str | None, key: bytes) -> None:
    """Moves the pointer, from exactly `version`, or from none. Raises AlreadyExists where another moved it first."""
    content = _signed(name, pointer, key)
    if version is None:
        store.create(pointer_key(name), content)
    else:
        store.replace(pointer_key(name), content, version=version)


def newest_build(store: ObjectStore, name: str, signing_key: Callable[[], bytes]) -> int:
    """The number of the newest build that is remembered, 0 where none is."""
    stored = store.get(newest_build_key(name))
    pointer = None if stored is None else _pointer(stored.content, name, signing_key())
    return 0 if pointer is None else pointer.build


def remember_build(store: ObjectStore, name: str, pointer: Pointer, key: bytes) -> None:
    """Keeps the copy of the pointer that `newest_build` reads."""
    store.replace(newest_build_key(name), _signed(name, pointer, key))


def _signed(name: str, pointer: Pointer, key: bytes) -> bytes:
    fields = asdict(pointer)
    return json.dumps({**fields, "signature": _signature(name, fields, key)}, sort_keys=True).encode()


def _signature(name: str, fields: dict[str, object], key: bytes) -> str:
    said = json.dumps(["lamina pointer", name, fields], sort_keys=True).encode()
    return hmac.new(key, said, hashlib.sha256).hexdigest()


def _pointer(content: bytes, name: str, key: bytes) -> Pointer | None:
    try:
        fields = json.loads(content)
        signature = fields.pop("signature")
        is_signed = hmac.compare_digest(str(signature).encode(), _signature(name, fields, key).encode())
        pointer = Pointer(**{**fields, "earlier": tuple(fields.get("earlier", ()))})
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        is_signed, pointer = False, None
    if pointer is None or not is_signed:
        logger.error("the pointer of %s is refused: it is damaged or not signed for this name", name)
        return None
    texts = (pointer.sha256, pointer.revision, pointer.inputs)
    keys = (pointer.key, *pointer.earlier)
    is_whole = all(isinstance(text, str) for text in texts) and all(_is_key(key) for key in keys)
    return pointer if is_whole and isinstance(pointer.build, int) else None


def _is_key(key: object) -> bool:
    return isinstance(key, str) and _KEY.fullmatch(key) is not None


def _escaped(character: re.Match[str]) -> str:
    return "".join(f"~{byte:02x}" for byte in character[0].encode())
