"""Knowledge workspaces for tests: on both backends, with requests, and with processes that die at a chosen write."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from moto import mock_aws
from pytest import MonkeyPatch

from lamina.contract.ports import KnowledgeLedger
from lamina.knowledge.protocol import Response
from lamina.knowledge.service import Authority, KnowledgeCaller, KnowledgeService
from lamina.knowledge.workspace import Workspace
from lamina.runtime.knowledge_wiring import open_workspace
from lamina.runtime.settings import Settings
from lamina.stores.aws import make_client
from lamina.stores.knowledge_dynamodb import PARTITION, SORT

TABLE = "lamina-knowledge-test"
BUCKET = "lamina-workspace-test"
PREFIX = "kb"
OPERATOR = KnowledgeCaller(Authority.OPERATOR)
AGENT = KnowledgeCaller(Authority.AGENT)
LARGE: Mapping[str, Any] = {
    "max_output_bytes": 262144,
    "max_latency_ms": 60_000,
    "max_tokens": None,
    "tokenizer": None,
}
DIGEST = "0" * 64
FILES: Mapping[str, bytes] = {
    "canon/storage.md": b"# Storage\n\nThe database is kept on two disks.\n",
    "docs/backup.md": b"# Backup\n\nA database dump is taken every night.\n",
    "notes/decision.md": b"# Decision\n\nWe chose the small database.\n",
}


class Backend(Protocol):
    """A workspace's outside: what a person or another process does to it."""

    def open(self) -> Workspace:
        """The workspace as a process that has just started sees it."""

    def write(self, path: str, content: bytes) -> None:
        """Puts a file there by hand."""

    def remove(self, path: str) -> None:
        """Removes a file by hand."""

    def read(self, path: str) -> bytes | None:
        """A file as it stands."""

    def tamper(self, number: int, payload: str) -> None:
        """Changes the retained bytes of a row behind the contract's back."""


@dataclass(frozen=True, slots=True)
class FolderBackend:
    """A folder and SQLite."""

    root: Path

    def open(self) -> Workspace:
        return open_workspace(str(self.root), Settings.of({}))

    def write(self, path: str, content: bytes) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)

    def remove(self, path: str) -> None:
        (self.root / path).unlink()

    def read(self, path: str) -> bytes | None:
        target = self.root / path
        return target.read_bytes() if target.exists() else None

    def tamper(self, number: int, payload: str) -> None:
        import sqlite3

        with sqlite3.connect(self.root / ".lamina/knowledge/ledger.sqlite") as connection:
            connection.execute("UPDATE proposals SET payload = ? WHERE id = ?", (payload, number))
        connection.close()


@dataclass(frozen=True, slots=True)
class AwsBackend:
    """A prefix of a bucket and a table, in this process."""

    s3: Any
    dynamodb: Any
    prefix: str = PREFIX

    def open(self) -> Workspace:
        return open_workspace(f"s3://{BUCKET}/{self.prefix}", Settings.of({}), TABLE)

    def write(self, path: str, content: bytes) -> None:
        self.s3.put_object(Bucket=BUCKET, Key=f"{self.prefix}/{path}", Body=content)

    def remove(self, path: str) -> None:
        self.s3.delete_object(Bucket=BUCKET, Key=f"{self.prefix}/{path}")

    def read(self, path: str) -> bytes | None:
        try:
            content: bytes = self.s3.get_object(Bucket=BUCKET, Key=f"{self.prefix}/{path}")["Body"].read()
        except self.s3.exceptions.NoSuchKey:
            return None
        return content

    def tamper(self, number: int, payload: str) -> None:
        self.dynamodb.update_item(
            TableName=TABLE,
            Key={
                PARTITION: {"S": f"s3://{BUCKET}/{self.prefix}"},
                SORT: {"S": f"proposal#{number:016d}"},
            },
            UpdateExpression="SET payload = :payload",
            ExpressionAttributeValues={":payload": {"S": payload}},
        )


@contextmanager
def aws_services() -> Iterator[tuple[Any, Any]]:
    """An S3 client with an empty versioned bucket, and a DynamoDB client with the table."""
    with MonkeyPatch.context() as environment, mock_aws():
        for name, value in (
            ("AWS_ACCESS_KEY_ID", "testing"),
            ("AWS_SECRET_ACCESS_KEY", "testing"),
            ("AWS_DEFAULT_REGION", "us-east-1"),
        ):
            environment.setenv(name, value)
        # A client takes a tenth of a second to make, and every process of a test would make two.
        client = cache(lambda name: _one_at_a_time(make_client(name, connections=50)))
        environment.setattr("lamina.stores.aws.make_client", client)
        s3, dynamodb = client("s3"), client("dynamodb")
        s3.create_bucket(Bucket=BUCKET)
        s3.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
        dynamodb.create_table(
            TableName=TABLE,
            KeySchema=[
                {"AttributeName": PARTITION, "KeyType": "HASH"},
                {"AttributeName": SORT, "KeyType": "RANGE"},
            ],
            AttributeDefinitions=[
                {"AttributeName": PARTITION, "AttributeType": "S"},
                {"AttributeName": SORT, "AttributeType": "S"},
            ],
            BillingMode="PAY_PER_REQUEST",
        )
        yield s3, dynamodb


def _one_at_a_time(client: Any) -> Any:
    """Makes each call atomic, as the services are; the imitation of DynamoDB copies its tables in a transaction."""
    lock, call = threading.Lock(), client._make_api_call

    def locked(*given: Any) -> Any:
        with lock:
            return call(*given)

    client._make_api_call = locked
    return client


@dataclass(slots=True)
class Desk:
    """A workspace with what a client needs to ask it. Each `service()` is a process of its own."""

    backend: Backend
    guid: str | None = None
    root: str = field(default="")
    _service: KnowledgeService | None = field(default=None)

    def __post_init__(self) -> None:
        self._service = self.service()
        self.root = self._service.workspace.root

    def service(self, **given: Any) -> KnowledgeService:
        """A service that has just started."""
        return KnowledgeService(self.backend.open(), **given)

    def initialise(self) -> None:
        """Gives the workspace its identity."""
        state, _ = self.running.workspace.initialise("tester")
        self.guid = state.commit.workspace

    @property
    def running(self) -> KnowledgeService:
        """The service that answers unless another is named."""
        assert self._service is not None
        return self._service

    def request(self, operation: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
        """A whole request; `changes` replace keys of scope and budget."""
        scope: dict[str, Any] = {
            "root": self.root,
            "knowledge_workspace": self.guid,
            "authority": "local-owner",
            "facts": [],
        }
        budget = dict(LARGE)
        for name, value in changes.items():
            (scope if name in scope else budget)[name] = value
        return {
            "schema": "synapse.knowledge-request/1",
            "scope": scope,
            "budget": budget,
            "operation": dict(operation),
        }

    def answer(
        self,
        operation: Mapping[str, Any],
        caller: KnowledgeCaller = OPERATOR,
        service: KnowledgeService | None = None,
        **changes: Any,
    ) -> Response:
        """Asks once."""
        return (service or self.running).answer(self.request(operation, **changes), caller)

    def result(self, operation: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
        """The result of an operation that must succeed."""
        response = self.answer(operation, **changes)
        assert response.result is not None, response.code
        return response.result

    def query(self, text: str = "database", **changes: Any) -> dict[str, Any]:
        """The result of a query."""
        return self.result({"op": "query", "query": text, "type": None, "limit": 16}, **changes)

    def proposal(self, key: str = "key-1", title: str = "Two disks suffice", **context: Any) -> dict[str, Any]:
        """An operation that proposes a note against the workspace as it stands."""
        found = self.query()
        first = found["passages"][0]
        return {
            "op": "propose",
            "capture": {
                "title": title,
                "body": "The database needs no third disk.",
                "kind": "decision",
                "tags": ["db"],
            },
            "reason": "measured over a month",
            "context": {
                "schema": "synapse.knowledge-proposal-context/1",
                "knowledge_workspace": self.guid,
                "idempotency_key": key,
                "run_id": "run-1",
                "context_sha256": DIGEST,
                "expected_head": found["head"] or DIGEST,
                "source_manifest_sha256": found["source_manifest_sha256"],
                "policy_sha256": found["policy_sha256"],
                "sources": [{"path": first["path"], "sha256": first["sha256"]}],
                **context,
            },
        }

    def propose(self, key: str = "key-1", **given: Any) -> int:
        """Queues a note and gives its number."""
        number: int = self.result(self.proposal(key, **given))["pending_id"]
        return number

    def review(self, number: int) -> str:
        """The digest of a queued proposal."""
        digest: str = self.result({"op": "review", "pending_id": number})["review_sha256"]
        return digest

    def decision(self, op: str, number: int) -> dict[str, Any]:
        """An operation that decides a proposal as it is reviewed now."""
        return {"op": op, "pending_id": number, "review_sha256": self.review(number)}

    def audited(self) -> list[tuple[int, str]]:
        """(pending id, transition) of every decision on a proposal."""
        return [(e.pending_id, e.transition) for e in self.running.workspace.ledger.audit() if e.pending_id]


class Killed(BaseException):
    """The process ends here; no code of it runs on."""


@dataclass(slots=True)
class Grave:
    """Counts writes and kills at one of them: before it happens, or right after."""

    at: int
    before: bool
    writes: int = 0

    def around(self, write: Callable[[], Any]) -> Any:
        """Runs one write."""
        self.writes += 1
        if self.writes == self.at and self.before:
            raise Killed
        done = write()
        if self.writes == self.at:
            raise Killed
        return done


@dataclass(slots=True)
class During:
    """Runs something right before the n-th write of a process, as another process would."""

    at: int
    happens: Callable[[], Any]
    writes: int = 0

    def around(self, write: Callable[[], Any]) -> Any:
        """Runs one write."""
        self.writes += 1
        if self.writes == self.at:
            self.happens()
        return write()


_WRITES = frozenset({"create", "replace", "replace_seal", "published", "add", "append", "commit"})


class Mortal:
    """A store whose process dies at a write."""

    def __init__(self, inner: Any, grave: Grave | During) -> None:
        self._inner, self._grave = inner, grave

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)
        if name not in _WRITES:
            return method
        return lambda *given, **named: self._grave.around(lambda: method(*given, **named))


def mortal(workspace: Workspace, grave: Grave | During) -> Workspace:
    """The workspace with every store mortal."""
    ledger: KnowledgeLedger = Mortal(workspace.ledger, grave)
    workspace.ledger = ledger
    workspace.objects = Mortal(workspace.objects, grave)
    workspace.notes = Mortal(workspace.notes, grave)
    return workspace
