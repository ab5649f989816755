"""Markdown from an S3 bucket: its revision is a digest of the listing, its files are read as listed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import urllib3
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from lamina.contract.ids import sha256_hex
from lamina.contract.ports import SourceTree, SourceUnavailable
from lamina.sources.address import BucketAddress
from lamina.sources.bounds import Bounds, is_unread, is_wanted, path_problem
from lamina.sources.tree import TreeBuilder

_READERS = 8
_MOVED = frozenset({"NoSuchKey", "404", "PreconditionFailed", "412"})
_DENIED = frozenset({"AccessDenied", "403"})
_REASONS = {
    "NoSuchBucket": "the bucket does not exist",
    "InvalidObjectState": "an object is archived and cannot be read",
}


@dataclass(frozen=True, slots=True)
class _Listed:
    """An object as the listing showed it; `path` is its key below the prefix."""

    key: str
    path: str
    etag: str
    size: int


@dataclass(frozen=True, slots=True)
class BucketSource:
    """The Markdown objects below a prefix. `client` is a botocore S3 client."""

    client: Any = field(repr=False)
    address: BucketAddress
    bounds: Bounds = field(default_factory=Bounds)

    @property
    def url(self) -> str:
        """The address as the allow list names it."""
        return self.address.url

    @property
    def _arn(self) -> str:
        return f"arn:aws:s3:::{self.address.bucket}"

    def revision(self) -> str:
        """SHA-256 over the keys and ETags of what would be read."""
        return _revision(self._listing())

    def fetch(self, revision: str) -> SourceTree:
        """The objects of that listing; SourceUnavailable if the bucket has moved on meanwhile."""
        listing = self._listing()
        if _revision(listing) != revision:
            raise _moved_on()
        builder = TreeBuilder(self.bounds)
        wanted = []
        for listed in listing:
            if problem := path_problem(listed.path):
                builder.skip(listed.path, problem)
            elif builder.admits(listed.path, listed.size):
                wanted.append(listed)
        if sum(listed.size for listed in wanted) > self.bounds.total_bytes:
            raise SourceUnavailable(f"the source has more than {self.bounds.total_bytes} bytes of Markdown")
        with ThreadPoolExecutor(_READERS) as readers:
            for listed, content in zip(wanted, readers.map(self._read, wanted), strict=True):
                builder.add(listed.path, content)
        return builder.tree(revision)

    def _listing(self) -> list[_Listed]:
        """The objects that are read, and those whose names are told, in key order."""
        prefix = f"{self.address.prefix}/" if self.address.prefix else ""
        listed: list[_Listed] = []
        with _answering(f"s3:ListBucket on {self._arn}"):
            pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.address.bucket, Prefix=prefix)
            for seen, found in enumerate(_objects(pages), start=1):
                if seen > self.bounds.entries:
                    raise SourceUnavailable(f"the prefix has more than {self.bounds.entries} objects")
                path = found["Key"][len(prefix) :]
                if is_wanted(path) or is_unread(path):
                    listed.append(_Listed(found["Key"], path, found["ETag"], found["Size"]))
        return sorted(listed, key=lambda entry: entry.key)

    def _read(self, listed: _Listed) -> bytes:
        with _answering(f"s3:GetObject on {self._arn}/*"):
            answer = self.client.get_object(Bucket=self.address.bucket, Key=listed.key, IfMatch=listed.etag)
            content: bytes = answer["Body"].read()
        if len(content) != listed.size:
            raise _moved_on()
        return content


def _objects(pages: Iterable[Any]) -> Iterator[Any]:
    for page in pages:
        yield from page.get("Contents", ())


def _revision(listing: list[_Listed]) -> str:
    return sha256_hex(
        "\n".join(f"{listed.path}\0{listed.etag}" for listed in listing if is_wanted(listed.path)).encode()
    )


def _moved_on() -> SourceUnavailable:
    return SourceUnavailable("the bucket changed while it was read", retry_after=1)


@contextmanager
def _answering(statement: str) -> Iterator[None]:
    """Turns what S3 and the network refuse into SourceUnavailable; `statement` is what the call must be allowed."""
    try:
        yield
    except ClientError as error:
        code = str(error.response.get("Error", {}).get("Code", ""))
        if code in _MOVED:
            raise _moved_on() from error
        if code in _DENIED:
            raise SourceUnavailable(
                f"access to the bucket is denied: the indexer's role needs {statement}. "
                "Add the bucket's ARN to the parameter SourceBuckets and deploy."
            ) from error
        raise SourceUnavailable(_REASONS.get(code, f"S3 answered {code}")) from error
    except (BotoCoreError, ResponseParserError, urllib3.exceptions.HTTPError, OSError) as error:
        raise SourceUnavailable(f"S3 did not answer: {type(error).__name__}") from error
