"""The ledger of a knowledge workspace in a SQLite file: each method one transaction, the audit trail append-only."""

from __future__ import annotations

import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lamina.contract.ports import (
    AuditEntry,
    CommitOutcome,
    Proposal,
    ProposalDraft,
    ProposalStatus,
    StoreUnavailable,
    TooManyWaiting,
    WorkspaceCommit,
)
from lamina.stores.database import open_database

_BUSY_SECONDS = 20.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS seal (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    workspace TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    head TEXT NOT NULL,
    manifest TEXT NOT NULL,
    publishing TEXT
);
CREATE TABLE IF NOT EXISTS proposals (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    owner TEXT NOT NULL,
    key TEXT NOT NULL,
    payload TEXT NOT NULL,
    proposed_at TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('pending', 'accepted', 'rejected')),
    path TEXT,
    head TEXT,
    UNIQUE (owner, key)
);
CREATE INDEX IF NOT EXISTS proposals_waiting ON proposals (id) WHERE status = 'pending';
CREATE TABLE IF NOT EXISTS audit (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    pending_id INTEGER NOT NULL,
    transition TEXT NOT NULL,
    at TEXT NOT NULL,
    by TEXT NOT NULL,
    detail TEXT NOT NULL,
    UNIQUE (pending_id, transition)
);
CREATE TRIGGER IF NOT EXISTS audit_stays BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
CREATE TRIGGER IF NOT EXISTS audit_is_kept BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
CREATE TRIGGER IF NOT EXISTS proposals_are_kept BEFORE DELETE ON proposals
BEGIN SELECT RAISE(ABORT, 'proposals are kept'); END;
"""
_PROPOSAL = "id, owner, key, payload, proposed_at, status, path, head"
_SEAL = "workspace, sequence, head, manifest, publishing"


class SqliteLedger:
    """The ledger in the database at `path`, which is made at the first write. Processes may share it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def latest_commit(self) -> WorkspaceCommit | None:
        """The current commit, None before the workspace is initialised."""
        with self._reading() as connection:
            return None if connection is None else _seal(connection)

    def replace_head(self, commit: WorkspaceCommit, *, over: str | None) -> bool:
        """Writes the commit if the head still is `over` (None: there is no commit yet), and says whether it did."""
        with self._writing() as connection:
            current = _seal(connection)
            if (None if current is None else current.head) != over:
                return False
            _put_commit(connection, commit)
            return True

    def published(self, head: str) -> None:
        """Notes that nothing is left to publish of `head`; nothing happens where the head has moved."""
        with self._writing() as connection:
            connection.execute("UPDATE seal SET publishing = NULL WHERE head = ?", (head,))

    def add(self, draft: ProposalDraft, *, most_waiting: int) -> tuple[Proposal, bool]:
        """The row of the draft's owner and key, and whether it is new. Raises TooManyWaiting for a new one."""
        with self._writing() as connection:
            found = connection.execute(
                f"SELECT {_PROPOSAL} FROM proposals WHERE owner = ? AND key = ?",  # noqa: S608 - constants
                (draft.owner, draft.key),
            ).fetchone()
            if found is not None:
                return _proposal(found), False
            waiting = connection.execute("SELECT count(*) FROM proposals WHERE status = 'pending'").fetchone()
            if waiting[0] >= most_waiting:
                raise TooManyWaiting
            added = connection.execute(
                "INSERT INTO proposals (owner, key, payload, proposed_at, status) VALUES (?, ?, ?, ?, 'pending')",
                (draft.owner, draft.key, draft.payload, draft.proposed_at),
            )
            number = int(added.lastrowid or 0)
            return Proposal(number, draft.owner, draft.key, draft.payload, draft.proposed_at), True

    def proposal(self, number: int) -> Proposal | None:
        """The row of that number."""
        with self._reading() as connection:
            if connection is None:
                return None
            found = connection.execute(
                f"SELECT {_PROPOSAL} FROM proposals WHERE id = ?",  # noqa: S608 - constants
                (number,),
            ).fetchone()
            return None if found is None else _proposal(found)

    def waiting(self) -> Iterator[Proposal]:
        """The pending rows by number."""
        with self._reading() as connection:
            rows = (
                []
                if connection is None
                else connection.execute(
                    f"SELECT {_PROPOSAL} FROM proposals WHERE status = 'pending' ORDER BY id"  # noqa: S608 - constants
                ).fetchall()
            )
        return (_proposal(row) for row in rows)

    def append(self, entry: AuditEntry) -> None:
        """Adds an entry; one of the same pending id and transition stays as it is."""
        with self._writing() as connection:
            connection.execute(
                "INSERT INTO audit (pending_id, transition, at, by, detail) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT (pending_id, transition) DO NOTHING",
                (entry.pending_id, entry.transition, entry.at, entry.by, entry.detail),
            )

    def audit(self) -> Iterator[AuditEntry]:
        """Every entry by pending id, in the order of appending within one."""
        with self._reading() as connection:
            rows = (
                []
                if connection is None
                else connection.execute(
                    "SELECT pending_id, transition, at, by, detail FROM audit ORDER BY pending_id, number"
                ).fetchall()
            )
        return (AuditEntry(*row) for row in rows)

    def commit(
        self, decided: Proposal, *, commit: WorkspaceCommit | None = None, over: str | None = None
    ) -> CommitOutcome:
        """Writes a decided row over the same row still pending; with `commit`, also replaces the commit `over`."""
        with self._writing() as connection:
            state = connection.execute(
                "SELECT 1 FROM proposals WHERE id = ? AND status = 'pending' AND payload = ?",
                (decided.id, decided.payload),
            ).fetchone()
            if state is None:
                return CommitOutcome.ROW_CHANGED
            if commit is not None:
                current = _seal(connection)
                if current is None or current.head != over:
                    return CommitOutcome.HEAD_MOVED
                _put_commit(connection, commit)
            connection.execute(
                "UPDATE proposals SET status = ?, path = ?, head = ? WHERE id = ?",
                (str(decided.status), decided.path, decided.head, decided.id),
            )
            return CommitOutcome.DONE

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        """The database, None where there is none yet: a read makes no file."""
        with self._lock, _answering():
            yield self._opened() if self._connection is not None or self._path.exists() else None

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction that holds the write lock from its start; an exception undoes it."""
        with self._lock, _answering():
            connection = self._opened()
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                yield connection

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            # A decision that was answered must outlive a power cut.
            self._connection = open_database(self._path, _SCHEMA, synchronous="FULL", busy_seconds=_BUSY_SECONDS)
            weakref.finalize(self, self._connection.close)
        return self._connection


def _seal(connection: sqlite3.Connection) -> WorkspaceCommit | None:
    row = connection.execute(f"SELECT {_SEAL} FROM seal").fetchone()  # noqa: S608 - constants
    return None if row is None else WorkspaceCommit(*row)


def _put_commit(connection: sqlite3.Connection, commit: WorkspaceCommit) -> None:
    connection.execute(
        f"INSERT OR REPLACE INTO seal (one, {_SEAL}) VALUES (1, ?, ?, ?, ?, ?)",  # noqa: S608 - constants
        (commit.workspace, commit.sequence, commit.head, commit.manifest, commit.publishing),
    )


def _proposal(row: tuple[int, str, str, str, str, str, str | None, str | None]) -> Proposal:
    number, owner, key, payload, proposed_at, status, path, head = row
    return Proposal(number, owner, key, payload, proposed_at, ProposalStatus(status), path, head)


@contextmanager
def _answering() -> Iterator[None]:
    """What SQLite and the file system refuse is StoreUnavailable."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise StoreUnavailable(f"the ledger did not answer: {type(error).__name__}") from error
