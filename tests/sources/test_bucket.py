"""The bucket source against a stand-in for S3."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from tests.fakes.aws import fake_bucket

from lamina.contract.ports import SourceUnavailable
from lamina.sources.address import BucketAddress
from lamina.sources.bounds import Bounds
from lamina.sources.bucket import BucketSource

ADDRESS = BucketAddress("acme-docs", "handbook")


@pytest.fixture
def client() -> Iterator[Any]:
    with fake_bucket("acme-docs") as made:
        for name, content in {"canon/a.md": b"# A\n", "b.md": b"# B\n"}.items():
            put(made, name, content)
        yield made


def put(client: Any, name: str, content: bytes) -> None:
    client.put_object(Bucket="acme-docs", Key=f"handbook/{name}", Body=content)


def test_the_objects_below_the_prefix_are_read_by_their_paths_below_it(client: Any) -> None:
    put(client, ".kb.yml", b"scheme: kb\n")
    put(client, ".kbignore", b"drafts\n")
    put(client, "drafts/c.md", b"no")
    put(client, "image.png", b"no")
    client.put_object(Bucket="acme-docs", Key="handbook-old/d.md", Body=b"no")
    source = BucketSource(client, ADDRESS)
    tree = source.fetch(source.revision())
    assert source.url == "s3://acme-docs/handbook"
    assert {file.path: file.content for file in tree.files} == {"b.md": b"# B\n", "canon/a.md": b"# A\n"}
    assert (tree.settings, tree.ignore, tree.skipped) == ("scheme: kb\n", ("drafts",), ())


def test_a_whole_bucket_is_a_source_and_so_is_a_listing_of_many_pages(client: Any) -> None:
    for n in range(1005):
        client.put_object(Bucket="acme-docs", Key=f"many/{n}.md", Body=b"x")
    source = BucketSource(client, BucketAddress("acme-docs"))
    assert len(source.fetch(source.revision()).files) == 1007


def test_objects_that_cannot_be_used_are_reported_and_the_rest_is_kept(client: Any) -> None:
    put(client, "latin.md", b"caf\xe9")
    put(client, "big.md", b"x" * 2000)
    put(client, "a//b.md", b"x")
    source = BucketSource(client, ADDRESS, Bounds(file_bytes=1000))
    tree = source.fetch(source.revision())
    assert [file.path for file in tree.files] == ["b.md", "canon/a.md"]
    assert {skip.path for skip in tree.skipped} == {"latin.md", "big.md", "a//b.md"}


def test_files_in_other_formats_for_text_are_named_and_make_no_new_revision(client: Any) -> None:
    source = BucketSource(client, ADDRESS)
    before = source.revision()
    put(client, "guide.RST", b"Guide\n=====\n")
    put(client, "image.png", b"x")
    assert source.revision() == before
    assert source.fetch(before).unread == ("guide.RST",)


def test_the_revision_changes_with_what_is_read_and_with_nothing_else(client: Any) -> None:
    source = BucketSource(client, ADDRESS)
    first = source.revision()
    put(client, "image.png", b"x")
    put(client, "b.md", b"# B\n")
    assert source.revision() == first
    put(client, "b.md", b"# C\n")
    second = source.revision()
    put(client, ".kb.yml", b"scheme: kb\n")
    assert len({first, second, source.revision()}) == 3


def test_a_bucket_that_changed_since_its_revision_is_not_passed_off_as_it(client: Any) -> None:
    source = BucketSource(client, ADDRESS)
    revision = source.revision()
    put(client, "b.md", b"# C\n")
    with pytest.raises(SourceUnavailable, match="changed") as raised:
        source.fetch(revision)
    assert raised.value.retry_after == 1


class Moving:
    """A client whose objects change between the listing and the reading."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def get_paginator(self, name: str) -> Any:
        return self._client.get_paginator(name)

    def get_object(self, **arguments: Any) -> Any:
        put(self._client, "b.md", b"# Changed\n")
        return self._client.get_object(**arguments)


def test_an_object_that_changes_while_it_is_read_is_not_mixed_in(client: Any) -> None:
    revision = BucketSource(client, ADDRESS).revision()
    with pytest.raises(SourceUnavailable, match="changed"):
        BucketSource(Moving(client), ADDRESS).fetch(revision)


@pytest.mark.parametrize(
    ("expected", "bounds"),
    [
        ("more than 1 objects", Bounds(entries=1)),
        ("more than 1 files", Bounds(files=1)),
        ("bytes of Markdown", Bounds(total_bytes=5)),
    ],
)
def test_a_bucket_over_its_bounds_is_refused(client: Any, expected: str, bounds: Bounds) -> None:
    source = BucketSource(client, ADDRESS, bounds)
    with pytest.raises(SourceUnavailable, match=expected):
        source.fetch(source.revision())


def test_a_missing_bucket_is_reported(client: Any) -> None:
    with pytest.raises(SourceUnavailable, match="bucket does not exist"):
        BucketSource(client, BucketAddress("no-such-bucket")).revision()


class Silent:
    """A client whose endpoint is gone."""

    def get_paginator(self, _: str) -> Any:
        raise EndpointConnectionError(endpoint_url="https://s3.example")


def test_an_endpoint_that_does_not_answer_is_reported() -> None:
    with pytest.raises(SourceUnavailable, match="did not answer"):
        BucketSource(Silent(), ADDRESS).revision()


class _Denied:
    """A bucket whose owner let nobody in."""

    def get_paginator(self, name: str) -> Any:
        raise ClientError({"Error": {"Code": "AccessDenied"}}, "ListObjectsV2")


def test_a_bucket_that_is_closed_names_the_statement_that_is_missing() -> None:
    with pytest.raises(SourceUnavailable, match=r"needs s3:ListBucket on arn:aws:s3:::acme-docs\..*SourceBuckets"):
        BucketSource(_Denied(), ADDRESS).revision()
