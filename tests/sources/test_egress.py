"""Where the GitHub source may connect to: named hosts, public addresses, their own certificates."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.fakes.certificates import certificate_for
from tests.fakes.github import SHA, FakeGitHub, Reply, anywhere, tarball_of

from lamina.contract.ports import SourceUnavailable
from lamina.sources.address import GitHubAddress
from lamina.sources.egress import Egress, is_public, origin_of
from lamina.sources.github import GitHubHosts, GitHubSource

ADDRESS = GitHubAddress("acme", "handbook")
FILES = {"canon/a.md": "# A\n", "b.md": "# B\n"}


@pytest.fixture
def github() -> Iterator[FakeGitHub]:
    with FakeGitHub().running() as fake:
        fake.add("acme/handbook", tarball_of(FILES))
        yield fake


@pytest.fixture
def source(github: FakeGitHub) -> GitHubSource:
    return github.source()


@pytest.mark.parametrize(
    "location",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://127.0.0.1:1/x",
        "http://localhost/x",
        "https://github.com.evil.example/x",
        "https://codeload.github.com/x",
        "//evil.example/x",
        "file:///etc/passwd",
        "ftp://evil.example/x",
        "https://evil.example:99999/x",
        "https://[::1/x",
        "http://[::ffff:7f00:1]/x",
    ],
)
def test_a_redirect_to_a_host_that_is_not_allowed_is_not_followed(
    github: FakeGitHub, source: GitHubSource, location: str
) -> None:
    resolved: list[str] = []

    def resolve(host: str, port: int) -> Sequence[str]:
        resolved.append(host)
        return ["127.0.0.1"]

    assert source.egress is not None
    source.egress = replace(source.egress, resolve=resolve)
    github.api.script.append(Reply(302, {"Location": location}))
    with pytest.raises(SourceUnavailable, match=r"not an allowed host|not plain HTTPS|malformed"):
        source.fetch(SHA)
    assert resolved == ["127.0.0.1"]


def test_user_information_in_a_redirect_is_refused(github: FakeGitHub, source: GitHubSource) -> None:
    location = github.archives.url.replace("http://", "http://github.com@")
    github.api.script.append(Reply(302, {"Location": f"{location}/x"}))
    with pytest.raises(SourceUnavailable, match="not plain HTTPS"):
        source.fetch(SHA)
    assert github.archives.requests == []


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.9.9.9",
        "10.0.0.8",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1",
        "fd00::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "2002:7f00:1::",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b::8c52:7005",
        "::127.0.0.1",
        "fec0::1",
        "192.0.0.9",
    ],
)
def test_a_name_that_resolves_to_a_private_address_is_refused_before_a_byte_is_sent(
    github: FakeGitHub, source: GitHubSource, address: str
) -> None:
    assert source.egress is not None
    source.egress = replace(source.egress, is_permitted=is_public, resolve=lambda host, port: ["140.82.112.5", address])
    with pytest.raises(SourceUnavailable, match="not at a public address"):
        source.revision()
    assert github.api.requests == []


def test_without_a_permit_loopback_is_refused(github: FakeGitHub) -> None:
    with pytest.raises(SourceUnavailable, match="not at a public address"):
        GitHubSource(ADDRESS, hosts=GitHubHosts(github.api.url, ())).revision()
    assert github.api.requests == []


def test_a_name_is_resolved_once_for_a_connection_so_that_it_cannot_move_after_the_check(
    github: FakeGitHub, source: GitHubSource
) -> None:
    port = github.api.url.rpartition(":")[2]
    answers = [["127.0.0.1"], ["10.0.0.1"]]
    source.hosts = GitHubHosts(f"http://api.example:{port}")
    source.egress = Egress(frozenset({f"http://api.example:{port}"}), anywhere, lambda host, port: answers.pop(0))
    assert source.revision() == SHA
    assert answers == [["10.0.0.1"]]
    assert github.api.requests[0].headers["Host"] == f"api.example:{port}"


def test_the_next_address_is_tried_where_one_does_not_answer(github: FakeGitHub, source: GitHubSource) -> None:
    assert source.egress is not None
    source.egress = replace(source.egress, resolve=lambda host, port: ["127.0.0.2", "::1", "127.0.0.1"])
    assert source.revision() == SHA


def test_a_host_that_is_not_there_is_reported(github: FakeGitHub, source: GitHubSource) -> None:
    def nowhere(host: str, port: int) -> Sequence[str]:
        raise OSError("no such host")

    assert source.egress is not None
    source.egress = replace(source.egress, resolve=nowhere)
    with pytest.raises(SourceUnavailable, match="cannot be resolved"):
        source.revision()


def test_a_host_that_does_not_speak_tls_is_refused(github: FakeGitHub) -> None:
    api = github.api.url.replace("http://", "https://")
    egress = Egress(frozenset({origin_of(api)}), anywhere)
    with pytest.raises(SourceUnavailable, match="connection failed"):
        GitHubSource(ADDRESS, hosts=GitHubHosts(api, ()), egress=egress).revision()
    assert github.api.requests == []


@pytest.mark.parametrize(
    ("is_trusted", "owner", "trusts"),
    [(True, "api.example", True), (False, "other.example", True), (False, "api.example", False)],
)
def test_the_certificate_has_to_be_trusted_and_the_hosts_own_though_the_connection_goes_to_an_address(
    tmp_path: Path, is_trusted: bool, owner: str, trusts: bool
) -> None:
    certificate = certificate_for(owner, tmp_path)
    with FakeGitHub(certificate.server_context()).running() as github:
        github.add("acme/handbook", tarball_of(FILES))
        api = github.api.url.replace("127.0.0.1", "api.example")
        egress = Egress(
            frozenset({origin_of(api)}),
            anywhere,
            lambda host, port: ["127.0.0.1"],
            certificate.client_context() if trusts else None,
        )
        source = GitHubSource(ADDRESS, token="s3cret", hosts=GitHubHosts(api, ()), egress=egress)
        if is_trusted:
            assert source.revision() == SHA
        else:
            with pytest.raises(SourceUnavailable, match="connection failed: SSL"):
                source.revision()
        assert len(github.api.requests) == is_trusted


@pytest.mark.parametrize("address", ["140.82.112.5", "2606:50c0:8000::64", "::ffff:140.82.112.5"])
def test_public_addresses_are_permitted(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))
