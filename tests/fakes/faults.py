"""AWS as it fails: one chosen call of botocore answers by an error, late, half, or as it was a while ago."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import botocore.client
from botocore.exceptions import ClientError, EndpointConnectionError, IncompleteReadError, ReadTimeoutError
from botocore.parsers import ResponseParserError
from pytest import MonkeyPatch


class Kind(StrEnum):
    """What becomes of the call."""

    ERROR = "error"
    DENIED = "denied"
    THROTTLED = "throttled"
    NO_CONNECTION = "no connection"
    TIMED_OUT = "timed out"
    LOST = "answer lost"
    GARBLED = "garbled"
    HALF_BODY = "half body"
    SLOW_BODY = "slow body"
    TORN_BODY = "torn body"
    CHANGED_BODY = "changed body"
    EMPTY_BODY = "empty body"
    STALE = "stale"


# Kinds that the network's own checks do not see, so that ours have to.
SILENT = (Kind.TORN_BODY, Kind.CHANGED_BODY, Kind.EMPTY_BODY)
_BODIES = (Kind.HALF_BODY, Kind.SLOW_BODY, *SILENT)
_CODES = {Kind.ERROR: ("InternalError", 500), Kind.DENIED: ("AccessDenied", 403), Kind.THROTTLED: ("SlowDown", 503)}


@dataclass(slots=True)
class Body:
    """A streaming body that ends in an error after its first half."""

    content: bytes
    error: Exception
    _given: bool = False

    def read(self, size: int | None = None) -> bytes:
        if self._given:
            raise self.error
        self._given = True
        return self.content[: len(self.content) // 2 or 1]


@dataclass(slots=True)
class Faults:
    """Injects `kind` into the call of number `at`, counted from 0; None of either lets everything through.

    A lost answer is that of a call which did its work.

    `older` holds the objects as they were, by bucket and key, for stale reads.
    """

    at: int | None = None
    kind: Kind | None = None
    calls: list[str] = field(default_factory=list)
    injected: Counter[Kind] = field(default_factory=Counter)
    older: dict[tuple[str, str], bytes] = field(default_factory=dict)

    def plan(self, at: int | None = None, kind: Kind | None = None) -> None:
        """Starts counting anew."""
        self.at, self.kind = at, kind
        self.calls.clear()

    def answer(self, call: Callable[[], Any], operation: str, arguments: dict[str, Any]) -> Any:
        """The answer to one call, with what is planned for it."""
        number = len(self.calls)
        self.calls.append(operation)
        if number != self.at or self.kind is None:
            return call()
        kind = self.kind
        if kind is Kind.STALE:
            return self._stale(call, operation, arguments)
        if kind not in _BODIES:
            self.injected[kind] += 1
            if kind is Kind.LOST:
                call()
            raise _error(kind, operation)
        answer = call()
        if "Body" not in answer:
            return answer
        self.injected[kind] += 1
        return {**answer, "Body": _body(kind, answer["Body"].read())}

    def _stale(self, call: Callable[[], Any], operation: str, arguments: dict[str, Any]) -> Any:
        if operation != "GetObject":
            return call()
        self.injected[Kind.STALE] += 1
        content = self.older.get((arguments["Bucket"], arguments["Key"]))
        if content is None:
            raise ClientError({"Error": {"Code": "NoSuchKey"}, "ResponseMetadata": {"HTTPStatusCode": 404}}, operation)
        return {"Body": io.BytesIO(content), "ETag": '"older"', "ContentLength": len(content)}


def _error(kind: Kind, operation: str) -> Exception:
    if kind in _CODES:
        code, status = _CODES[kind]
        answer = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
        error: Exception = ClientError(answer, operation)
    elif kind is Kind.NO_CONNECTION:
        error = EndpointConnectionError(endpoint_url="https://aws")
    elif kind in (Kind.TIMED_OUT, Kind.LOST):
        error = ReadTimeoutError(endpoint_url="https://aws")
    else:
        error = ResponseParserError("invalid XML received")
    return error


def _body(kind: Kind, content: bytes) -> Any:
    if kind is Kind.HALF_BODY:
        return Body(content, IncompleteReadError(actual_bytes=len(content) // 2, expected_bytes=len(content)))
    if kind is Kind.SLOW_BODY:
        return Body(content, ReadTimeoutError(endpoint_url="https://aws"))
    if kind is Kind.TORN_BODY:
        return io.BytesIO(content[: len(content) // 2])
    if kind is Kind.CHANGED_BODY:
        middle = len(content) // 2
        return io.BytesIO(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
    return io.BytesIO(b"")


@contextmanager
def injecting(faults: Faults) -> Iterator[None]:
    """Every call to AWS in the block goes through `faults`; botocore's own retries, which would hide them, do not."""
    call = botocore.client.BaseClient._make_api_call

    def planned(client: Any, operation: str, arguments: dict[str, Any]) -> Any:
        return faults.answer(lambda: call(client, operation, arguments), operation, arguments)

    with MonkeyPatch.context() as patched:
        patched.setattr(botocore.client.BaseClient, "_make_api_call", planned)
        yield
