"""Archives as nobody should send them: each is read whole, in part with a reason, or refused, and nothing else."""

from __future__ import annotations

import gzip
import io
import tarfile

from hypothesis import given, settings
from hypothesis import strategies as st

from lamina.contract.ports import SourceUnavailable
from lamina.sources.archive import read_archive
from lamina.sources.bounds import Bounds, path_problem
from lamina.sources.tree import TreeBuilder

BOUNDS = Bounds(
    archive_bytes=64_000, file_bytes=4_000, files=50, total_bytes=20_000, entries=60, expanded_bytes=200_000
)
KINDS = b"0\x001234567SKLxgXVADMN?"

segments = st.sampled_from(
    ["repo", "docs", "a.md", "b.MD", "..", ".", "", ".git", "node_modules", "c:", "\\", "ö.md", "e\u0301.md", "\udcff"]
) | st.text(max_size=5)
names = st.lists(segments, max_size=4).map("/".join)
extensions = st.sampled_from(["path", "size", "linkpath", "GNU.sparse.map", "hdrcharset"])
contents = st.binary(max_size=300) | st.sampled_from([b"# A\n", b"\xff\xfe", b"x" * 5_000])


@st.composite
def entries(draw: st.DrawFn) -> tuple[tarfile.TarInfo, bytes]:
    """A header that says anything of itself, and content that may not fit it."""
    entry = tarfile.TarInfo(draw(names))
    content = draw(contents)
    entry.type = bytes([draw(st.sampled_from(KINDS))])
    entry.size = draw(st.sampled_from([len(content), len(content) + 1, 0, 2**33, len(content)]))
    entry.linkname = draw(names)
    entry.mode = draw(st.integers(0, 0o7777))
    entry.pax_headers = draw(
        st.dictionaries(
            st.sampled_from(["path", "size", "linkpath", "GNU.sparse.map", "hdrcharset"]), names, max_size=2
        )
    )
    return entry, content


def packed(members: list[tuple[tarfile.TarInfo, bytes]], ends: bool) -> bytes:
    """The members as a gzipped tar, whatever they say."""
    raw = io.BytesIO()
    for entry, content in members:
        try:
            raw.write(entry.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape"))
        except ValueError:
            continue  # no header can say that
        raw.write(content + b"\0" * (-len(content) % 512))
    return gzip.compress(raw.getvalue() + (b"\0" * 1024 if ends else b""), 1)


def read(archive: bytes, subdir: str = "") -> TreeBuilder | None:
    """What the archive holds; None where it is refused. Anything else that is raised is a fault."""
    builder = TreeBuilder(BOUNDS)
    try:
        read_archive(io.BytesIO(archive).read, subdir, builder)
    except SourceUnavailable as error:
        assert error.reason.isprintable()
        return None
    return builder


def check(builder: TreeBuilder | None) -> None:
    """What was read is within its bounds and below its root."""
    if builder is None:
        return
    tree = builder.tree("0" * 40)
    for file in tree.files:
        assert path_problem(file.path) is None
        assert len(file.content) <= BOUNDS.file_bytes
        file.content.decode()
    for skipped in tree.skipped:
        (skipped.path + skipped.reason).encode()


@settings(max_examples=150, deadline=None)
@given(st.lists(entries(), max_size=8), st.booleans(), st.sampled_from(["", "docs", "repo/docs"]))
def test_headers_that_say_anything_are_read_or_refused(
    members: list[tuple[tarfile.TarInfo, bytes]], ends: bool, subdir: str
) -> None:
    check(read(packed(members, ends), subdir))


def _honest() -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as tar:
        for number in range(5):
            entry, content = tarfile.TarInfo(f"repo/docs/{number}.md"), f"# Document {number}\n".encode() * 20
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return raw.getvalue()


HONEST = _honest()
PLAIN = gzip.decompress(HONEST)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(PLAIN) - 1), st.integers(0, 255)), max_size=6), st.integers(0, len(PLAIN)))
def test_changed_and_cut_tar_streams_are_read_or_refused(changes: list[tuple[int, int]], cut: int) -> None:
    content = bytearray(PLAIN)
    for at, value in changes:
        content[at] = value
    check(read(gzip.compress(bytes(content), 1)))
    check(read(gzip.compress(bytes(content[:cut]), 1)))


@settings(max_examples=100, deadline=None)
@given(st.integers(0, len(HONEST) - 1), st.integers(1, 255))
def test_a_damaged_or_cut_gzip_stream_never_gives_half_a_tree(at: int, change: int) -> None:
    assert read(HONEST[:at]) is None
    content = bytearray(HONEST)
    content[at] ^= change
    found = read(bytes(content))
    if found is not None:
        assert [file.content for file in found.tree("").files] == [f.content for f in _tree().tree("").files]


def _tree() -> TreeBuilder:
    found = read(HONEST)
    assert found is not None
    return found
