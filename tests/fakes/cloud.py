"""A whole deployment on moto, its functions called as API Gateway calls them, with every call to AWS in reach."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from moto import mock_aws
from pytest import MonkeyPatch
from tests.fakes.faults import Faults, injecting
from tests.transports import handler_of

from lamina.indexer.wiring import wire_indexer
from lamina.runtime.knowledge_wiring import wire_knowledge
from lamina.runtime.wiring import wire
from lamina.stores.aws import make_client
from lamina.stores.knowledge_dynamodb import PARTITION, SORT

BUCKET, NOTES, KEPT, LIMITS = "lamina-index", "lamina-notes", "lamina-knowledge", "lamina-limits"


@dataclass(frozen=True, slots=True)
class Event:
    """A request to a function."""

    function: str
    event: dict[str, Any]


def http(function: str, path: str, body: Any = None, **query: str) -> Event:
    """A proxy event by a caller with a key: POST where there is a body."""
    return Event(
        function,
        {
            "httpMethod": "GET" if body is None else "POST",
            "path": path,
            "resource": path,
            "headers": {"Content-Type": "application/json"},
            "queryStringParameters": query or None,
            "pathParameters": {"digest": path.rsplit("/", 1)[-1]},
            "requestContext": {"identity": {"sourceIp": "192.0.2.1", "apiKey": "key"}},
            "body": None if body is None else json.dumps(body),
        },
    )


def tool(name: str, **arguments: Any) -> Event:
    """A tool call."""
    params = {"name": name, "arguments": arguments}
    return http("mcp", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an answer comes to: its content without the mark of age, whether it has that mark, or the fault it names."""

    content: str
    is_stale: bool = False
    fault: str | None = None


def outcome(answer: dict[str, Any]) -> Outcome:
    """Reads an answer; a fault has to be a 503 that says when to come back."""
    status, text = answer["statusCode"], answer["body"]
    if not text.startswith("{"):
        return Outcome(f"{status} {text}", fault="page" if status == 503 else None)
    envelope = json.loads(text)
    if "jsonrpc" in envelope:
        envelope = json.loads(envelope["result"]["content"][0]["text"])["result"]
    elif "error_code" in envelope:
        assert status < 500 or (status == 503 and answer["headers"]["Retry-After"].isdecimal()), text
    if envelope.get("error_code") in ("STORE_UNAVAILABLE", "INDEX_NOT_READY"):
        return Outcome("", fault=envelope["error_code"])
    if envelope.get("status") == "UNREACHABLE":
        return Outcome("", fault=envelope["status"])
    is_stale = envelope.pop("stale", False) is True
    return Outcome(f"{status} {json.dumps(envelope, sort_keys=True)}", is_stale)


@dataclass(slots=True)
class Cloud:
    """A deployment on moto with an older and a newer index."""

    faults: Faults
    s3: Any
    hours: int = 0

    def call(self, event: Event) -> dict[str, Any]:
        """The function's answer."""
        answer: dict[str, Any] = handler_of(event.function)(event.event, None)
        return answer

    def restart(self) -> None:
        """What is in memory is gone."""
        for made in (wire, wire_knowledge, wire_indexer):
            made.cache_clear()

    def later(self) -> None:
        """An hour passes: every snapshot has to be looked after again."""
        self.hours += 1
        wire().warm.clock = lambda: time.monotonic() + 3600 * self.hours

    def put(self, files: Mapping[str, str]) -> None:
        """Files of the knowledge bases, and their indexes."""
        for path, text in files.items():
            self.s3.put_object(Bucket=NOTES, Key=path, Body=text.encode())
        self.restart()
        built = handler_of("indexer")({}, None)["built"]
        assert [entry["failure"] for entry in built] == [None, None]

    def remember(self) -> None:
        """The objects as they are now are what a stale read gives from now on."""
        for key in self.stored_keys():
            self.faults.older[BUCKET, key] = self.s3.get_object(Bucket=BUCKET, Key=key)["Body"].read()

    def stored_keys(self) -> list[str]:
        """The keys of the deployment's bucket."""
        return [found["Key"] for found in self.s3.list_objects_v2(Bucket=BUCKET)["Contents"]]


@contextmanager
def deployed_cloud() -> Iterator[Cloud]:
    """An empty deployment; nothing leaves the process while the block runs."""
    with ExitStack() as stack:
        environment = stack.enter_context(MonkeyPatch.context())
        for name in [name for name in os.environ if name.startswith("LAMINA_")]:
            environment.delenv(name)
        for name, value in {
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AWS_DEFAULT_REGION": "us-east-1",
            "LAMINA_BUCKET": BUCKET,
            "LAMINA_BASELINE": f"s3://{NOTES}/base",
            "LAMINA_ALLOW": f"trees=s3://{NOTES}/kb",
            "LAMINA_LIMITS_TABLE": LIMITS,
            "LAMINA_BODY_LIMIT": "1000000",
            "LAMINA_RECORDS_BUCKET": NOTES,
            "KNOWLEDGE_ROOT": f"s3://{NOTES}/kb",
            "KNOWLEDGE_TABLE": KEPT,
        }.items():
            environment.setenv(name, value)
        stack.enter_context(mock_aws())
        # A client takes a tenth of a second to make.
        client = cache(lambda name, **_: make_client(name))
        environment.setattr("lamina.stores.aws.make_client", client)
        s3, dynamodb = client("s3"), client("dynamodb")
        for bucket in (BUCKET, NOTES):
            s3.create_bucket(Bucket=bucket)
        _table(dynamodb, KEPT, PARTITION, SORT)
        _table(dynamodb, LIMITS, "id")
        secret = client("secretsmanager").create_secret(Name="signing", SecretString="k" * 64)["ARN"]
        environment.setenv("LAMINA_SIGNING_SECRET", secret)
        faults = Faults()
        stack.enter_context(injecting(faults))
        made = Cloud(faults, s3)
        yield made
        made.restart()


def _table(client: Any, name: str, *keys: str) -> None:
    client.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": key, "KeyType": kind} for key, kind in zip(keys, ("HASH", "RANGE"), strict=False)],
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in keys],
        BillingMode="PAY_PER_REQUEST",
    )
