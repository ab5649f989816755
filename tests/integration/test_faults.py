"""AWS failing at any call of any function: a right answer, an older one marked stale, or a clear 503, never a wrong one."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pytest
from moto import mock_aws
from tests.corpora import page
from tests.doors import handler_of
from tests.fakes.faults import Faults, Kind, injecting

from lamina.runtime.indexer_wiring import wire_indexer
from lamina.runtime.knowledge_wiring import wire_knowledge
from lamina.runtime.wiring import wire
from lamina.stores.knowledge_dynamodb import PARTITION, SORT
from lamina.stores.s3 import make_client

BUCKET, NOTES, KEPT, LIMITS = "lamina-index", "lamina-notes", "lamina-knowledge", "lamina-limits"
OLDER = {"base/docs/oak.md": page("Oak", "Oak wood."), "kb/docs/elm.md": page("Elm", "Elm wood.")}
NEWER = {"kb/docs/ash.md": page("Ash", "Ash wood, lighter than elm.")}


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
    older: dict[str, Outcome] = field(default_factory=dict)
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

    def put(self, files: dict[str, str]) -> None:
        """Files of the knowledge bases, and their indexes."""
        for path, text in files.items():
            self.s3.put_object(Bucket=NOTES, Key=path, Body=text.encode())
        self.restart()
        built = handler_of("indexer")({}, None)["built"]
        assert [one["failure"] for one in built] == [None, None]

    def remember(self) -> None:
        """The objects as they are now are what a stale read gives from now on."""
        for found in self.s3.list_objects_v2(Bucket=BUCKET)["Contents"]:
            content = self.s3.get_object(Bucket=BUCKET, Key=found["Key"])["Body"].read()
            self.faults.older[BUCKET, found["Key"]] = content


@pytest.fixture(scope="module")
def cloud() -> Iterator[Cloud]:
    with ExitStack() as stack:
        environment = stack.enter_context(pytest.MonkeyPatch.context())
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
        environment.delenv("LAMINA_DATA", raising=False)
        stack.enter_context(mock_aws())
        # A client takes a tenth of a second to make.
        client = cache(lambda name, **_: make_client(name))
        environment.setattr("lamina.stores.s3.make_client", client)
        environment.setattr("lamina.runtime.secrets.make_client", client)
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
        made.put(OLDER)
        made.older = {name: outcome(made.call(event)) for name, event in READING.items()}
        made.remember()
        made.put(NEWER)
        yield made
        made.restart()


def _table(client: Any, name: str, *keys: str) -> None:
    client.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": key, "KeyType": kind} for key, kind in zip(keys, ("HASH", "RANGE"), strict=False)],
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in keys],
        BillingMode="PAY_PER_REQUEST",
    )


READING = {
    "search": http("search", "/v1/search", query="wood", knowledge_base_url="trees"),
    "catalog": http("catalog", "/v1/catalog", knowledge_base_url="trees"),
    "preflight": http("preflight", "/v1/preflight", task="cut wood", knowledge_base_url="trees"),
    "get": http("get", "/v1/get", uri="kb://docs/elm", knowledge_base_url="trees"),
    "resolve": http("resolve", "/v1/resolve", uri="kb://docs/elm", knowledge_base_url="trees"),
    "brief": http("brief", "/v1/brief", question="which wood", knowledge_base_url="trees"),
    "baseline check": http("baseline_check", "/v1/baseline-check", knowledge_base_url="trees"),
    "mcp search": tool("oddkit_search", query="wood", knowledge_base_url="trees"),
    "mcp get": tool("oddkit_get", uri="kb://docs/elm", knowledge_base_url="trees"),
    "health": http("site", "/health"),
    "costs": http("site", "/costs", uri="kb://docs/elm", knowledge_base_url="trees"),
    "page": http("site", "/read", uri="kb://docs/elm", knowledge_base_url="trees"),
    "openapi": http("site", "/openapi.json"),
    "telemetry": http("telemetry_report", "/v1/telemetry"),
}


def judge(cloud: Cloud, name: str, found: Outcome, right: Outcome, where: str) -> None:
    """The newer answer, the older one whole, or a fault that is named."""
    if found.fault is not None:
        return
    assert found.content in (right.content, cloud.older[name].content), where
    if found.content != right.content and cloud.faults.kind is not Kind.STALE:
        # The stores read strongly, so what a function saw last is what there was; any other fault it must tell.
        assert found.is_stale or name in ("costs", "page"), where


@pytest.mark.parametrize("name", READING)
def test_a_fault_at_any_call_of_a_function_that_has_just_started_is_told_or_does_no_harm(
    cloud: Cloud, name: str
) -> None:
    event = READING[name]
    cloud.restart()
    cloud.faults.plan()
    right = outcome(cloud.call(event))
    assert right.fault is None
    for at in range(len(list(cloud.faults.calls))):
        for kind in Kind:
            cloud.restart()
            cloud.faults.plan(at, kind)
            found = outcome(cloud.call(event))
            judge(cloud, name, found, right, f"{kind} at call {at}: {cloud.faults.calls}")
    cloud.restart()
    cloud.faults.plan()
    assert outcome(cloud.call(event)) == right


@pytest.mark.parametrize("name", READING)
def test_a_fault_at_any_call_of_a_warm_function_never_takes_its_answer_away(cloud: Cloud, name: str) -> None:
    event = READING[name]
    cloud.restart()
    cloud.faults.plan()
    right = outcome(cloud.call(event))
    cloud.later()
    cloud.faults.plan()
    cloud.call(event)
    for at in range(len(list(cloud.faults.calls))):
        for kind in Kind:
            cloud.later()
            cloud.faults.plan(at, kind)
            found = outcome(cloud.call(event))
            judge(cloud, name, found, right, f"{kind} at call {at}: {cloud.faults.calls}")
            if name != "telemetry":
                assert found.fault is None, f"{kind} at call {at}"
    cloud.later()
    cloud.faults.plan()
    assert outcome(cloud.call(event)) == right
