"""Markdown from a local folder; its revision is a digest of names and contents, cheap enough to poll."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lamina.contract.ids import sha256_hex
from lamina.contract.ports import SourceTree, SourceUnavailable
from lamina.sources.bounds import (
    IGNORE_FILE,
    Bounds,
    content_problem,
    ignore_lines,
    is_left_out,
    path_problem,
    selected,
)
from lamina.sources.tree import TreeBuilder, reported

# A file changed this recently may change again without a new time stamp, so its digest is not kept.
_SETTLED_NS = 2_000_000_000


@dataclass(frozen=True, slots=True)
class _Stamp:
    """What the file system says of a file; equal stamps mean an unchanged file."""

    inode: int
    size: int
    modified_ns: int
    changed_ns: int


@dataclass(frozen=True, slots=True)
class _Known:
    """What reading a file under a stamp told: digest, why it is unusable, and the lines of `.kbignore`."""

    stamp: _Stamp
    digest: str
    problem: str | None
    lines: tuple[str, ...]


class FolderSource:
    """The Markdown below `root`. Symbolic links below it are never followed; `root` itself may be one."""

    def __init__(self, root: Path, bounds: Bounds | None = None) -> None:
        self._root = root
        self._bounds = bounds or Bounds()
        self._known: dict[str, _Known] = {}

    @property
    def url(self) -> str:
        """The folder as it was named."""
        return str(self._root)

    def revision(self) -> str:
        """SHA-256 over paths, contents and reports; reads only files that changed since it was last asked.

        Raises SourceUnavailable if the folder is missing or passes a bound.
        """
        builder = TreeBuilder(self._bounds)
        digests: dict[str, str] = {}
        known: dict[str, _Known] = {}
        for path, stamp in self._walk(builder):
            item = self._know(path, stamp)
            if item is None:
                builder.skip(path, "cannot be read")
                continue
            known[path] = item
            if item.problem is not None:
                builder.skip(path, item.problem)
                continue
            builder.tally(stamp.size)
            builder.ignore = item.lines or builder.ignore
            digests[path] = item.digest
        settled = time.time_ns() - _SETTLED_NS
        self._known = {
            path: item for path, item in known.items() if max(item.stamp.modified_ns, item.stamp.changed_ns) < settled
        }
        return _revision(digests, builder)

    def fetch(self, revision: str) -> SourceTree:
        """Every file as it is now; SourceUnavailable if that is no longer `revision`."""
        builder = TreeBuilder(self._bounds)
        digests: dict[str, str] = {}
        for path, _ in self._walk(builder):
            content = self._read(path)
            if content is None:
                builder.skip(path, "cannot be read")
                continue
            builder.add(path, content)
            if content_problem(content) is None:
                digests[path] = sha256_hex(content)
        if _revision(digests, builder) != revision:
            raise SourceUnavailable("the folder changed while it was read", retry_after=1)
        return builder.tree(revision)

    def _walk(self, builder: TreeBuilder) -> Iterator[tuple[str, _Stamp]]:
        """Files to read with their stamps, in no particular order; what is passed over goes to `builder`."""
        if not self._root.is_dir():
            raise SourceUnavailable(f"{self._root} is not a folder")
        pending = [""]
        while pending:
            folder = pending.pop()
            try:
                entries = list(os.scandir(self._root / folder))
            except OSError:
                builder.skip(folder or ".", "folder cannot be read")
                continue
            for entry in entries:
                path = f"{folder}/{entry.name}" if folder else entry.name
                is_folder = entry.is_dir(follow_symlinks=False)
                if is_left_out(f"{path}/" if is_folder else path):
                    continue
                if entry.is_symlink():
                    builder.skip(path, "symbolic link")
                elif problem := path_problem(path):
                    builder.skip(path, problem)
                elif is_folder:
                    pending.append(path)
                elif (stamp := _stamp(entry)) is not None and builder.admits(path, stamp.size):
                    yield path, stamp

    def _know(self, path: str, stamp: _Stamp) -> _Known | None:
        known = self._known.get(path)
        if known is not None and known.stamp == stamp:
            return known
        content = self._read(path)
        if content is None:
            return None
        problem = content_problem(content)
        lines = ignore_lines(content) if path == IGNORE_FILE and problem is None else ()
        return _Known(stamp, sha256_hex(content), problem, lines)

    def _read(self, path: str) -> bytes | None:
        """The content, or None where the file went away, grew over its bound, or may not be read."""
        try:
            # A link or pipe may have taken the place of the file since: never followed, never waited for.
            handle = os.open(self._root / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return None
        with os.fdopen(handle, "rb") as file:
            try:
                content = file.read(self._bounds.file_bytes + 1)
            except OSError:
                return None
        return content if len(content) <= self._bounds.file_bytes else None


def _stamp(entry: os.DirEntry[str]) -> _Stamp | None:
    """The stamp of a regular file; None for a pipe, a socket, a device, or what is gone."""
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return _Stamp(status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _revision(digests: Mapping[str, str], builder: TreeBuilder) -> str:
    """The digest of what a fetch would return; a change to a file that `.kbignore` names makes no new one."""
    kept = [f"{path}\0{digests[path]}" for path in selected(sorted(digests), builder.ignore)]
    skipped = [f"{file.path}\0{file.reason}" for file in reported(builder.skipped, builder.ignore)]
    return sha256_hex("\n".join((*kept, "", *skipped)).encode())
