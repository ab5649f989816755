"""The required governance files: which every deployment must be able to read, and the bundled short version of each."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

from lamina.contract.ids import sha256_hex
from lamina.contract.ports import SourceFile

DEFINITION_OF_DONE = "canon/constraints/definition-of-done.md"
WRITING_CANON = "canon/meta/writing-canon.md"


@dataclass(frozen=True, slots=True)
class RequiredFile:
    """A required file: its repository path, why it is required, and the actions that degrade without it."""

    path: str
    purpose: str
    needed_by: tuple[str, ...]
    optional: bool


@cache
def required_files() -> tuple[RequiredFile, ...]:
    """The manifest, in its order."""
    manifest = json.loads(_folder().joinpath("MANIFEST.json").read_text("utf-8"))
    return tuple(
        RequiredFile(entry["path"], entry["purpose"], tuple(entry["needed_by"]), entry["optional"])
        for entry in manifest["required"]
    )


def required_paths() -> tuple[str, ...]:
    """The paths of the manifest."""
    return tuple(file.path for file in required_files())


def bundled_files() -> tuple[SourceFile, ...]:
    """The bundled version of each required file that has one."""
    found = ((path, _folder().joinpath(path)) for path in required_paths())
    return tuple(SourceFile(path, file.read_bytes()) for path, file in found if file.is_file())


def bundle_revision() -> str:
    """Digest of the bundle."""
    return sha256_hex(b"".join(file.path.encode() + file.content for file in bundled_files()))


def _folder() -> Traversable:
    return resources.files("lamina.governance").joinpath("baseline")
