"""Gathers the files of one fetch, the same way for every source, and holds them to the bounds."""

from __future__ import annotations

from dataclasses import dataclass, field

from lamina.contract.ports import SkippedFile, SourceFile, SourceTree, SourceUnavailable
from lamina.sources.bounds import (
    IGNORE_FILE,
    SETTINGS_FILE,
    Bounds,
    content_problem,
    ignore_lines,
    is_unread,
    is_wanted,
    printable,
    selected,
)

MOST_UNREAD = 20_000
"""Files in formats that are not read whose names are kept."""


@dataclass(slots=True)
class TreeBuilder:
    """Collects files and reports; its methods raise SourceUnavailable as soon as a bound is passed."""

    bounds: Bounds
    files: dict[str, SourceFile] = field(default_factory=dict)
    skipped: list[SkippedFile] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    settings: str | None = None
    ignore: tuple[str, ...] = ()
    count: int = 0
    total_bytes: int = 0

    def skip(self, path: str, reason: str) -> None:
        """Reports a file as passed over."""
        self.skipped.append(SkippedFile(printable(path), reason))
        self.tally(0)

    def tally(self, size: int) -> None:
        """Counts one more file of `size` bytes."""
        self.count += 1
        self.total_bytes += size
        if self.count > self.bounds.files:
            raise SourceUnavailable(f"the source has more than {self.bounds.files} files")
        if self.total_bytes > self.bounds.total_bytes:
            raise SourceUnavailable(f"the source has more than {self.bounds.total_bytes} bytes of Markdown")

    def admits(self, path: str, size: int) -> bool:
        """Whether to read the file: false if it is not wanted, or skipped here and now for its size."""
        if not is_wanted(path):
            if is_unread(path) and len(self.unread) < MOST_UNREAD:
                self.unread.append(path)
            return False
        if size > self.bounds.file_bytes:
            self.skip(path, f"larger than {self.bounds.file_bytes} bytes")
            return False
        return True

    def add(self, path: str, content: bytes) -> None:
        """Takes a file in; one that is not UTF-8, or whose path is taken already, is skipped."""
        problem = "path appears twice" if path in self.files else content_problem(content)
        if problem is not None:
            self.skip(path, problem)
            return
        self.tally(len(content))
        if path == SETTINGS_FILE:
            self.settings = content.decode("utf-8-sig")
        elif path == IGNORE_FILE:
            self.ignore = ignore_lines(content)
        else:
            self.files[path] = SourceFile(path, content)

    def tree(self, revision: str) -> SourceTree:
        """What was gathered, in path order, without what `.kbignore` names."""
        files = tuple(self.files[path] for path in selected(sorted(self.files), self.ignore))
        unread = tuple(selected(sorted(self.unread), self.ignore))
        return SourceTree(revision, files, reported(self.skipped, self.ignore), self.settings, self.ignore, unread)


def reported(skipped: list[SkippedFile], ignore: tuple[str, ...]) -> tuple[SkippedFile, ...]:
    """The skipped files that `.kbignore` does not name, in path order."""
    kept = set(selected((file.path for file in skipped), ignore))
    return tuple(sorted((s for s in skipped if s.path in kept), key=lambda s: (s.path, s.reason)))
