"""A file that a package of the registry brings, taken as data: its code is never imported, its bytes are checked."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from lamina.contract.ports import EncoderUnavailable


@dataclass(frozen=True, slots=True)
class PackagedFile:
    """A file of an installed package, by its path there and the SHA-256 that it must have."""

    package: str
    path: str
    sha256: str

    @property
    def is_there(self) -> bool:
        """Whether the package is installed and holds the file."""
        place = self._place()
        return place is not None and place.is_file()

    def read(self) -> bytes:
        """The file's bytes. Raises EncoderUnavailable where it is missing or another file."""
        place = self._place()
        try:
            content = None if place is None else place.read_bytes()
        except OSError:
            content = None
        if content is None:
            raise EncoderUnavailable(f"{self.path} of the package {self.package} is missing: install the package again")
        if hashlib.sha256(content).hexdigest() != self.sha256:
            raise EncoderUnavailable(
                f"{self.path} of the package {self.package} is not the file that is expected: install the version "
                "that the lock names"
            )
        return content

    def _place(self) -> Path | None:
        try:
            return Path(str(distribution(self.package).locate_file(self.path)))
        except PackageNotFoundError:
            return None
