"""Opens a SQLite database that several processes of one owner share."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path

_PAUSE = 0.01


def open_database(path: Path, schema: str, *, synchronous: str, busy_seconds: float) -> sqlite3.Connection:
    """A connection in WAL mode, its tables made. `synchronous` is SQLite's: FULL outlives a power cut, NORMAL may not.

    Raises sqlite3.Error and OSError.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # SQLite gives its log and shared memory the permissions of the database.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    connection = sqlite3.connect(path, timeout=busy_seconds, isolation_level=None, check_same_thread=False)
    until = time.monotonic() + busy_seconds
    try:
        while not _prepared(connection, schema, synchronous, last=time.monotonic() >= until):
            time.sleep(_PAUSE)
    except sqlite3.Error:
        connection.close()  # else each call on a damaged file would leave one more open
        raise
    return connection


def _prepared(connection: sqlite3.Connection, schema: str, synchronous: str, *, last: bool) -> bool:
    """Whether the database is in WAL mode with its tables. SQLite does not wait for another process that sets it so."""
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        connection.executescript(schema)
    except sqlite3.OperationalError as error:
        if last or error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
            raise
        return False
    return True
