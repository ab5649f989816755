"""Invokes another Lambda function without waiting for its answer."""

from __future__ import annotations

from functools import cache
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from lamina.contract.ports import StoreUnavailable
from lamina.stores.s3 import make_client


def invoke(function: str, payload: bytes) -> None:
    """Queues one invocation. Raises StoreUnavailable where AWS does not take it."""
    try:
        _client().invoke(FunctionName=function, InvocationType="Event", Payload=payload)
    except (BotoCoreError, ResponseParserError, ClientError, OSError) as error:
        raise StoreUnavailable(f"{function} cannot be invoked: {type(error).__name__}") from error


@cache
def _client() -> Any:
    # Whoever asks has a caller waiting, and the next one asks again.
    return make_client("lambda", read_seconds=2.0, attempts=1)
