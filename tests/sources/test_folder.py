"""The folder source, on files that change, hide, and lead elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lamina.contract.ports import SourceTree, SourceUnavailable
from lamina.sources.bounds import Bounds
from lamina.sources.folder import FolderSource


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "kb"
    write(folder, {"README.md": "# Read me\n", "canon/a.md": "# A\n"})
    return folder


def write(root: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def settle(root: Path) -> None:
    """Makes every file look old, so that the source may rely on its time stamp."""
    for path in root.rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000), follow_symlinks=False)


def fetched(root: Path, bounds: Bounds | None = None) -> SourceTree:
    source = FolderSource(root, bounds)
    return source.fetch(source.revision())


def paths(tree: SourceTree) -> list[str]:
    return [file.path for file in tree.files]


def test_markdown_is_read_in_path_order_with_settings_and_without_what_is_left_out(root: Path) -> None:
    write(
        root,
        {
            "B.MD": "upper case",
            "c.markdown": "long ending",
            "notes.txt": "no",
            ".kb.yml": "scheme: kb\n",
            ".kbignore": "drafts/\n",
            "drafts/d.md": "no",
            ".git/e.md": "no",
            "sub/.hidden/f.md": "no",
            "sub/node_modules/p/g.md": "no",
            "vendor/h.md": "no",
        },
    )
    tree = fetched(root)
    assert paths(tree) == ["B.MD", "README.md", "c.markdown", "canon/a.md"]
    assert (tree.settings, tree.ignore, tree.skipped) == ("scheme: kb\n", ("drafts/",), ())


def test_files_in_other_formats_for_text_are_named(root: Path) -> None:
    write(root, {"guide.rst": "Guide", "a/notes.TXT": "x", "vendor/x.rst": "x", "code.py": "x", ".kbignore": "old\n"})
    write(root, {"old/y.adoc": "x"})
    assert fetched(root).unread == ("a/notes.TXT", "guide.rst")


def test_symbolic_links_are_skipped_and_reported(root: Path, tmp_path: Path) -> None:
    write(tmp_path, {"secret/s.md": "secret"})
    (root / "link.md").symlink_to(tmp_path / "secret/s.md")
    (root / "folder").symlink_to(tmp_path / "secret")
    (root / "circle").symlink_to(root)
    (root / "dangling.md").symlink_to(tmp_path / "nowhere")
    tree = fetched(root)
    assert paths(tree) == ["README.md", "canon/a.md"]
    assert {skip.path for skip in tree.skipped} == {"link.md", "folder", "circle", "dangling.md"}
    assert {skip.reason for skip in tree.skipped} == {"symbolic link"}


def test_the_root_itself_may_be_a_link(root: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(root)
    assert fetched(tmp_path / "alias").files == fetched(root).files


def test_files_that_cannot_be_used_are_reported_and_the_rest_is_kept(root: Path) -> None:
    write(root, {"latin.md": b"caf\xe9", "big.md": "x" * 2000, "bound.md": "x" * 1000, "back\\slash.md": "x"})
    os.mkfifo(root / "pipe.md")
    Path(os.fsdecode(bytes(root) + b"/caf\xe9.md")).write_text("x")
    tree = fetched(root, Bounds(file_bytes=1000))
    assert paths(tree) == ["README.md", "bound.md", "canon/a.md"]
    assert {skip.path: skip.reason for skip in tree.skipped} == {
        "latin.md": "not UTF-8 at byte 3",
        "big.md": "larger than 1000 bytes",
        "back\\slash.md": "name has a backslash",
        "caf\N{REPLACEMENT CHARACTER}.md": "name is not UTF-8",
    }


def test_settings_that_are_not_utf8_are_reported(root: Path) -> None:
    write(root, {".kb.yml": b"scheme: caf\xe9"})
    tree = fetched(root)
    assert tree.settings is None
    assert [skip.path for skip in tree.skipped] == [".kb.yml"]


@pytest.mark.parametrize("bounds", [Bounds(files=1), Bounds(total_bytes=10)])
def test_a_folder_over_its_bounds_is_refused(root: Path, bounds: Bounds) -> None:
    with pytest.raises(SourceUnavailable, match="more than"):
        FolderSource(root, bounds).revision()


@pytest.mark.parametrize("name", ["missing", "README.md"])
def test_a_root_that_is_no_folder_is_refused(root: Path, name: str) -> None:
    with pytest.raises(SourceUnavailable, match="is not a folder"):
        FolderSource(root / name).revision()


@pytest.mark.parametrize(
    "change",
    [
        {"README.md": "# Read ME\n"},
        {"new.md": ""},
        {".kb.yml": "scheme: kb\n"},
        {".kbignore": "canon/\n"},
        {"latin.md": b"\xff"},
    ],
)
def test_every_change_to_what_is_read_or_reported_makes_a_new_revision(
    root: Path, change: dict[str, str | bytes]
) -> None:
    settle(root)
    source = FolderSource(root)
    before = source.revision()
    write(root, change)
    assert source.revision() != before


def test_a_change_of_the_same_length_at_the_same_time_makes_a_new_revision(root: Path) -> None:
    source = FolderSource(root)
    before = source.revision()
    write(root, {"README.md": "# Read ME\n"})
    settle(root)
    assert source.revision() != before


def test_a_moved_or_removed_file_makes_a_new_revision(root: Path) -> None:
    source = FolderSource(root)
    first = source.revision()
    (root / "README.md").rename(root / "READ.md")
    second = source.revision()
    (root / "READ.md").unlink()
    assert len({first, second, source.revision()}) == 3


@pytest.mark.parametrize("change", [{"code.py": "x"}, {".git/x.md": "x"}, {"drafts/x.md": "x"}])
def test_a_change_to_what_is_not_read_makes_no_new_revision(root: Path, change: dict[str, str | bytes]) -> None:
    write(root, {".kbignore": "/drafts/\n"})
    source = FolderSource(root)
    before = source.revision()
    write(root, change)
    assert source.revision() == before


def test_two_folders_with_the_same_files_have_the_same_revision(root: Path, tmp_path: Path) -> None:
    write(tmp_path / "twin", {"canon/a.md": "# A\n", "README.md": "# Read me\n"})
    assert FolderSource(tmp_path / "twin").revision() == FolderSource(root).revision()


def test_a_settled_file_is_not_read_again_to_tell_the_revision(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = FolderSource(root)
    with monkeypatch.context() as later:
        later.setattr("lamina.sources.folder.time.time_ns", lambda: 1 << 62)
        before = source.revision()

    def refuse(*_: object) -> int:
        raise AssertionError("a file was opened")

    monkeypatch.setattr("lamina.sources.folder.os.open", refuse)
    assert source.revision() == before


def test_a_folder_that_changed_since_its_revision_is_not_passed_off_as_it(root: Path) -> None:
    source = FolderSource(root)
    revision = source.revision()
    write(root, {"new.md": "x"})
    with pytest.raises(SourceUnavailable, match="changed") as raised:
        source.fetch(revision)
    assert raised.value.retry_after == 1
