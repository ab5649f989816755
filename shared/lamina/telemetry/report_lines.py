"""Where a report finds the records of a day: files in folders, or the objects that a delivery stream wrote."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import BinaryIO, Protocol

from lamina.contract.ports import ObjectStore

LONGEST_LINE = 64 * 1024
# The stream names a folder by the hour of arrival, so a record of 23:59 may lie in the first hour of the next day.
_FIRST_HOUR = "00-"
_GZIP = b"\x1f\x8b"


class RecordLines(Protocol):
    """Records as they were written, one JSON line each."""

    def of_day(self, day: date) -> Iterator[bytes]:
        """All lines that may hold a record of that UTC day, in no order. Raises StoreUnavailable, OSError."""


@dataclass(frozen=True, slots=True)
class FolderLines:
    """Reads `{root}/records/day=YYYY-MM-DD/*.jsonl`."""

    root: Path

    def of_day(self, day: date) -> Iterator[bytes]:
        """All lines of a day, without ever holding a file."""
        for path in sorted((self.root / "records" / f"day={day}").glob("*.jsonl")):
            with path.open("rb") as file:
                yield from _lines(file)


@dataclass(frozen=True, slots=True)
class StoreLines:
    """Reads the objects under `records/day=YYYY-MM-DD/HH-`, plain or gzip, one at a time."""

    store: ObjectStore

    def of_day(self, day: date) -> Iterator[bytes]:
        """All lines that arrived on a day or in the first hour of the next."""
        for prefix in (f"records/day={day}/", f"records/day={day + timedelta(days=1)}/{_FIRST_HOUR}"):
            for key in self.store.keys(prefix):
                stored = self.store.get(key)
                if stored is None:
                    continue
                content = io.BytesIO(stored.content)
                if stored.content.startswith(_GZIP):
                    with gzip.GzipFile(fileobj=content) as unpacked:
                        yield from _lines(unpacked)
                else:
                    yield from _lines(content)


def _lines(file: BinaryIO | gzip.GzipFile) -> Iterator[bytes]:
    while line := file.readline(LONGEST_LINE):
        yield line
