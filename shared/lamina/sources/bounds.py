"""How much a source may hold, which paths it may name, and which of its files are read at all."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lamina.contract.ids import MARKDOWN_SUFFIXES

SETTINGS_FILE = ".kb.yml"
IGNORE_FILE = ".kbignore"
LONGEST_PATH = 1024
MOST_IGNORE_PATTERNS = 1000

_MIB = 1024 * 1024
UNREAD_SUFFIXES = frozenset(
    [
        ".rst",
        ".adoc",
        ".asciidoc",
        ".asc",
        ".txt",
        ".text",
        ".org",
        ".textile",
        ".rdoc",
        ".pod",
        ".wiki",
        ".mediawiki",
        ".creole",
        ".tex",
        ".html",
        ".htm",
        ".ipynb",
        ".docx",
        ".odt",
        ".rtf",
    ]
)
"""Endings of files that hold text for people in formats that are not read. They are counted and named."""
_LEFT_OUT = frozenset({"node_modules", "vendor"})
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_DRIVE = re.compile(r"[A-Za-z]:(?:/|\Z)")


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one fetch may cost. Sizes are bytes; `file_bytes` skips a file, the others refuse the source.

    The defaults admit a knowledge base of 100,000 documents, and single documents of 5 MiB with room for
    their frontmatter. `expansion` is uncompressed over compressed size, `entries` counts everything in an
    archive or listing, `files` what is read or reported of it, `seconds` a request from first to last byte.
    """

    archive_bytes: int = 100 * _MIB
    file_bytes: int = 6 * _MIB
    files: int = 100_000
    total_bytes: int = 512 * _MIB
    entries: int = 150_000
    expanded_bytes: int = 2048 * _MIB
    expansion: int = 100
    seconds: float = 120.0


def path_problem(path: str) -> str | None:
    """Why a path may not be used, or None: it has to be relative, clean, and stay below its root."""
    if not path or len(path) > LONGEST_PATH:
        return f"path is empty or longer than {LONGEST_PATH} characters"
    if _SURROGATE.search(path):
        return "name is not UTF-8"
    if _CONTROL.search(path):
        return "name has control characters"
    if "\\" in path:
        return "name has a backslash"
    if path.startswith("/") or _DRIVE.match(path):
        return "path is absolute"
    if any(segment in ("", ".", "..") for segment in path.split("/")):
        return "path leaves its folder or has empty parts"
    return None


def printable(path: str) -> str:
    """The path in a form that can be encoded and shown, cut to its bound."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in path[:LONGEST_PATH])


def is_left_out(path: str) -> bool:
    """Whether a folder of the path is a dot-folder, `node_modules` or `vendor`; a folder ends in `/`."""
    return any(folder.startswith(".") or folder in _LEFT_OUT for folder in path.split("/")[:-1])


def is_wanted(path: str) -> bool:
    """Whether a source reads the file: Markdown outside left-out folders, or a settings file at the root."""
    if path in (SETTINGS_FILE, IGNORE_FILE):
        return True
    return path.lower().endswith(MARKDOWN_SUFFIXES) and not is_left_out(path)


def is_unread(path: str) -> bool:
    """Whether a file holds text for people that no source reads, outside left-out folders."""
    name = path.rpartition("/")[2].lower()
    return name[max(name.rfind("."), 0) :] in UNREAD_SUFFIXES and not is_left_out(path)


def content_problem(content: bytes) -> str | None:
    """Why a file's content cannot be indexed, or None."""
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"not UTF-8 at byte {error.start}"
    return None


def ignore_lines(content: bytes) -> tuple[str, ...]:
    """The lines of an ignore file that is valid UTF-8."""
    return tuple(content.decode("utf-8-sig").splitlines())


def selected(paths: Iterable[str], ignore: Sequence[str]) -> list[str]:
    """The paths that no ignore pattern names, in the order given.

    Patterns are read as in a `.gitignore`: `#` comments, `!` takes back, a trailing slash means folders only,
    a slash elsewhere anchors at the root, `**` spans folders; the last pattern that matches decides, and
    nothing under an ignored folder can be taken back. Backslash escapes are not known, and patterns past the
    first thousand are not read.
    """
    patterns = [pattern for line in ignore[:MOST_IGNORE_PATTERNS] if (pattern := _Pattern.parse(line))]
    patterns.reverse()
    if not patterns:
        return list(paths)
    folders: dict[str, bool] = {"": False}

    def is_named(path: str, is_folder: bool) -> bool:
        parts = path.split("/")
        return next((not entry.negated for entry in patterns if entry.matches(parts, is_folder)), False)

    def is_ignored(folder: str) -> bool:
        if folder not in folders:
            folders[folder] = is_ignored(folder.rpartition("/")[0]) or is_named(folder, True)
        return folders[folder]

    return [path for path in paths if not (is_ignored(path.rpartition("/")[0]) or is_named(path, False))]


@dataclass(frozen=True, slots=True)
class _Pattern:
    """One line of an ignore file: `parts` are its segments, None for `**`; the last is never None."""

    parts: tuple[re.Pattern[str] | None, ...]
    negated: bool
    folders_only: bool

    @classmethod
    def parse(cls, line: str) -> _Pattern | None:
        text = line.strip()
        negated = text.startswith("!")
        text = text.removeprefix("!")
        globs = text.strip("/").split("/")
        if text.startswith("#") or globs == [""]:
            return None
        if len(globs) == 1 and not text.startswith("/"):
            globs = ["**", *globs]
        if globs[-1] == "**":
            globs.append("*")
        # Neighbouring `**` mean one: without this each would multiply the work of matching.
        globs = [glob for at, glob in enumerate(globs) if glob != "**" or globs[at - 1 : at] != ["**"]]
        parts = tuple(None if glob == "**" else re.compile(fnmatch.translate(glob)) for glob in globs)
        return cls(parts, negated, folders_only=text.endswith("/"))

    def matches(self, segments: Sequence[str], is_folder: bool) -> bool:
        """Whether the pattern names exactly this path."""
        if self.folders_only and not is_folder:
            return False
        last = self.parts[-1]
        if last is not None and not last.match(segments[-1]):
            return False
        # The positions in the pattern that the segments so far can have reached: it never backtracks.
        reached = self._past_stars({0})
        for segment in segments:
            moved = set()
            for at in reached:
                if at < len(self.parts):
                    part = self.parts[at]
                    if part is None:
                        moved.add(at)
                    elif part.match(segment):
                        moved.add(at + 1)
            reached = self._past_stars(moved)
        return len(self.parts) in reached

    def _past_stars(self, positions: set[int]) -> set[int]:
        """Adds the position after each `**`, which may stand for no folder at all."""
        return positions | {at + 1 for at in positions if at < len(self.parts) and self.parts[at] is None}
