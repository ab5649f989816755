"""Counts calls in a SQLite file that processes share: one short transaction a call, expired rows deleted."""

from __future__ import annotations

import sqlite3
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path

from lamina.contract.ports import StoreUnavailable
from lamina.stores.database import open_database

_BUSY_SECONDS = 5.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS calls (
    caller TEXT NOT NULL,
    window INTEGER NOT NULL,
    used INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (caller, window)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS calls_by_expiry ON calls (expires_at);
"""


class SqliteRateCounter:
    """A row per caller and window in the database at `path`, which is made at the first call.

    `clock` gives seconds since the epoch, the scale of `expires_at`.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def add(self, caller: str, window: int, amount: int, limit: int, expires_at: int) -> bool:
        """Adds `amount` if the sum stays within `limit` and says whether it did. Atomic across processes."""
        if amount > limit:
            return False
        try:
            with self._lock:
                return self._add(self._opened(), caller, window, amount, limit, expires_at)
        except (sqlite3.Error, OSError) as error:
            raise StoreUnavailable(f"the counter did not answer: {type(error).__name__}") from error

    def _add(
        self,
        connection: sqlite3.Connection,
        caller: str,
        window: int,
        amount: int,
        limit: int,
        expires_at: int,
    ) -> bool:
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            # Earlier windows alone: a clock that is ahead must not forget the window being counted.
            connection.execute("DELETE FROM calls WHERE expires_at < ? AND window < ?", (int(self._clock()), window))
            changed = connection.execute(
                "INSERT INTO calls VALUES (?, ?, ?, ?) ON CONFLICT (caller, window) "
                "DO UPDATE SET used = used + excluded.used, expires_at = excluded.expires_at "
                "WHERE used + excluded.used <= ?",
                (caller, window, amount, expires_at, limit),
            )
            return changed.rowcount == 1

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = open_database(self._path, _SCHEMA, synchronous="NORMAL", busy_seconds=_BUSY_SECONDS)
            weakref.finalize(self, self._connection.close)
        return self._connection
