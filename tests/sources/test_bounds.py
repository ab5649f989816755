"""Which paths and files of a source are read."""

from __future__ import annotations

import pytest

from lamina.sources.bounds import MOST_IGNORE_PATTERNS, is_wanted, path_problem, printable, selected


@pytest.mark.parametrize("path", ["a.md", "canon/values/axioms.md", "ünï/日本.md", "a b/c (1).md", "..md", ".kb.yml"])
def test_an_ordinary_path_has_no_problem(path: str) -> None:
    assert path_problem(path) is None


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/etc/passwd.md",
        "../x.md",
        "a/../x.md",
        "a/..",
        "./x.md",
        "a//x.md",
        "a/",
        "a\\..\\x.md",
        "C:/x.md",
        "c:",
        "nul\0.md",
        "line\nbreak.md",
        "bell\x07.md",
        "c1\x85.md",
        b"latin-\xe9.md".decode("utf-8", "surrogateescape"),
        "x" * 2000 + ".md",
    ],
)
def test_a_path_that_could_lead_elsewhere_has_one(path: str) -> None:
    assert path_problem(path) is not None
    assert printable(path).encode() is not None


@pytest.mark.parametrize(
    ("expected", "path"),
    [
        (True, "README.md"),
        (True, "README.MD"),
        (True, "a/b.markdown"),
        (True, ".kb.yml"),
        (True, ".kbignore"),
        (False, "a/.kb.yml"),
        (False, "a/.kbignore"),
        (False, "a.txt"),
        (False, "md"),
        (False, ".github/x.md"),
        (False, "a/.git/x.md"),
        (False, "node_modules/p/README.md"),
        (False, "web/node_modules/README.md"),
        (False, "go/vendor/x/README.md"),
        (True, "vendor.md"),
        (True, "vendors/x.md"),
    ],
)
def test_markdown_outside_left_out_folders_is_wanted(expected: bool, path: str) -> None:
    assert expected is is_wanted(path)


PATHS = ["README.md", "drafts/a.md", "drafts/keep.md", "canon/drafts/b.md", "canon/c.md", "canon/x/y/d.md"]


@pytest.mark.parametrize(
    ("left_out", "ignore"),
    [
        ([], []),
        ([], ["", "   ", "# drafts", "/"]),
        (["README.md"], ["README.md"]),
        (["drafts/a.md", "drafts/keep.md", "canon/drafts/b.md"], ["drafts"]),
        (["drafts/a.md", "drafts/keep.md", "canon/drafts/b.md"], ["drafts/"]),
        (["drafts/a.md", "drafts/keep.md"], ["/drafts"]),
        (["canon/drafts/b.md"], ["canon/drafts"]),
        (["drafts/a.md"], ["/drafts/*", "!keep.md"]),
        (["drafts/a.md"], ["drafts/**", "!drafts/keep.md", "canon/none"]),
        (["drafts/a.md", "drafts/keep.md"], ["/drafts", "!/drafts/keep.md"]),
        ([], ["README.md/"]),
        (["canon/c.md"], ["canon/*.md"]),
        (["canon/drafts/b.md", "canon/c.md", "canon/x/y/d.md"], ["canon/**"]),
        (["canon/x/y/d.md"], ["canon/**/d.md"]),
        (["canon/c.md"], ["canon/**/c.md"]),
        (["canon/x/y/d.md"], ["**/y"]),
        (["drafts/a.md", "canon/drafts/b.md"], ["[ab].md"]),
        (["canon/c.md", "canon/x/y/d.md"], ["?.md", "![ab].md"]),
        (PATHS, ["**"]),
        (PATHS, ["*"]),
        ([], ["*", "!*"]),
    ],
)
def test_ignore_patterns_are_read_as_in_a_gitignore(left_out: list[str], ignore: list[str]) -> None:
    assert [path for path in PATHS if path not in left_out] == selected(PATHS, ignore)


def test_a_pattern_made_to_backtrack_costs_no_more_than_another() -> None:
    nasty = ["/".join(["**", "a*" * 30 + "b"] * 20), "*a" * 200 + "b", "**/" * 300 + "x"]
    paths = ["/".join(["a" * 60] * 15) + "/file.md"]
    assert paths == selected(paths, nasty)


def test_patterns_past_the_bound_are_not_read() -> None:
    assert selected(PATHS, [*["nothing"] * MOST_IGNORE_PATTERNS, "*"]) == PATHS
