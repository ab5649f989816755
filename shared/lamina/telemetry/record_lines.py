"""Where a report finds the records of a day: files in folders, or the objects that a delivery stream wrote."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import BinaryIO, Protocol

from lamina.contract.ports import ObjectStore

LONGEST_LINE = 64 * 1024
# The stream names an object by the hour in which its oldest record arrived, so records of the minutes around
# midnight may lie with the day before or after.
_FIRST_HOUR, _LAST_HOUR = "00-", "23-"
_GZIP = b"\x1f\x8b"


class RecordLines(Protocol):
    """Records as they were written, one JSON line each."""

    def of_days(self, days: Sequence[date]) -> Iterator[bytes]:
        """All lines that may hold a record of these successive UTC days, each once, in no order.

        Raises StoreUnavailable, OSError.
        """


@dataclass(frozen=True, slots=True)
class FolderLines:
    """Reads `{root}/records/day=YYYY-MM-DD/*.jsonl`."""

    root: Path

    def of_days(self, days: Sequence[date]) -> Iterator[bytes]:
        """All lines of the days, without ever holding a file."""
        for day in days:
            for path in sorted((self.root / "records" / f"day={day}").glob("*.jsonl")):
                with path.open("rb") as file:
                    yield from _lines(file)


@dataclass(frozen=True, slots=True)
class StoreLines:
    """Reads the objects under `records/day=YYYY-MM-DD/HH-`, plain or gzip, one at a time."""

    store: ObjectStore

    def of_days(self, days: Sequence[date]) -> Iterator[bytes]:
        """All lines that arrived on the days, in the hour before them, or in the hour after."""
        for prefix in (
            f"records/day={days[0] - timedelta(days=1)}/{_LAST_HOUR}",
            *(f"records/day={day}/" for day in days),
            f"records/day={days[-1] + timedelta(days=1)}/{_FIRST_HOUR}",
        ):
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
