"""A database that several processes open at once, the first time too."""

from __future__ import annotations

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lamina.stores.database import open_database

SCHEMA = "CREATE TABLE IF NOT EXISTS counts (number INTEGER)"


def test_many_may_make_it_at_once(tmp_path: Path) -> None:
    for attempt in range(25):
        together = threading.Barrier(6)

        def opened(
            number: int, path: Path = tmp_path / f"{attempt}" / "counts", start: threading.Barrier = together
        ) -> None:
            start.wait()
            connection = open_database(path, SCHEMA, synchronous="NORMAL", busy_seconds=20)
            connection.execute("INSERT INTO counts VALUES (?)", (number,))
            connection.close()

        with ThreadPoolExecutor(6) as threads:
            list(threads.map(opened, range(6)))
        with sqlite3.connect(tmp_path / f"{attempt}" / "counts") as connection:
            assert connection.execute("SELECT sum(number) FROM counts").fetchone() == (15,)


def test_a_lock_that_stays_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "counts"
    with sqlite3.connect(path, isolation_level=None) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            open_database(path, SCHEMA, synchronous="NORMAL", busy_seconds=0.05)
