"""What is particular to the object store in S3: its failures, its lost answers, its pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, IncompleteReadError, ReadTimeoutError
from tests.fakes.aws import BUCKET, fake_bucket

from lamina.contract.ports import AlreadyExists, StoredObject, StoreUnavailable
from lamina.stores.aws import make_client
from lamina.stores.s3 import S3Store


@pytest.fixture
def s3() -> Iterator[Any]:
    with fake_bucket() as client:
        yield client


class Failing:
    """An S3 client on which every call ends in one error."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def fail(*_: object, **__: object) -> Any:
            raise self._error

        return fail


def refusal(code: str, **metadata: object) -> ClientError:
    return ClientError({"Error": {"Code": code}, "ResponseMetadata": metadata}, "PutObject")


@pytest.mark.parametrize(
    "error",
    [
        refusal("SlowDown"),
        refusal("InternalError"),
        refusal("AccessDenied"),
        refusal("NoSuchBucket"),
        refusal("ExpiredToken"),
        refusal("ConditionalRequestConflict"),
        EndpointConnectionError(endpoint_url="https://s3.example"),
        ReadTimeoutError(endpoint_url="https://s3.example"),
        ConnectionResetError(),
    ],
)
def test_whatever_s3_fails_with_is_unavailable_on_every_method(error: Exception) -> None:
    store = S3Store(Failing(error), BUCKET)
    calls: list[Callable[[], object]] = [
        lambda: store.get("key"),
        lambda: store.create("key", b""),
        lambda: store.replace("key", b"", version='"x"'),
        lambda: store.delete("key"),
        lambda: list(store.keys("")),
    ]
    for call in calls:
        with pytest.raises(StoreUnavailable):
            call()


def test_access_denied_says_what_may_be_missing() -> None:
    with pytest.raises(StoreUnavailable, match="s3:ListBucket"):
        S3Store(Failing(refusal("AccessDenied")), BUCKET).get("key")


class Torn:
    """A body that breaks off."""

    def read(self, size: int) -> bytes:
        raise IncompleteReadError(actual_bytes=1, expected_bytes=2)


class TornClient:
    """A client whose bodies break off."""

    def get_object(self, **_: object) -> dict[str, object]:
        return {"Body": Torn(), "ETag": '"x"'}


def test_a_body_that_breaks_off_is_unavailable_not_short() -> None:
    with pytest.raises(StoreUnavailable):
        S3Store(TornClient(), BUCKET).get("key")


class Lossy:
    """A client that writes, loses the answer, and meets its own object when it tries again."""

    def __init__(self, client: Any, *, is_ours: bool) -> None:
        self._client = client
        self._is_ours = is_ours

    def put_object(self, **arguments: Any) -> None:
        if self._is_ours:
            self._client.put_object(**arguments)
        raise refusal("PreconditionFailed", RetryAttempts=1)

    def head_object(self, **arguments: Any) -> Any:
        return self._client.head_object(**arguments)


def test_a_write_whose_answer_was_lost_is_told_from_one_that_lost(s3: Any) -> None:
    S3Store(Lossy(s3, is_ours=True), BUCKET).create("ours", b"same")
    S3Store(s3, BUCKET).create("theirs", b"same")
    with pytest.raises(AlreadyExists):
        S3Store(Lossy(s3, is_ours=False), BUCKET).create("theirs", b"same")


class Conflicting:
    """A client that answers a number of writes with a conflict before it lets one through."""

    def __init__(self, client: Any, conflicts: int) -> None:
        self._client = client
        self._left = conflicts

    def put_object(self, **arguments: Any) -> None:
        self._left -= 1
        if self._left >= 0:
            raise refusal("ConditionalRequestConflict")
        self._client.put_object(**arguments)


def test_a_conflict_with_a_write_under_way_is_tried_again(s3: Any) -> None:
    S3Store(Conflicting(s3, 2), BUCKET).create("key", b"x")
    found = S3Store(s3, BUCKET).get("key")
    assert isinstance(found, StoredObject)
    assert found.content == b"x"


def test_s3_keys_are_listed_past_the_first_page(s3: Any) -> None:
    for n in range(1001):
        s3.put_object(Bucket=BUCKET, Key=f"k/{n:04}", Body=b"")
    assert len(list(S3Store(s3, BUCKET).keys("k/"))) == 1001


def test_clients_give_up_soon(s3: Any) -> None:
    config = make_client("s3", region="us-east-1", attempts=2).meta.config
    assert (config.connect_timeout, config.read_timeout) == (1.0, 3.0)
    assert config.retries["total_max_attempts"] == 2
