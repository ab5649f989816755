"""Archives, friendly and hostile, read as a stream."""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
import tarfile
import textwrap

import pytest
from tests.fakes.github import Entry, tarball, tarball_of

from lamina.contract.ports import SourceTree, SourceUnavailable
from lamina.sources.archive import read_archive
from lamina.sources.bounds import Bounds
from lamina.sources.tree import TreeBuilder

MIB = 1024 * 1024


def read(archive: bytes, bounds: Bounds | None = None, subdir: str = "") -> SourceTree:
    builder = TreeBuilder(bounds or Bounds())
    read_archive(io.BytesIO(archive).read, subdir, builder)
    return builder.tree("r")


def paths(tree: SourceTree) -> list[str]:
    return [file.path for file in tree.files]


def reasons(tree: SourceTree) -> dict[str, str]:
    return {skip.path: skip.reason for skip in tree.skipped}


def test_markdown_is_read_below_the_top_folder_in_path_order() -> None:
    tree = read(tarball_of({"z.md": "last", "a/b.md": "first", "code.py": "no", ".github/x.md": "no"}))
    assert paths(tree) == ["a/b.md", "z.md"]
    assert tree.files[0].content == b"first"
    assert tree.skipped == ()


def test_files_in_other_formats_for_text_are_named() -> None:
    tree = read(tarball_of({"guide.rst": "x", "code.py": "no", ".github/x.rst": "no", "a.md": "a"}))
    assert (paths(tree), tree.unread) == (["a.md"], ("guide.rst",))


def test_settings_and_ignore_lines_come_along_and_ignored_files_do_not() -> None:
    tree = read(tarball_of({"drafts/a.md": "a", ".kb.yml": "scheme: kb\n", ".kbignore": "drafts/\n", "b.md": "b"}))
    assert paths(tree) == ["b.md"]
    assert tree.settings == "scheme: kb\n"
    assert tree.ignore == ("drafts/",)


def test_a_subfolder_is_the_root_of_the_tree() -> None:
    files = {"docs/.kb.yml": "scheme: d\n", ".kb.yml": "scheme: root\n", "docs/a.md": "a", "docs2/b.md": "b"}
    tree = read(tarball_of(files), subdir="docs")
    assert paths(tree) == ["a.md"]
    assert tree.settings == "scheme: d\n"


def test_a_subfolder_that_is_not_there_is_an_error_not_an_empty_knowledge_base() -> None:
    with pytest.raises(SourceUnavailable, match="no folder nowhere"):
        read(tarball_of({"a.md": "a"}), subdir="nowhere")


def test_an_empty_repository_folder_is_an_empty_tree() -> None:
    assert paths(read(tarball([]))) == []


def test_entries_that_could_lead_out_are_skipped_with_a_reason_and_the_rest_is_kept() -> None:
    tree = read(
        tarball(
            [
                Entry("good.md", b"good"),
                Entry("^../../outside.md", b"x"),
                Entry("../up.md", b"x"),
                Entry("^/etc/cron.d/x.md", b"x"),
                Entry("back\\..\\slash.md", b"x"),
                Entry("link.md", type=tarfile.SYMTYPE, target="/etc/passwd"),
                Entry("folder", type=tarfile.SYMTYPE, target=".."),
                Entry("hard.md", type=tarfile.LNKTYPE, target="good.md"),
                Entry("pipe.md", type=tarfile.FIFOTYPE),
                Entry("device.md", type=tarfile.CHRTYPE),
                Entry("^elsewhere/x.md", b"x"),
                Entry("good.md", b"again"),
                Entry("binary.md", b"\xff\xfe\x00"),
                Entry("big.md", b"x" * 2000),
            ]
        ),
        Bounds(file_bytes=1000),
    )
    assert {file.path: file.content for file in tree.files} == {"good.md": b"good"}
    assert reasons(tree) == {
        "../../outside.md": "path leaves its folder or has empty parts",
        "owner-repo-0123456/../up.md": "path leaves its folder or has empty parts",
        "/etc/cron.d/x.md": "path is absolute",
        "owner-repo-0123456/back\\..\\slash.md": "name has a backslash",
        "link.md": "symbolic link",
        "folder": "symbolic link",
        "hard.md": "hard link",
        "pipe.md": "not a regular file",
        "device.md": "not a regular file",
        "elsewhere/x.md": "outside the folder of the archive",
        "good.md": "path appears twice",
        "binary.md": "not UTF-8 at byte 0",
        "big.md": "larger than 1000 bytes",
    }


def test_names_in_other_encodings_are_skipped_in_a_printable_form() -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT, encoding="latin-1") as archive:
        for name in ("top/caf\xe9.md", "top/plain.md", "top/esc\x1b[2J.md"):
            archive.addfile(tarfile.TarInfo(name))
    tree = read(gzip.compress(packed.getvalue()))
    assert paths(tree) == ["plain.md"]
    assert reasons(tree) == {
        "top/caf\N{REPLACEMENT CHARACTER}.md": "name is not UTF-8",
        "top/esc\N{REPLACEMENT CHARACTER}[2J.md": "name has control characters",
    }


def test_long_and_foreign_names_are_kept() -> None:
    name = "/".join(["folder" * 8] * 6) + "/日本語.md"
    assert paths(read(tarball([Entry(name, b"x")]))) == [name]


@pytest.mark.parametrize("share", [0.0, 0.001, 0.01, 0.3, 0.5, 0.9, 0.999])
def test_a_truncated_archive_is_refused_wherever_it_ends(share: float) -> None:
    whole = tarball(Entry(f"{n}.md", str(n**9).encode() * 50) for n in range(200))
    with pytest.raises(SourceUnavailable, match=r"cut short|damaged"):
        read(whole[: int(len(whole) * share)])


@pytest.mark.parametrize("blocks", [1, 2, 3, 4, 5])
def test_a_tar_that_ends_without_its_end_mark_is_refused_though_its_gzip_is_whole(blocks: int) -> None:
    whole = gzip.decompress(tarball_of({"a.md": "a", "b.md": "b"}))
    with pytest.raises(SourceUnavailable):
        read(gzip.compress(whole[: 1024 + blocks * 512]))


def test_a_broken_header_in_the_middle_does_not_pass_for_the_end() -> None:
    whole = bytearray(gzip.decompress(tarball_of({"a.md": "a", "b.md": "b", "c.md": "c"})))
    at = whole.index(b"owner-repo-0123456/b.md")
    whole[at : at + 4] = b"evil"
    with pytest.raises(SourceUnavailable, match="damaged"):
        read(gzip.compress(bytes(whole)))


@pytest.mark.parametrize(
    "content",
    [b"", b"<html>sign in</html>", b"PK\x03\x04" + b"\0" * 500, gzip.compress(b"text", mtime=0)],
    ids=["nothing", "a page", "a ZIP", "no tar"],
)
def test_what_is_no_archive_is_refused(content: bytes) -> None:
    with pytest.raises(SourceUnavailable):
        read(content)


def test_a_bomb_is_refused_by_its_ratio() -> None:
    bomb = tarball([Entry("zeros.bin", bytes(64 * MIB))])
    with pytest.raises(SourceUnavailable, match="expands to more"):
        read(bomb)


def test_a_bomb_is_refused_by_its_size() -> None:
    with pytest.raises(SourceUnavailable, match="expands to more"):
        read(tarball([Entry("zeros.bin", bytes(8 * MIB))]), Bounds(expanded_bytes=4 * MIB))


@pytest.mark.parametrize(
    ("expected", "bounds"),
    [
        ("more than 5 files", Bounds(files=5)),
        ("more than 5 entries", Bounds(entries=5)),
        ("more than 100 bytes of Markdown", Bounds(total_bytes=100)),
        ("larger than 100 bytes", Bounds(archive_bytes=100)),
    ],
)
def test_an_archive_over_any_bound_is_refused(expected: str, bounds: Bounds) -> None:
    with pytest.raises(SourceUnavailable, match=expected):
        read(tarball(Entry(f"{n}.md", b"x" * 50) for n in range(6)), bounds)


def test_reports_count_as_files_so_that_a_hostile_archive_cannot_flood_them() -> None:
    with pytest.raises(SourceUnavailable, match="more than 5 files"):
        read(tarball(Entry(f"{n}.md", type=tarfile.SYMTYPE, target="x") for n in range(6)), Bounds(files=5))


def test_two_hundred_thousand_entries_are_refused() -> None:
    header = tarfile.TarInfo("top/x.txt").tobuf()
    with pytest.raises(SourceUnavailable, match="more than 150000 entries"):
        read(gzip.compress(header * 200_000 + bytes(1024), 1), Bounds(expansion=2000))


def _extended_header(size: int, kind: bytes) -> bytes:
    member = tarfile.TarInfo("top/pax")
    member.type, member.size = kind, size
    return member.tobuf()


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK])
def test_a_header_that_claims_a_gigabyte_is_refused(kind: bytes) -> None:
    with pytest.raises(SourceUnavailable, match="bytes of headers"):
        read(gzip.compress(_extended_header(1 << 30, kind) + bytes(4096)))


def test_headers_that_follow_headers_without_end_are_refused() -> None:
    record = b"13 path=x.md\n".ljust(512, b"\0")
    with pytest.raises(SourceUnavailable):
        read(gzip.compress((_extended_header(13, tarfile.XHDTYPE) + record) * 5000 + bytes(1024)))


def test_a_negative_size_is_refused_and_does_not_loop() -> None:
    member = tarfile.TarInfo("top/x.md")
    member.size = -512
    with pytest.raises(SourceUnavailable, match="damaged"):
        read(gzip.compress(member.tobuf(tarfile.GNU_FORMAT) + bytes(1024)))


HOSTILE_IN_LITTLE_MEMORY = """
import io, resource, sys, tarfile, zlib
from lamina.contract.ports import SourceUnavailable
from lamina.sources.archive import read_archive
from lamina.sources.bounds import Bounds
from lamina.sources.tree import TreeBuilder

def stream(pieces):
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    for piece in pieces:
        yield packer.compress(piece)
    yield packer.flush()

def bomb(name, kind, size):
    member = tarfile.TarInfo(name)
    member.size, member.type = size, kind
    yield member.tobuf(tarfile.GNU_FORMAT)
    for _ in range(size >> 20):
        yield bytes(1 << 20)
    yield bytes(1024)

def entries():
    for n in range(70_000):
        yield tarfile.TarInfo("top/" + "folder/" * 12 + str(n)).tobuf()
    yield bytes(1024)

def refuse(pieces):
    source = (piece for piece in stream(pieces) if piece)
    try:
        read_archive(lambda size: next(source, b""), "", TreeBuilder(bounds))
    except SourceUnavailable as refusal:
        print(refusal.reason)

bounds = Bounds(expansion=5000, expanded_bytes=256 << 20, entries=60_000)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (24 << 20),) * 2)
refuse(bomb("top/big.md", tarfile.REGTYPE, 300 << 20))
refuse(bomb("top/long", tarfile.GNUTYPE_LONGNAME, 1 << 30))
refuse(bomb("top/pax", tarfile.XHDTYPE, 1 << 30))
refuse(entries())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_hostile_archives_are_refused_within_24_mebibytes() -> None:
    child = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(HOSTILE_IN_LITTLE_MEMORY)],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": ":".join(filter(None, sys.path))},
        check=False,
    )
    assert child.stderr == ""
    assert child.stdout.splitlines() == [
        "the archive expands to more than 268435456 bytes",
        "an archive entry has more than 65536 bytes of headers",
        "an archive entry has more than 65536 bytes of headers",
        "the archive has more than 60000 entries",
    ]
