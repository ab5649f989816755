"""The whole path on AWS as moto plays it: sources and snapshots in S3, the key in Secrets Manager, S3 pulled away."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import boto3
import botocore.client
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError
from moto import mock_aws
from tests.corpora import page

from lamina.actions.registry import ACTIONS
from lamina.indexer.wiring import compose_indexer
from lamina.runtime.catalogue import index_name
from lamina.runtime.dispatch import Reply, dispatch
from lamina.runtime.recorder import Caller
from lamina.runtime.settings import Settings
from lamina.runtime.wiring import Runtime, compose

BUCKET, NOTES = "lamina-index", "lamina-notes"


@dataclass(slots=True)
class Cloud:
    """A deployment on moto. `fault` is raised by every call to AWS whose operation is in `failing`."""

    settings: Settings
    now: float = 0.0
    failing: tuple[str, ...] = ()
    fault: Exception | None = None

    def build(self) -> None:
        """Runs the indexer over all."""
        problems: list[str] = []
        compose_indexer(self.settings).builder.refresh(lambda name, built, why: problems.append(why) if why else None)
        assert problems == []

    def runtime(self) -> Runtime:
        """A function's runtime whose clock the test moves."""
        runtime = compose(self.settings)
        runtime.warm.clock = lambda: self.now
        return runtime


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        s3 = boto3.client("s3")
        for bucket in (BUCKET, NOTES):
            s3.create_bucket(Bucket=bucket)
        for path, text in {"base/docs/oak.md": page("Oak"), "kb/docs/elm.md": page("Elm", "Elm wood.")}.items():
            s3.put_object(Bucket=NOTES, Key=path, Body=text.encode())
        secret = boto3.client("secretsmanager").create_secret(Name="signing", SecretString="k" * 64)["ARN"]
        settings = Settings.of(
            {
                "LAMINA_BUCKET": BUCKET,
                "LAMINA_BASELINE": f"s3://{NOTES}/base",
                "LAMINA_ALLOW": f"trees=s3://{NOTES}/kb",
                "LAMINA_SIGNING_SECRET": secret,
            }
        )
        made = Cloud(settings)
        call = botocore.client.BaseClient._make_api_call

        def faulty(client: Any, operation: str, arguments: Any) -> Any:
            if operation in made.failing and made.fault is not None:
                raise made.fault
            return call(client, operation, arguments)

        monkeypatch.setattr(botocore.client.BaseClient, "_make_api_call", faulty)
        yield made


def _search(runtime: Runtime, **arguments: Any) -> Reply:
    given = {"query": "wood", "knowledge_base_url": "trees", **arguments}
    return dispatch(ACTIONS["search"], lambda: given, Caller(), runtime)


FAULTS = [
    ClientError({"Error": {"Code": "SlowDown"}, "ResponseMetadata": {"HTTPStatusCode": 503}}, "GetObject"),
    ClientError({"Error": {"Code": "InternalError"}, "ResponseMetadata": {"HTTPStatusCode": 500}}, "GetObject"),
    ClientError({"Error": {"Code": "AccessDenied"}, "ResponseMetadata": {"HTTPStatusCode": 403}}, "GetObject"),
    EndpointConnectionError(endpoint_url="https://s3"),
    ReadTimeoutError(endpoint_url="https://s3"),
]


def test_a_knowledge_base_in_s3_is_indexed_into_s3_and_answers(
    cloud: Cloud, capsys: pytest.CaptureFixture[str]
) -> None:
    cloud.build()
    reply = _search(cloud.runtime())
    assert [entry["uri"] for entry in reply.envelope["data"]] == ["kb://docs/elm"]
    record = capsys.readouterr().out
    assert '"action":"search"' in record
    assert "wood" not in record


def test_a_warm_call_makes_no_store_call(cloud: Cloud) -> None:
    cloud.build()
    runtime = cloud.runtime()
    first = _search(runtime)
    cloud.failing, cloud.fault = ("GetObject", "ListObjectsV2", "GetSecretValue"), FAULTS[0]
    for action in ("search", "catalog", "preflight", "get"):
        main = {"query": "wood", "task": "wood", "uri": "kb://docs/elm"}
        name = ACTIONS[action].request.main
        given = {"knowledge_base_url": "trees", **({name: main[name]} if name else {})}
        reply = dispatch(ACTIONS[action], lambda given=given: given, Caller(), runtime)  # type: ignore[misc]
        assert (reply.status, "stale" in reply.envelope) == (200, False)
    assert _search(runtime).text == first.text


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: getattr(fault, "operation_name", type(fault).__name__))
def test_pulled_away_s3_means_an_older_answer_marked_stale_or_a_clear_503(cloud: Cloud, fault: Exception) -> None:
    cloud.build()
    warm = cloud.runtime()
    before = _search(warm).envelope
    cloud.failing, cloud.fault, cloud.now = ("GetObject",), fault, 61.0
    assert _search(warm).envelope == {**before, "stale": True}
    cold = _search(cloud.runtime())
    assert (cold.status, cold.envelope["error_code"]) == (503, "STORE_UNAVAILABLE")
    assert cold.retry_after is not None
    cloud.failing = ()
    assert _search(warm).envelope == before


def test_a_signing_key_that_cannot_be_read_is_a_clear_503(cloud: Cloud) -> None:
    cloud.build()
    cloud.failing, cloud.fault = ("GetSecretValue",), FAULTS[1]
    reply = _search(cloud.runtime())
    assert (reply.status, reply.envelope["error_code"]) == (503, "STORE_UNAVAILABLE")


def test_a_build_that_cannot_write_leaves_the_old_index_serving(cloud: Cloud) -> None:
    cloud.build()
    before = _search(cloud.runtime()).envelope
    boto3.client("s3").put_object(Bucket=NOTES, Key="kb/docs/ash.md", Body=page("Ash", "Ash wood.").encode())
    cloud.failing, cloud.fault = ("PutObject",), FAULTS[0]
    problems: list[str] = []
    compose_indexer(cloud.settings).builder.refresh(lambda name, built, why: problems.append(why) if why else None)
    assert problems
    assert _search(cloud.runtime()).envelope == before
    cloud.failing = ()
    cloud.build()
    assert _search(cloud.runtime()).envelope["total"] == 2


def test_a_missing_index_asks_the_indexer_function_once_in_a_while(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    invoked: list[bytes] = []

    def invoke(function: str, payload: bytes) -> None:
        assert function == "stack-indexer"
        invoked.append(payload)

    runtime = compose(cloud.settings.model_copy(update={"indexer_function": "stack-indexer"}))
    monkeypatch.setattr("lamina.stores.lambda_builds.invoke", invoke)
    for _ in range(3):
        reply = _search(runtime)
        assert (reply.status, reply.envelope["error_code"]) == (503, "INDEX_NOT_READY")
    assert invoked == [b'{"task": "build", "knowledge_base_url": "s3://lamina-notes/kb"}']


def test_a_tampered_snapshot_in_the_bucket_is_refused_and_asked_for_again(cloud: Cloud) -> None:
    cloud.build()
    s3 = boto3.client("s3")
    keys = [item["Key"] for item in s3.list_objects_v2(Bucket=BUCKET, Prefix="index/")["Contents"]]
    key = next(item for item in keys if f"/{index_name('trees')}_" in item)
    content = s3.get_object(Bucket=BUCKET, Key=key)["Body"].read()
    s3.put_object(Bucket=BUCKET, Key=key, Body=content[:-1] + b"?")
    reply = _search(cloud.runtime())
    assert (reply.status, reply.envelope["error_code"]) == (503, "INDEX_NOT_READY")
    cloud.build()
    assert _search(cloud.runtime()).envelope["total"] == 1
