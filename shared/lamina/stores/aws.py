"""Makes the AWS clients, in one place, and says what it is called when AWS does not answer."""

from __future__ import annotations

import threading
from functools import cache
from typing import Any
from weakref import WeakSet

import botocore.session
import urllib3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.loaders import Loader
from botocore.parsers import ResponseParserError

# What a call raises when no answer of the service arrives; a refusal is a ClientError.
NO_ANSWER = (BotoCoreError, ResponseParserError, urllib3.exceptions.HTTPError, OSError)
FAILURES = (*NO_ANSWER, ClientError)
_SERVICES = ("s3", "dynamodb", "secretsmanager", "lambda", "bedrock-runtime")
_MAKING = threading.Lock()
_MADE: WeakSet[Any] = WeakSet()


def make_client(
    service: str,
    *,
    at_cold_start: bool = False,
    region: str | None = None,
    connect_seconds: float = 1.0,
    read_seconds: float = 3.0,
    attempts: int = 3,
    connections: int = 10,
) -> Any:
    """A client that gives up soon: each attempt waits at most `read_seconds` for the next bytes.

    boto3 makes it, or botocore alone where a caller waits for it `at_cold_start`: docs/adr/0006-aws-clients.md.
    """
    config = Config(
        connect_timeout=connect_seconds,
        read_timeout=read_seconds,
        retries={"total_max_attempts": attempts, "mode": "standard"},
        max_pool_connections=connections,
    )
    with _MAKING:  # a session may be used by one thread at a time, its clients by any
        if at_cold_start:
            client = _session().create_client(service, region_name=region, config=config)
        else:
            client = _boto3_session().client(service, region_name=region, config=config)
        _MADE.add(client)
    return client


def close_connections() -> None:
    """Drops the open connections of every client; each opens new ones at its next call."""
    with _MAKING:
        for client in _MADE:
            client.close()


@cache
def _session() -> botocore.session.Session:
    """One session for all clients, which then read what they share once: 40 ms for each client after the first."""
    session = botocore.session.get_session()
    session.register_component("data_loader", _OwnServices())
    return session


@cache
def _boto3_session() -> Any:
    """boto3 over the same session, made once: it adds its methods to a session's clients, and only once it may."""
    import boto3  # not for a reader's cold start

    return boto3.Session(botocore_session=_session())


class _OwnServices(Loader):  # type: ignore[misc]
    """botocore lists four hundred folders to see whether a service exists, 25 ms; ours are known."""

    def list_available_services(self, type_name: str) -> list[str]:
        """The services that clients are made of."""
        return list(_SERVICES)


def code_of(error: ClientError) -> str:
    """The service's own code of a refusal."""
    return str(error.response.get("Error", {}).get("Code", ""))
