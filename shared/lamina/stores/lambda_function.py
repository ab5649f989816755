"""Invokes another Lambda function without waiting for its answer."""

from __future__ import annotations

from functools import cache
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from lamina.contract.ports import StoreUnavailable
from lamina.stores.s3 import make_client


def invoke(function: str, payload: bytes) -> None:
    """Queues one invocation. Raises StoreUnavailable where AWS does not take it."""
    try:
        _client().invoke(FunctionName=function, InvocationType="Event", Payload=payload)
    except (BotoCoreError, ClientError) as error:
        raise StoreUnavailable(f"{function} cannot be invoked: {type(error).__name__}") from error


@cache
def _client() -> Any:
    return make_client("lambda")
