"""AWS services that live in this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from moto import mock_aws
from pytest import MonkeyPatch

from lamina.stores.s3 import make_client

BUCKET = "lamina-test"


@contextmanager
def fake_service(name: str) -> Iterator[Any]:
    """A client of the service; nothing leaves the process while the block runs."""
    with MonkeyPatch.context() as environment, mock_aws():
        environment.setenv("AWS_ACCESS_KEY_ID", "testing")
        environment.setenv("AWS_SECRET_ACCESS_KEY", "testing")
        yield make_client(name, region="us-east-1", connections=50)


@contextmanager
def fake_bucket(bucket: str = BUCKET) -> Iterator[Any]:
    """An S3 client with one empty bucket."""
    with fake_service("s3") as client:
        client.create_bucket(Bucket=bucket)
        yield client
