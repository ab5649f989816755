"""An object store in S3: conditions are S3's own, failures are StoreUnavailable."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from botocore.exceptions import ClientError

from lamina.contract.ports import AlreadyExists, StoredObject, StoreUnavailable
from lamina.stores.aws import NO_ANSWER, code_of
from lamina.stores.keys import check_key

_MISSING = frozenset({"NoSuchKey", "404"})
_LOST = frozenset({"PreconditionFailed", "412"})
# S3 answers so while another write to the key is under way; the condition was not judged yet.
_CONFLICT = frozenset({"ConditionalRequestConflict", "409"})
_CONFLICT_RETRIES = 3
_CONFLICT_SECONDS = 0.05
_PIECE = 256 * 1024
_WRITER = "lamina-writer"


class S3Store:
    """Objects of a bucket below `prefix`; `version` is the ETag. Content has to arrive within `seconds`."""

    def __init__(self, client: Any, bucket: str, prefix: str = "", seconds: float = 60.0) -> None:
        self._client = client
        self._bucket = bucket
        self._prefix = prefix
        self._seconds = seconds

    def get(self, key: str) -> StoredObject | None:
        """The object under `key`, or None."""
        with _answering(key):
            try:
                answer = self._client.get_object(Bucket=self._bucket, Key=self._key(key))
                return StoredObject(self._content(answer["Body"]), answer["ETag"])
            except ClientError as error:
                if code_of(error) in _MISSING:
                    return None
                raise

    def create(self, key: str, content: bytes) -> None:
        """Writes a key that must not exist yet; AlreadyExists if it does."""
        self._put(key, content, {"IfNoneMatch": "*"})

    def replace(self, key: str, content: bytes, *, version: str | None = None) -> None:
        """Writes a key whole; with `version`, only over exactly that version, else AlreadyExists."""
        self._put(key, content, {} if version is None else {"IfMatch": version})

    def delete(self, key: str) -> None:
        """Removes a key; a missing one is no error."""
        with _answering(key):
            self._client.delete_object(Bucket=self._bucket, Key=self._key(key))

    def keys(self, prefix: str) -> Iterator[str]:
        """Keys that begin with `prefix`, in ascending order."""
        with _answering(prefix):
            pages = self._client.get_paginator("list_objects_v2").paginate(
                Bucket=self._bucket, Prefix=f"{self._prefix}{prefix}"
            )
            for page in pages:
                for found in page.get("Contents", ()):
                    yield found["Key"][len(self._prefix) :]

    def _content(self, body: Any) -> bytes:
        """The whole content. The client's time-out bounds each wait alone, which a trickle never meets."""
        ends = time.monotonic() + self._seconds
        pieces = []
        while piece := body.read(_PIECE):
            pieces.append(piece)
            if time.monotonic() > ends:
                raise TimeoutError("the content took too long to arrive")
        return b"".join(pieces)

    def _key(self, key: str) -> str:
        check_key(key)
        return f"{self._prefix}{key}"

    def _put(self, key: str, content: bytes, condition: dict[str, str]) -> None:
        writer = uuid.uuid4().hex
        with _answering(key):
            for attempt in range(_CONFLICT_RETRIES + 1):
                try:
                    self._client.put_object(
                        Bucket=self._bucket,
                        Key=self._key(key),
                        Body=content,
                        Metadata={_WRITER: writer},
                        **condition,
                    )
                    return
                except ClientError as error:
                    code = code_of(error)
                    if code in _CONFLICT and attempt < _CONFLICT_RETRIES:
                        time.sleep(_CONFLICT_SECONDS * 2**attempt)
                    elif code in _LOST or (condition and code in _MISSING):
                        if self._wrote(key, writer, error):
                            return
                        raise AlreadyExists(key) from error
                    else:
                        raise

    def _wrote(self, key: str, writer: str, error: ClientError) -> bool:
        """Whether the write that seems lost was ours: its answer got lost, and the retry met its result."""
        if not error.response.get("ResponseMetadata", {}).get("RetryAttempts"):
            return False
        found = self._client.head_object(Bucket=self._bucket, Key=self._key(key))
        return bool(found.get("Metadata", {}).get(_WRITER) == writer)


@contextmanager
def _answering(key: str) -> Iterator[None]:
    """Turns what S3 and the network refuse into StoreUnavailable."""
    try:
        yield
    except ClientError as error:
        code = code_of(error)
        # Without s3:ListBucket, S3 hides that a key is missing behind the same answer.
        hint = "; is s3:ListBucket granted?" if code in ("AccessDenied", "403") else ""
        raise StoreUnavailable(f"S3 answered {code} for {key}{hint}") from error
    except NO_ANSWER as error:
        raise StoreUnavailable(f"S3 did not answer for {key}: {type(error).__name__}") from error
