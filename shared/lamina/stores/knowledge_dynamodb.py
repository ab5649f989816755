"""The ledger of a knowledge workspace in DynamoDB: a partition a workspace, a conditional transaction a change."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from botocore.exceptions import ClientError

from lamina.contract.ids import sha256_hex
from lamina.contract.ports import (
    AuditEntry,
    CommitOutcome,
    Proposal,
    ProposalDraft,
    ProposalStatus,
    StoreUnavailable,
    TooManyWaiting,
    WorkspaceCommit,
)
from lamina.stores.aws import NO_ANSWER, code_of

PARTITION, SORT = "pk", "sk"

_SEAL, _COUNTER = "seal", "counter"
_PROPOSAL, _AUDIT = "proposal#", "audit#"
# Wide enough for every number, so that text order is number order.
_DIGITS = 16
_ATTEMPTS = 12
_WAIT_SECONDS = 0.02
_LONGEST_WAIT_SECONDS = 0.5

Item = dict[str, dict[str, str]]


class DynamoLedger:
    """The ledger of `workspace` (its root) in a table keyed by the strings `pk` and `sk`."""

    def __init__(self, client: Any, table: str, workspace: str, sleep: Callable[[float], None] = time.sleep) -> None:
        self._client = client
        self._table = table
        self._workspace = workspace
        self._sleep = sleep

    def latest_commit(self) -> WorkspaceCommit | None:
        """The current commit, None before the workspace is initialised."""
        item = self._get(_SEAL)
        return None if item is None else _seal(item)

    def replace_head(self, commit: WorkspaceCommit, *, over: str | None) -> bool:
        """Writes the commit if the head still is `over` (None: there is no commit yet), and says whether it did."""
        return self._transact([self._put_commit(commit, over)]) is None

    def published(self, head: str) -> None:
        """Notes that nothing is left to publish of `head`; nothing happens where the head has moved."""
        self._transact(
            [
                {
                    "Update": {
                        "TableName": self._table,
                        "Key": self._key(_SEAL),
                        "UpdateExpression": "REMOVE publishing",
                        "ConditionExpression": "head = :head",
                        "ExpressionAttributeValues": {":head": {"S": head}},
                    }
                }
            ]
        )

    def add(self, draft: ProposalDraft, *, most_waiting: int) -> tuple[Proposal, bool]:
        """The row of the draft's owner and key, and whether it is new. Raises TooManyWaiting for a new one."""
        name = _key_item(draft.owner, draft.key)
        found = self._by_key(name)
        if found is not None:
            return found, False
        number = self._next_number()
        row = Proposal(number, draft.owner, draft.key, draft.payload, draft.proposed_at)
        lost = self._transact(
            [
                self._put_new({**self._key(name), "number": {"N": str(number)}}),
                self._put_new(self._item(row)),
                self._count(1, most_waiting),
            ]
        )
        if lost is None:
            return row, True
        found = self._by_key(name)
        if found is not None:
            return found, False
        if lost == 2:
            raise TooManyWaiting
        raise StoreUnavailable("a proposal's number was taken twice")

    def proposal(self, number: int) -> Proposal | None:
        """The row of that number."""
        item = self._get(_numbered(_PROPOSAL, number))
        return None if item is None else _proposal(item)

    def waiting(self) -> Iterator[Proposal]:
        """The pending rows by number."""
        rows = (_proposal(item) for item in self._query(_PROPOSAL))
        return (row for row in rows if row.status is ProposalStatus.PENDING)

    def append(self, entry: AuditEntry) -> None:
        """Adds an entry; one of the same pending id and transition stays as it is."""
        fields = {
            "pending_id": {"N": str(entry.pending_id)},
            "transition": {"S": entry.transition},
            "at": {"S": entry.at},
            "by": {"S": entry.by},
            "detail": {"S": entry.detail},
        }
        name = f"{_numbered(_AUDIT, entry.pending_id)}#{entry.transition}"
        self._transact([self._put_new({**self._key(name), **fields})])

    def audit(self) -> Iterator[AuditEntry]:
        """Every entry by pending id, in the order of appending within one."""
        entries = [
            AuditEntry(
                int(item["pending_id"]["N"]),
                item["transition"]["S"],
                item["at"]["S"],
                item["by"]["S"],
                item["detail"]["S"],
            )
            for item in self._query(_AUDIT)
        ]
        return iter(sorted(entries, key=lambda entry: (entry.pending_id, entry.at)))

    def commit(
        self, decided: Proposal, *, commit: WorkspaceCommit | None = None, over: str | None = None
    ) -> CommitOutcome:
        """Writes a decided row over the same row still pending; with `commit`, also replaces the commit `over`."""
        row = {
            "Put": {
                "TableName": self._table,
                "Item": self._item(decided),
                "ConditionExpression": "#status = :pending AND payload = :payload",
                "ExpressionAttributeNames": {"#status": "status"},
                "ExpressionAttributeValues": {
                    ":pending": {"S": str(ProposalStatus.PENDING)},
                    ":payload": {"S": decided.payload},
                },
            }
        }
        steps = [row, self._count(-1, None), *([] if commit is None else [self._put_commit(commit, over)])]
        lost = self._transact(steps)
        if lost is None:
            return CommitOutcome.DONE
        return CommitOutcome.ROW_CHANGED if lost == 0 else CommitOutcome.HEAD_MOVED

    def _by_key(self, name: str) -> Proposal | None:
        item = self._get(name)
        return None if item is None else self.proposal(int(item["number"]["N"]))

    def _next_number(self) -> int:
        """A number that no other proposal has; one that is lost leaves a gap."""
        with _answering():
            answer = self._client.update_item(
                TableName=self._table,
                Key=self._key(_COUNTER),
                UpdateExpression="ADD numbered :one",
                ExpressionAttributeValues={":one": {"N": "1"}},
                ReturnValues="UPDATED_NEW",
            )
            return int(answer["Attributes"]["numbered"]["N"])

    def _count(self, change: int, most: int | None) -> dict[str, Any]:
        """The step that counts a proposal in or out; with `most`, only while fewer wait."""
        update: dict[str, Any] = {
            "TableName": self._table,
            "Key": self._key(_COUNTER),
            "UpdateExpression": "ADD waiting :change",
            "ExpressionAttributeValues": {":change": {"N": str(change)}},
        }
        if most is not None:
            update["ConditionExpression"] = "attribute_not_exists(waiting) OR waiting < :most"
            update["ExpressionAttributeValues"][":most"] = {"N": str(most)}
        return {"Update": update}

    def _put_new(self, item: Item) -> dict[str, Any]:
        condition = f"attribute_not_exists({SORT})"
        return {"Put": {"TableName": self._table, "Item": item, "ConditionExpression": condition}}

    def _put_commit(self, commit: WorkspaceCommit, over: str | None) -> dict[str, Any]:
        item: Item = {
            **self._key(_SEAL),
            "guid": {"S": commit.workspace},
            "sequence": {"N": str(commit.sequence)},
            "head": {"S": commit.head},
            "manifest": {"S": commit.manifest},
        }
        if commit.publishing is not None:
            item["publishing"] = {"S": commit.publishing}
        if over is None:
            return self._put_new(item)
        return {
            "Put": {
                "TableName": self._table,
                "Item": item,
                "ConditionExpression": "head = :over",
                "ExpressionAttributeValues": {":over": {"S": over}},
            }
        }

    def _item(self, row: Proposal) -> Item:
        item: Item = {
            **self._key(_numbered(_PROPOSAL, row.id)),
            "number": {"N": str(row.id)},
            "owner": {"S": row.owner},
            "key": {"S": row.key},
            "payload": {"S": row.payload},
            "proposed_at": {"S": row.proposed_at},
            "status": {"S": str(row.status)},
        }
        if row.path is not None:
            item["path"] = {"S": row.path}
        if row.head is not None:
            item["head"] = {"S": row.head}
        return item

    def _key(self, name: str) -> Item:
        return {PARTITION: {"S": self._workspace}, SORT: {"S": name}}

    def _get(self, name: str) -> Item | None:
        with _answering():
            answer = self._client.get_item(TableName=self._table, Key=self._key(name), ConsistentRead=True)
            item: Item | None = answer.get("Item")
            return item

    def _query(self, prefix: str) -> Iterator[Item]:
        with _answering():
            pages = self._client.get_paginator("query").paginate(
                TableName=self._table,
                KeyConditionExpression=f"{PARTITION} = :workspace AND begins_with({SORT}, :prefix)",
                ExpressionAttributeValues={":workspace": {"S": self._workspace}, ":prefix": {"S": prefix}},
                ConsistentRead=True,
            )
            for page in pages:
                yield from page["Items"]

    def _transact(self, steps: list[dict[str, Any]]) -> int | None:
        """All steps or none; None when done, else the number of the first step whose condition failed.

        Other transactions on the same items are waited for. botocore gives each call a token, so that its own
        retry after a lost answer does nothing twice.
        """
        with _answering():
            for attempt in range(_ATTEMPTS):
                try:
                    self._client.transact_write_items(TransactItems=steps)
                    return None
                except ClientError as error:
                    failed = _failed_conditions(error)
                    if failed is None:
                        raise
                    if failed:
                        return failed[0]
                longest = min(_LONGEST_WAIT_SECONDS, _WAIT_SECONDS * 2**attempt)
                self._sleep(random.uniform(0, longest))  # noqa: S311 - spreads writers, keeps no secret
        raise StoreUnavailable("DynamoDB was busy with other changes to the workspace")


def _failed_conditions(error: ClientError) -> list[int] | None:
    """Steps whose condition failed; empty where others were at the items; None for any other error."""
    response: Mapping[str, Any] = error.response
    if response.get("Error", {}).get("Code") == "TransactionInProgressException":
        return []
    if response.get("Error", {}).get("Code") != "TransactionCanceledException":
        return None
    codes = [reason.get("Code") for reason in response.get("CancellationReasons", ())]
    failed = [number for number, code in enumerate(codes) if code == "ConditionalCheckFailed"]
    return failed if failed or "TransactionConflict" in codes else None


def _numbered(prefix: str, number: int) -> str:
    return f"{prefix}{number:0{_DIGITS}d}"


def _key_item(owner: str, key: str) -> str:
    """A caller's key has no bound that a sort key would take, hence its digest."""
    return "key#" + sha256_hex(f"{owner}\0{key}".encode())


def _seal(item: Item) -> WorkspaceCommit:
    publishing = item.get("publishing")
    return WorkspaceCommit(
        item["guid"]["S"],
        int(item["sequence"]["N"]),
        item["head"]["S"],
        item["manifest"]["S"],
        None if publishing is None else publishing["S"],
    )


def _proposal(item: Item) -> Proposal:
    return Proposal(
        int(item["number"]["N"]),
        item["owner"]["S"],
        item["key"]["S"],
        item["payload"]["S"],
        item["proposed_at"]["S"],
        ProposalStatus(item["status"]["S"]),
        None if "path" not in item else item["path"]["S"],
        None if "head" not in item else item["head"]["S"],
    )


@contextmanager
def _answering() -> Iterator[None]:
    """Turns what DynamoDB and the network refuse into StoreUnavailable."""
    try:
        yield
    except ClientError as error:
        code = code_of(error)
        raise StoreUnavailable(f"DynamoDB answered {code}") from error
    except NO_ANSWER as error:
        raise StoreUnavailable(f"DynamoDB did not answer: {type(error).__name__}") from error
