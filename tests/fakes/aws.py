"""AWS services that live in this process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import botocore.client
from moto import mock_aws
from pytest import MonkeyPatch

from lamina.stores.aws import make_client

BUCKET = "lamina-test"


@contextmanager
def fake_service(name: str) -> Iterator[Any]:
    """A client of the service; nothing leaves the process while the block runs.

    Calls are taken one at a time, since moto judges a write's condition and writes in two steps.
    """
    with MonkeyPatch.context() as environment, mock_aws():
        environment.setenv("AWS_ACCESS_KEY_ID", "testing")
        environment.setenv("AWS_SECRET_ACCESS_KEY", "testing")
        one_at_a_time = threading.Lock()
        call = botocore.client.BaseClient._make_api_call

        def taken(client: Any, operation: str, arguments: Any) -> Any:
            with one_at_a_time:
                return call(client, operation, arguments)

        environment.setattr(botocore.client.BaseClient, "_make_api_call", taken)
        yield make_client(name, region="us-east-1", connections=50)


@contextmanager
def fake_bucket(bucket: str = BUCKET) -> Iterator[Any]:
    """An S3 client with one empty bucket."""
    with fake_service("s3") as client:
        client.create_bucket(Bucket=bucket)
        yield client
