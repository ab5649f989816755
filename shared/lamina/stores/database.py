"""Opens a SQLite database that several processes of one owner share."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path


def open_database(path: Path, schema: str, *, synchronous: str, busy_seconds: float) -> sqlite3.Connection:
    """A connection in WAL mode, its tables made. `synchronous` is SQLite's: FULL outlives a power cut, NORMAL may not.

    Raises sqlite3.Error and OSError.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # SQLite gives its log and shared memory the permissions of the database.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    connection = sqlite3.connect(path, timeout=busy_seconds, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        connection.executescript(schema)
    except sqlite3.Error:
        connection.close()  # else each call on a damaged file would leave one more open
        raise
    return connection
