"""Records as JSONL files on disk, in the layout that they have in the bucket: a folder a day."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from lamina.telemetry.record import Record


@dataclass(frozen=True, slots=True)
class FileSink:
    """Appends to `{root}/records/day=YYYY-MM-DD/records-{process}.jsonl`, a file a process."""

    root: Path

    def write(self, record: Record) -> None:
        """Appends one line in one write, so that lines of several threads never mix."""
        folder = self.root / "records" / f"day={record.timestamp[:10]}"
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / f"records-{os.getpid()}.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(handle, record.line().encode() + b"\n")
        finally:
            os.close(handle)
