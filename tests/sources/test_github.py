"""The GitHub source against a server that answers as GitHub does, on a good day and on bad ones."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from tests.fakes.github import OTHER_SHA, SHA, Entry, FakeGitHub, Reply, tarball, tarball_of

from lamina.contract.ports import SourceUnavailable
from lamina.sources.address import GitHubAddress
from lamina.sources.bounds import Bounds
from lamina.sources.github import GitHubSource, Patience

ADDRESS = GitHubAddress("acme", "handbook")
FILES = {"canon/a.md": "# A\n", "b.md": "# B\n"}
NOW = 1_800_000_000


@pytest.fixture
def github() -> Iterator[FakeGitHub]:
    with FakeGitHub().running() as fake:
        fake.add("acme/handbook", tarball_of(FILES))
        yield fake


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def source(github: FakeGitHub, waits: list[float]) -> GitHubSource:
    return github.source(patience=Patience(sleep=waits.append, now=lambda: NOW))


def test_a_repository_is_read_at_the_commit_of_its_default_branch(source: GitHubSource) -> None:
    assert source.url == "https://github.com/acme/handbook"
    assert source.revision() == SHA
    tree = source.fetch(SHA)
    assert tree.revision == SHA
    assert [file.path for file in tree.files] == ["b.md", "canon/a.md"]


def test_a_ref_and_a_subfolder_are_followed(github: FakeGitHub, source: GitHubSource) -> None:
    github.repositories["acme/handbook"].refs["v1.2+x"] = OTHER_SHA
    github.repositories["acme/handbook"].archives[OTHER_SHA] = tarball_of(FILES)
    source.address = GitHubAddress("acme", "handbook", "v1.2+x", "canon")
    revision = source.revision()
    assert revision == OTHER_SHA
    assert [file.path for file in source.fetch(revision).files] == ["a.md"]


def test_an_unchanged_revision_is_asked_for_conditionally(github: FakeGitHub, source: GitHubSource) -> None:
    assert [source.revision(), source.revision()] == [SHA, SHA]
    assert [request.headers.get("If-None-Match") for request in github.api.requests] == [None, f'"{SHA}"']
    github.repositories["acme/handbook"].refs["HEAD"] = OTHER_SHA
    assert source.revision() == OTHER_SHA


def test_a_token_opens_a_private_repository(github: FakeGitHub, source: GitHubSource) -> None:
    github.repositories["acme/handbook"].token = "s3cret"
    with pytest.raises(SourceUnavailable, match="no such repository or ref, or the token may not"):
        source.revision()
    source.token = "s3cret\n"
    assert source.fetch(source.revision()).files


def test_the_token_goes_to_the_api_alone(github: FakeGitHub, source: GitHubSource) -> None:
    source.token = "s3cret"
    source.fetch(source.revision())
    assert [request.headers["Authorization"] for request in github.api.requests] == ["Bearer s3cret"] * 2
    assert ["Authorization" in request.headers for request in github.archives.requests] == [False]
    assert "s3cret" not in repr(source)


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("no such repository or ref", 404),
        ("no such ref", 422),
        ("refused the token", 401),
        ("denied access", 403),
        ("repository is empty", 409),
        ("legal reasons", 451),
        ("answered 418", 418),
        ("answered 304", 304),
        ("answered 302", 302),
    ],
)
def test_a_refusal_has_a_reason(github: FakeGitHub, source: GitHubSource, reason: str, status: int) -> None:
    github.api.script.append(Reply(status))
    with pytest.raises(SourceUnavailable, match=reason):
        source.revision()


@pytest.mark.parametrize("body", [b"", b"main", b"<html>", SHA[:39].encode(), SHA.encode() * 3, b"\xff" * 40])
def test_an_answer_that_is_no_commit_id_is_refused(github: FakeGitHub, source: GitHubSource, body: bytes) -> None:
    github.api.script.append(Reply(200, body=body))
    with pytest.raises(SourceUnavailable, match="no commit id"):
        source.revision()


@pytest.mark.parametrize("revision", ["main", SHA[:12], "../../other", SHA.upper()])
def test_only_full_commit_ids_are_fetched(github: FakeGitHub, source: GitHubSource, revision: str) -> None:
    with pytest.raises(ValueError, match="full SHA"):
        source.fetch(revision)
    assert github.api.requests == []


@pytest.mark.parametrize(
    "limited",
    [
        Reply(429, {"Retry-After": "2"}),
        Reply(403, {"Retry-After": "2"}),
        Reply(403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(NOW + 2)}),
    ],
)
def test_a_short_rate_limit_is_waited_for(
    github: FakeGitHub, source: GitHubSource, waits: list[float], limited: Reply
) -> None:
    github.api.script.append(limited)
    assert source.revision() == SHA
    assert waits == [2]


@pytest.mark.parametrize(
    ("retry_after", "limited"),
    [
        (90, Reply(429, {"Retry-After": "90"})),
        (1200, Reply(403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(NOW + 1200)})),
        (3600, Reply(403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(NOW + 10**9)})),
        (60, Reply(429)),
        (60, Reply(429, {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"})),
        (60, Reply(403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "soon"})),
    ],
)
def test_a_long_rate_limit_is_passed_on_and_not_waited_for(
    github: FakeGitHub, source: GitHubSource, waits: list[float], retry_after: int, limited: Reply
) -> None:
    github.api.script.append(limited)
    with pytest.raises(SourceUnavailable, match="rate limit") as raised:
        source.revision()
    assert raised.value.retry_after == retry_after
    assert waits == []
    assert len(github.api.requests) == 1


def test_a_rate_limit_that_does_not_end_is_given_up_on(
    github: FakeGitHub, source: GitHubSource, waits: list[float]
) -> None:
    github.api.script += [Reply(429, {"Retry-After": "1"})] * 9
    with pytest.raises(SourceUnavailable, match="rate limit"):
        source.revision()
    assert waits == [1, 1]


def test_a_rate_limit_of_the_archive_host_starts_again_at_the_api(
    github: FakeGitHub, source: GitHubSource, waits: list[float]
) -> None:
    github.archives.script.append(Reply(429, {"Retry-After": "3"}))
    assert source.fetch(SHA).files
    assert waits == [3]
    assert len(github.api.requests) == 2


def test_a_fault_is_tried_again_with_growing_waits(
    github: FakeGitHub, source: GitHubSource, waits: list[float]
) -> None:
    github.api.script += [Reply(502), Reply(500)]
    assert source.revision() == SHA
    assert waits == [0.5, 1.0]


def test_a_lasting_fault_is_reported_with_a_time_to_come_back(github: FakeGitHub, source: GitHubSource) -> None:
    github.api.script += [Reply(503)] * 3
    with pytest.raises(SourceUnavailable, match="answered 503") as raised:
        source.revision()
    assert raised.value.retry_after == 30


def test_a_renamed_repository_is_followed_within_the_api(github: FakeGitHub, source: GitHubSource) -> None:
    github.add("acme/renamed", tarball_of(FILES))
    github.api.script.append(Reply(301, {"Location": "/repos/acme/renamed/commits/HEAD"}))
    assert source.revision() == SHA


def test_redirects_in_a_circle_end(github: FakeGitHub, source: GitHubSource) -> None:
    github.api.script += [Reply(302, {"Location": "/again"})] * 20
    with pytest.raises(SourceUnavailable, match="redirects too often"):
        source.revision()
    assert len(github.api.requests) == 6


def test_a_truncated_archive_is_refused(github: FakeGitHub, source: GitHubSource) -> None:
    whole = tarball_of(FILES)
    github.archives.script.append(Reply(200, body=whole[:-20], promised=len(whole)))
    with pytest.raises(SourceUnavailable, match=r"connection failed|cut short"):
        source.fetch(SHA)


def test_a_page_instead_of_an_archive_is_refused(github: FakeGitHub, source: GitHubSource) -> None:
    github.archives.script.append(Reply(200, {"Content-Type": "text/html"}, b"<html>Sign in</html>"))
    with pytest.raises(SourceUnavailable, match="damaged"):
        source.fetch(SHA)


@pytest.mark.parametrize("pause", [0.02, 30.0])
def test_a_host_that_is_too_slow_is_cut_off_however_it_is_slow(
    github: FakeGitHub, source: GitHubSource, pause: float
) -> None:
    source.bounds = Bounds(seconds=0.4)
    github.archives.script.append(Reply(200, body=tarball_of(FILES) * 50, pause=pause))
    before = threading.active_count()
    with pytest.raises(SourceUnavailable, match="too long"):
        source.fetch(SHA)
    assert threading.active_count() <= before + 2


def test_a_hostile_archive_leaves_what_is_good_in_it(github: FakeGitHub, source: GitHubSource) -> None:
    github.repositories["acme/handbook"].archives[SHA] = tarball(
        [Entry("good.md", b"# Good\n"), Entry("^../../evil.md", b"x"), Entry("latin.md", b"caf\xe9")]
    )
    tree = source.fetch(SHA)
    assert [file.path for file in tree.files] == ["good.md"]
    assert {skip.path for skip in tree.skipped} == {"../../evil.md", "latin.md"}


def test_an_archive_over_its_bound_is_refused_while_it_arrives(github: FakeGitHub, source: GitHubSource) -> None:
    source.bounds = Bounds(archive_bytes=200)
    with pytest.raises(SourceUnavailable, match="larger than 200 bytes"):
        source.fetch(SHA)
