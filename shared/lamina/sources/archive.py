"""Reads a gzipped tar archive as it arrives: never on disk, never back, in bounded memory."""

from __future__ import annotations

import io
import tarfile
import zlib
from collections.abc import Callable

from lamina.contract.ports import SourceUnavailable
from lamina.sources.bounds import Bounds, is_left_out, path_problem
from lamina.sources.tree import TreeBuilder

_CHUNK = 64 * 1024
_BLOCK = tarfile.BLOCKSIZE
_GZIP = 16 + zlib.MAX_WBITS
# What one entry may say about itself: its header block, long names, extended headers.
_HEADER_BYTES = 64 * 1024
# Small archives of padded blocks compress very well and are no danger.
_RATIO_FLOOR = 16 * 1024 * 1024

Read = Callable[[int], bytes]


def read_archive(read: Read, subdir: str, builder: TreeBuilder) -> None:
    """Adds to `builder` what the archive, given by `read(size)`, holds below its one top folder and `subdir`.

    Raises SourceUnavailable for an archive that passes a bound, is damaged or is cut short; single entries
    that may not be used are skipped with a reason.
    """
    inflated = _Inflated(read, builder.bounds)
    try:
        entries = _read_entries(inflated, subdir, builder)
    except (tarfile.TarError, zlib.error, ValueError, IndexError, EOFError, RecursionError) as error:
        raise SourceUnavailable(f"the archive is damaged: {type(error).__name__}") from error
    inflated.check_end()
    if subdir and not entries:
        raise SourceUnavailable(f"the repository has no folder {subdir}")


def _read_entries(inflated: _Inflated, subdir: str, builder: TreeBuilder) -> int:
    """Reads every entry and says how many were below `subdir`."""
    archive = _Tar(fileobj=inflated, mode="r", encoding="utf-8", errors="surrogateescape")
    top: str | None = None
    seen = below = 0
    while (entry := _next(archive, inflated)) is not None:
        seen += 1
        if seen > builder.bounds.entries:
            raise SourceUnavailable(f"the archive has more than {builder.bounds.entries} entries")
        if problem := path_problem(entry.name):
            builder.skip(entry.name, problem)
            continue
        folder, _, path = entry.name.partition("/")
        top = top or folder
        if folder != top:
            builder.skip(entry.name, "outside the folder of the archive")
            continue
        if subdir:
            if not f"{path}/".startswith(f"{subdir}/"):
                continue
            path = path[len(subdir) + 1 :]
        below += 1
        if path and not entry.isdir() and not is_left_out(path):
            _read_entry(entry, path, inflated, builder)
    return below


def _read_entry(entry: tarfile.TarInfo, path: str, inflated: _Inflated, builder: TreeBuilder) -> None:
    if entry.issym() or entry.islnk():
        builder.skip(path, "symbolic link" if entry.issym() else "hard link")
    elif not entry.isreg() or entry.issparse() or entry.size < 0:
        builder.skip(path, "not a regular file")
    elif builder.admits(path, entry.size):
        inflated.seek(entry.offset_data)
        builder.add(path, inflated.take(entry.size))


class _Tar(tarfile.TarFile):
    """The standard reader, whose list of members we empty as we go."""

    members: list[tarfile.TarInfo]


def _next(archive: _Tar, inflated: _Inflated) -> tarfile.TarInfo | None:
    inflated.start_entry()
    entry = archive.next()
    archive.members.clear()
    return entry


class _Inflated(io.RawIOBase):
    """The tar stream inside the gzip stream, forward only, held to the archive bounds.

    `read` is for the tar reader and is limited for each entry, so no header makes it fetch a gigabyte;
    `take` is for the content of a file whose size was checked.
    """

    def __init__(self, read: Read, bounds: Bounds) -> None:
        super().__init__()
        self._read = read
        self._bounds = bounds
        self._decoder = zlib.decompressobj(_GZIP)
        self._pending = b""
        self._buffer = bytearray()
        self._position = 0
        self._compressed = 0
        self._expanded = 0
        self._allowance = _HEADER_BYTES
        self._last_block = b""

    def start_entry(self) -> None:
        """Renews what may be read as headers."""
        self._allowance = _HEADER_BYTES

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes for the tar reader."""
        self._allowance -= size
        if size < 0 or self._allowance < 0:
            raise SourceUnavailable(f"an archive entry has more than {_HEADER_BYTES} bytes of headers")
        self._last_block = self._up_to(size)
        return self._last_block

    def take(self, size: int) -> bytes:
        """Exactly `size` bytes."""
        content = self._up_to(size)
        if len(content) != size:
            raise SourceUnavailable("the archive is cut short")
        return content

    def seek(self, position: int, whence: int = io.SEEK_SET) -> int:
        """Passes over everything before `position`."""
        if whence != io.SEEK_SET or position < self._position:
            raise SourceUnavailable("the archive is damaged: an entry points back")
        while self._position < position:
            if not self._up_to(min(position - self._position, _CHUNK)):
                raise SourceUnavailable("the archive is cut short")
        return position

    def tell(self) -> int:
        """The number of bytes passed."""
        return self._position

    def check_end(self) -> None:
        """SourceUnavailable unless the tar stream ended with its end mark and the gzip stream is whole.

        The tar reader takes a broken header for the end; the mark, a block of zeros, tells them apart.
        """
        if len(self._last_block) != _BLOCK or any(self._last_block):
            raise SourceUnavailable("the archive is damaged or cut short")
        while self._up_to(_CHUNK):
            pass
        if not self._decoder.eof:
            raise SourceUnavailable("the archive is cut short")

    def _up_to(self, size: int) -> bytes:
        while len(self._buffer) < size and self._inflate():
            pass
        content = bytes(self._buffer[:size])
        del self._buffer[:size]
        self._position += len(content)
        return content

    def _inflate(self) -> bool:
        """Adds one piece to the buffer; False at the end."""
        if self._decoder.eof:
            return False
        if not self._pending:
            self._pending = self._read(_CHUNK)
            self._compressed += len(self._pending)
            if self._compressed > self._bounds.archive_bytes:
                raise SourceUnavailable(f"the archive is larger than {self._bounds.archive_bytes} bytes")
            if not self._pending:
                return False
        piece = self._decoder.decompress(self._pending, _CHUNK)
        self._pending = self._decoder.unconsumed_tail
        self._buffer += piece
        self._expanded += len(piece)
        most = min(self._bounds.expanded_bytes, max(_RATIO_FLOOR, self._bounds.expansion * self._compressed))
        if self._expanded > most:
            raise SourceUnavailable(f"the archive expands to more than {most} bytes")
        return True
