"""Where the index of each knowledge base is kept: its key in the store, and the pointer to the current one."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass

from lamina.contract.ids import Revision, sha256_hex
from lamina.contract.ports import ObjectStore
from lamina.index.signed import FORMAT

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

    `earlier` are the snapshots before it that are still kept for callers who page through them, newest first.
    """

    key: str
    sha256: str
    revision: str
    inputs: str
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


def cache_key(name: str) -> str:
    """The key of what a build remembers for the next."""
    return f"{_ROOT}/parsed/{name}.pkl"


def lease_key(name: str) -> str:
    """The key whose owner is building."""
    return f"{_ROOT}/leases/{name}.json"


def settings_key(name: str) -> str:
    """The key of the settings that the operator lays over a knowledge base's own."""
    return f"{SETTINGS_PREFIX}{name}.yml"


def read_pointer(store: ObjectStore, name: str) -> tuple[Pointer | None, str | None]:
    """The pointer and its version in the store. A damaged one is no pointer, but has a version to mend it by."""
    stored = store.get(pointer_key(name))
    if stored is None:
        return None, None
    return _pointer(stored.content), stored.version


def write_pointer(store: ObjectStore, name: str, pointer: Pointer, version: str | None) -> None:
    """Moves the pointer, from exactly `version`, or from none. Raises AlreadyExists where another moved it first."""
    content = json.dumps(asdict(pointer), sort_keys=True).encode()
    if version is None:
        store.create(pointer_key(name), content)
    else:
        store.replace(pointer_key(name), content, version=version)


def _pointer(content: bytes) -> Pointer | None:
    try:
        fields = json.loads(content)
        pointer = Pointer(**{**fields, "earlier": tuple(fields.get("earlier", ()))})
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
    texts = (pointer.sha256, pointer.revision, pointer.inputs)
    keys = (pointer.key, *pointer.earlier)
    is_whole = all(isinstance(text, str) for text in texts) and all(_is_key(key) for key in keys)
    return pointer if is_whole else None


def _is_key(key: object) -> bool:
    return isinstance(key, str) and _KEY.fullmatch(key) is not None


def _escaped(character: re.Match[str]) -> str:
    return "".join(f"~{byte:02x}" for byte in character[0].encode())
