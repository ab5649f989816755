"""Where the index of each knowledge base is kept: its key in the store, and the pointer to the current one."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass

from lamina.contract.ids import Revision
from lamina.contract.ports import ObjectStore
from lamina.index.sealed import FORMAT

BASELINE = "baseline"

_ROOT = f"index/v{FORMAT}"
_UNSAFE = re.compile(r"[^A-Za-z0-9.-]+")
_NO_OVERLAY = "-"


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
    """The part of keys that names a knowledge base; None is the baseline alone."""
    if knowledge_base is None:
        return BASELINE
    return "kb-" + _UNSAFE.sub("-", knowledge_base)


def snapshot_prefix(name: str, revision: Revision) -> str:
    """What the keys of all snapshots of one revision begin with."""
    return f"{_ROOT}/{name}_{revision.overlay or _NO_OVERLAY}_{revision.baseline}_"


def snapshot_key(name: str, revision: Revision, config: str, retry: int = 0) -> str:
    """The key of a snapshot; `retry` counts refused objects under the same name, which are left for inspection."""
    return f"{snapshot_prefix(name, revision)}{config}{f'.r{retry}' if retry else ''}.pkl"


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
    return f"settings/{name}.yml"


def read_pointer(store: ObjectStore, name: str) -> tuple[Pointer | None, str | None]:
    """The pointer and its version in the store. A damaged one is no pointer, but has a version to mend it by."""
    stored = store.get(pointer_key(name))
    if stored is None:
        return None, None
    try:
        fields = json.loads(stored.content)
        return Pointer(**{**fields, "earlier": tuple(fields.get("earlier", ()))}), stored.version
    except (ValueError, TypeError, AttributeError):
        return None, stored.version


def write_pointer(store: ObjectStore, name: str, pointer: Pointer, version: str | None) -> None:
    """Moves the pointer, from exactly `version`, or from none. Raises AlreadyExists where another moved it first."""
    content = json.dumps(asdict(pointer), sort_keys=True).encode()
    if version is None:
        store.create(pointer_key(name), content)
    else:
        store.replace(pointer_key(name), content, version=version)
