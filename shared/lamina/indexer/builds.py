"""Builds on demand: who asks for one, who runs it, and that only one runs however many ask."""

from __future__ import annotations

import json
import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lamina.contract.errors import LaminaError
from lamina.contract.ports import AlreadyExists, ObjectStore, SourceUnavailable, StoreUnavailable
from lamina.index.build import Progress
from lamina.index.signed import SnapshotRefused
from lamina.indexer.indexing import Built, Feed, Indexer
from lamina.runtime.catalogue import index_name, lease_key, settings_key
from lamina.runtime.wiring import SourceOpener
from lamina.sources.address import Address, AllowedKnowledgeBase, AllowList

logger = logging.getLogger(__name__)

# A lease is renewed while its owner lives; after a crash the next build waits no longer than this.
LEASE_SECONDS = 60
RENEW_SECONDS = 15


@dataclass(frozen=True, slots=True)
class Builder:
    """Builds the indexes of a deployment, each under a lease.

    With `names_process` a lease says which process of which machine holds it, and one of a process that is gone is
    over at once: for one's own machine, where whoever builds can be looked at.
    """

    store: ObjectStore
    indexer: Indexer
    opener: SourceOpener
    baseline: Address
    allow: AllowList
    clock: Callable[[], float] = time.time
    names_process: bool = False

    def build(
        self,
        wanted: AllowedKnowledgeBase | None,
        progress: Progress = lambda done, total: None,
        encoding: Progress = lambda done, total: None,
        *,
        by_words: bool = False,
    ) -> Built | None:
        """Brings one index up to date, as `Indexer.index` does; None where another build of it is under way.

        Raises SourceUnavailable, StoreUnavailable; the index then stays as it was.
        """
        name = index_name(wanted.name if wanted else None)
        with self._lease(name) as mine:
            if not mine:
                logger.info("%s: another build is under way", name)
                return None
            return self.indexer.index(
                wanted.name if wanted else None,
                Feed(self.opener.open(self.baseline), self._settings(index_name(None))),
                Feed(self.opener.open(wanted.address), self._settings(name)) if wanted else None,
                progress,
                encoding,
                by_words=by_words,
            )

    def refresh(self, report: Callable[[str, Built | None, str | None], None]) -> None:
        """Every named index in turn; what fails is reported and does not stop the rest."""
        for wanted in (None, *self.allow.named):
            name = wanted.name if wanted else "baseline"
            try:
                report(name, self.build(wanted), None)
            except SourceUnavailable as error:
                report(name, None, error.reason)
            except (AlreadyExists, SnapshotRefused, StoreUnavailable) as error:
                report(name, None, str(error))

    def named(self, address: str | None) -> AllowedKnowledgeBase | None:
        """The knowledge base of an address. Raises KNOWLEDGE_BASE_NOT_ALLOWED."""
        return None if address is None else self.allow.resolve(address)

    def _settings(self, name: str) -> str | None:
        """What the operator lays over a knowledge base's own settings."""
        stored = self.store.get(settings_key(name))
        return None if stored is None else stored.content.decode("utf-8", "replace")

    @contextmanager
    def _lease(self, name: str) -> Iterator[bool]:
        """Whether this build is the one that runs; held until the block ends, renewed while it lasts."""
        key, owner = lease_key(name), secrets.token_hex(8)
        try:
            taken = self._take(key, owner)
        except StoreUnavailable:
            self._release(key, owner)  # the lease may be ours all the same, its answer lost
            raise
        if not taken:
            yield False
            return
        ended = threading.Event()
        renewal = threading.Thread(target=self._renew, args=(key, owner, ended), daemon=True)
        renewal.start()
        try:
            yield True
        finally:
            ended.set()
            renewal.join()
            self._release(key, owner)

    def _take(self, key: str, owner: str) -> bool:
        now = self.clock()
        try:
            stored = self.store.get(key)
            if stored is None:
                self.store.create(key, self._content(owner, now))
            elif _is_held(stored.content, now) and _owner(stored.content) != owner:
                return False
            else:
                self.store.replace(key, self._content(owner, now), version=stored.version)
        except AlreadyExists:
            return False
        return True

    def _content(self, owner: str, now: float) -> bytes:
        process = {"process": _process(os.getpid())} if self.names_process else {}
        return json.dumps({"owner": owner, "until": now + LEASE_SECONDS, **process}).encode()

    def _renew(self, key: str, owner: str, ended: threading.Event) -> None:
        while not ended.wait(RENEW_SECONDS):
            try:
                self._take(key, owner)
            except StoreUnavailable as error:
                logger.warning("a lease is not renewed: %s", error)

    def _release(self, key: str, owner: str) -> None:
        try:
            stored = self.store.get(key)
            if stored is not None and _owner(stored.content) == owner:
                self.store.delete(key)
        except StoreUnavailable as error:
            logger.warning("a lease is not released and runs out by itself: %s", error)


@dataclass(slots=True)
class ThreadedBuilds:
    """A queue that builds in a thread of this process: for one's own machine."""

    builder: Builder
    _running: set[str | None] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def ask(self, address: str | None) -> None:
        """Starts a build, unless one of that address runs."""
        with self._lock:
            if address in self._running:
                return
            self._running.add(address)
        threading.Thread(target=self._run, args=(address,), daemon=True).start()

    def _run(self, address: str | None) -> None:
        try:
            self.builder.build(self.builder.named(address))
        except (LaminaError, SourceUnavailable, StoreUnavailable, AlreadyExists) as error:
            logger.warning("a build on demand failed: %s", error)
        finally:
            with self._lock:
                self._running.discard(address)


def _fields(content: bytes) -> dict[str, Any]:
    """A lease's fields; a damaged lease is nobody's and over."""
    try:
        fields = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


def _owner(content: bytes) -> object:
    return _fields(content).get("owner")


def _is_held(content: bytes, now: float) -> bool:
    """Whether a lease still runs. One that runs longer than any does was taken by a clock that was wrong."""
    fields = _fields(content)
    until = fields.get("until")
    is_running = isinstance(until, int | float) and now < until <= now + 2 * LEASE_SECONDS
    return is_running and not _is_gone(fields.get("process"))


def _process(number: int) -> list[Any]:
    """A process by its machine, number and start, which together name no other."""
    return [socket.gethostname(), number, _start(number)]


def _start(number: int) -> str | None:
    """When a process started, in ticks since its machine did; None where the system does not tell."""
    try:
        # The name of the program, in brackets, may hold anything; the start is the 20th field after it.
        return Path(f"/proc/{number}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None


def _is_gone(process: Any) -> bool:
    """Whether the process that a lease names is known to have ended; never said of another machine's."""
    match process:
        case [str(machine), int(number), started] if machine == socket.gethostname() and number > 0:
            return os.name == "posix" and not _is_running(number, started)
    return False


def _is_running(number: int, started: object) -> bool:
    try:
        os.kill(number, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True  # another user's
    return started is None or _start(number) in (None, started)
