"""Addresses of knowledge bases and the allow list."""

from __future__ import annotations

from pathlib import Path

import pytest

from lamina.contract.errors import LaminaError
from lamina.sources.address import (
    AddressError,
    AllowList,
    BucketAddress,
    FolderAddress,
    GitHubAddress,
    parse_address,
)


@pytest.mark.parametrize(
    ("expected", "url"),
    [
        (GitHubAddress("acme", "handbook"), "https://github.com/acme/handbook"),
        (GitHubAddress("acme", "handbook"), "https://github.com/acme/handbook/"),
        (GitHubAddress("acme", "handbook"), "https://github.com/acme/handbook.git"),
        (GitHubAddress("acme", "handbook"), "HTTPS://GitHub.com/acme/handbook"),
        (GitHubAddress("acme", "kb.md_1"), "https://github.com/acme/kb.md_1"),
        (GitHubAddress("acme", "handbook", "v1.2"), "https://github.com/acme/handbook/tree/v1.2"),
        (
            GitHubAddress("acme", "handbook", "main", "docs/team"),
            "https://github.com/acme/handbook/tree/main/docs/team/",
        ),
        (BucketAddress("acme-docs"), "s3://acme-docs"),
        (BucketAddress("acme-docs"), "s3://acme-docs/"),
        (BucketAddress("acme-docs", "team/handbook"), "s3://acme-docs/team/handbook/"),
    ],
)
def test_an_address_is_read(expected: object, url: str) -> None:
    assert expected == parse_address(url)


HOSTILE = [
    "",
    "http://169.254.169.254/",
    "http://169.254.169.254/latest/meta-data/",
    "https://169.254.169.254/o/r",
    "file:///etc",
    "file:///etc/passwd",
    "/etc",
    "../kb",
    "http://github.com/o/r",
    "https://github.com.evil.example/o/r",
    "https://evil.example/https://github.com/o/r",
    "https://github.com@evil.example/o/r",
    "https://evil.example@github.com/o/r",
    "https://user:secret@github.com/o/r",
    "https://github.com:443/o/r",
    "https://github.com:8080/o/r",
    "https://github.com./o/r",
    "https://www.github.com/o/r",
    "https://api.github.com/o/r",
    "https://localhost/o/r",
    "https://[::1]/o/r",
    "https://github.com\\@evil.example/o/r",
    "https:/github.com/o/r",
    "https:\\\\github.com\\o\\r",
    "//github.com/o/r",
    "https://github.com//o/r",
    "https://github.com/o/r//",
    "https://github.com/o//r",
    "https://github.com/o",
    "https://github.com/o/",
    "https://github.com/o/..",
    "https://github.com/o/.",
    "https://github.com/o/.git",
    "https://github.com/acme/plans.git.git",
    "https://github.com/-o/r",
    "https://github.com/o/r?token=1",
    "https://github.com/o/r#readme",
    "https://github.com/o%2Fr/x",
    "https://github.com/o/r%00",
    "https://github.com/o/r\n",
    " https://github.com/o/r",
    "https://github.com/o/r\thttps://evil.example",
    "https://github.com/o/r/blob/main/x.md",
    "https://github.com/o/r/tree",
    "https://github.com/o/r/tree/",
    "https://github.com/o/r/tree/../x",
    "https://github.com/o/r/tree/a..b",
    "https://github.com/o/r/tree/-x",
    "https://github.com/o/r/tree/main@{1}",
    "https://github.com/o/r/tree/main~1",
    "https://github.com/o/r/tree/main/../../x",
    "https://github.com/o/r/tree/main//etc",
    "https://gıthub.com/o/r",
    "https://ｇithub.com/o/r",
    "http\u017f://github.com/o/r",
    "s3://",
    "s3://Bucket/x",
    "s3://bucket/../other",
    "s3://bucket//x",
    "s3://user@bucket/x",
    "s3://bucket/x?versionId=1",
    "ftp://github.com/o/r",
    "javascript:alert(1)",
    "https://github.com/" + "o" * 3000 + "/r",
]


@pytest.mark.parametrize("url", HOSTILE)
def test_anything_else_is_refused(url: str) -> None:
    with pytest.raises(AddressError):
        parse_address(url)


def test_a_folder_is_an_address_only_where_folders_are_allowed() -> None:
    assert FolderAddress(Path("notes/kb")) == parse_address("notes/kb", allow_folders=True)
    with pytest.raises(AddressError):
        parse_address("file:///etc", allow_folders=True)


ALLOWED = AllowList.parse(
    [
        "handbook=https://github.com/Acme/Handbook",
        "private:vault=https://github.com/acme/vault",
        "archive=s3://acme-docs/archive",
        "https://github.com/Open-Shelf/*",
        "https://github.com/acme/*",
    ]
)


@pytest.mark.parametrize(
    ("expected", "given"),
    [
        ("handbook", "handbook"),
        ("handbook", "https://github.com/acme/handbook"),
        ("handbook", "https://GITHUB.com/ACME/HANDBOOK.git"),
        ("handbook", "https://github.com/Acme/Handbook/"),
        ("archive", "s3://acme-docs/archive/"),
        ("open-shelf/anything", "https://github.com/open-shelf/Anything"),
        ("open-shelf/kb/dev", "https://github.com/Open-Shelf/kb/tree/dev"),
    ],
)
def test_an_allowed_knowledge_base_is_found_by_name_or_by_any_spelling_of_its_address(
    expected: str, given: str
) -> None:
    assert expected == ALLOWED.resolve(given).name


def test_the_address_keeps_the_spelling_of_the_list() -> None:
    assert ALLOWED.resolve("https://github.com/acme/handbook.git").url == "https://github.com/Acme/Handbook"


@pytest.mark.parametrize(
    "given",
    [
        *HOSTILE,
        "unknown",
        "HANDBOOK",
        "https://github.com/evil/handbook",
        "s3://acme-docs",
        "s3://acme-docs/x",
    ],
)
def test_what_is_not_on_the_list_is_not_allowed(given: str) -> None:
    with pytest.raises(LaminaError) as raised:
        ALLOWED.resolve(given)
    assert raised.value.kind.code == "KNOWLEDGE_BASE_NOT_ALLOWED"


@pytest.mark.parametrize("ref", ["0123456789abcdef0123456789abcdef01234567", "deadbee"])
def test_an_owner_pattern_does_not_cover_commits_that_a_caller_picks(ref: str) -> None:
    with pytest.raises(LaminaError):
        ALLOWED.resolve(f"https://github.com/open-shelf/kb/tree/{ref}")


@pytest.mark.parametrize(
    ("expected", "given"),
    [
        (True, "vault"),
        (True, "https://github.com/Acme/Vault"),
        (True, "https://github.com/acme/vault/tree/main"),
        (False, "handbook"),
        (False, "https://github.com/acme/other"),
    ],
)
def test_privacy_holds_for_every_spelling_and_branch(expected: bool, given: str) -> None:
    assert expected is ALLOWED.resolve(given).private


def test_a_refusal_names_what_is_allowed_but_no_private_knowledge_base() -> None:
    with pytest.raises(LaminaError) as raised:
        ALLOWED.resolve("unknown")
    assert raised.value.details["allowed_knowledge_bases"] == ["handbook", "archive"]


@pytest.mark.parametrize(
    "entries",
    [
        ["https://github.com/o/r"],
        ["=https://github.com/o/r"],
        ["a b=https://github.com/o/r"],
        ["x=http://github.com/o/r"],
        ["https://github.com/*"],
        ["https://github.com/*/*"],
        ["https://gitlab.com/o/*"],
        ["x=/etc"],
        ["x=https://github.com/o/r", "x=https://github.com/o/other"],
        ["x=https://github.com/o/r", "y=https://github.com/O/R.git"],
    ],
)
def test_a_list_that_is_unclear_is_refused_whole(entries: list[str]) -> None:
    with pytest.raises(AddressError):
        AllowList.parse(entries)
