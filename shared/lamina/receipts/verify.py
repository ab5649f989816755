"""Decides which claims a receipt proves: that it is whole, and that it joins with what it names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from lamina.contract.ids import sha256_hex
from lamina.receipts.canonical import Refused, digest_of, parse
from lamina.receipts.retrieval import RECEIPT_SCHEMA, RetrievalReceipt
from lamina.receipts.use import USE_SCHEMA, UseReceipt, check_joined
from lamina.receipts.visibility import SNAPSHOT_SCHEMA, VisibilitySnapshot, same_snapshot


class Claim(StrEnum):
    """What a check is about."""

    CONSISTENT = "internally consistent"
    UNMUTATED = "internally consistent and unmutated"
    SNAPSHOT = "joined with its visibility snapshot"
    BRIEF = "the same as the brief beside it"
    RETRIEVAL = "joined with its retrieval receipt"
    ARTIFACT = "joined with the stored artifact"


class Outcome(StrEnum):
    """What came of a check; `unavailable` is for what was to be joined and cannot be had."""

    PROVEN = "proven"
    FAILED = "failed"
    UNAVAILABLE = "unavailable"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Something that should be joined but could not be had, and why."""

    reason: str


Given = bytes | Unavailable | None
"""The raw bytes of what to join with; None where nobody asked for that join."""


@dataclass(frozen=True, slots=True)
class Check:
    """One claim and what came of it; `reason` says why it failed, or how to have it checked."""

    claim: Claim
    outcome: Outcome
    reason: str | None = None


RecordKind = Literal["retrieval_receipt", "use_receipt", "visibility_snapshot", "unknown"]


@dataclass(frozen=True, slots=True)
class Verification:
    """Every claim that a record could prove, in order. `digest` is the one that the record is named by, if readable."""

    kind: RecordKind
    digest: str | None
    checks: tuple[Check, ...]

    @property
    def holds(self) -> bool:
        """Whether the record is whole and nothing that was to be joined failed or was missing."""
        outcomes = {check.outcome for check in self.checks}
        return Outcome.PROVEN in outcomes and not outcomes & {Outcome.FAILED, Outcome.UNAVAILABLE}

    def to_data(self) -> dict[str, Any]:
        """The verification as JSON."""
        return {
            "holds": self.holds,
            "kind": self.kind,
            "digest": self.digest,
            "checks": [
                {"claim": str(check.claim), "outcome": str(check.outcome), "reason": check.reason}
                for check in self.checks
            ],
        }


def verify(
    record: bytes,
    *,
    snapshot: Given = None,
    retrieval: Given = None,
    artifact: Given = None,
    shown: Any = None,
) -> Verification:
    """Verifies a record (JSON) and whatever it is given to join with.

    `snapshot` belongs to a retrieval receipt, `retrieval` to a use receipt; `artifact` is the file of a result's
    document for the first, of the consumer for the second. `shown` is the parsed `data` of the brief that a
    retrieval receipt came with, None where it stands alone.
    """
    try:
        data = parse(record)
        schema = data.get("schema") if isinstance(data, dict) else None
    except Refused as error:
        return _unreadable(str(error))
    if schema == RECEIPT_SCHEMA:
        return _verify_retrieval(data, snapshot, artifact, shown)
    if schema == USE_SCHEMA:
        return _verify_use(data, retrieval, artifact)
    if schema == SNAPSHOT_SCHEMA:
        return _verify_snapshot(data)
    return _unreadable(f"its schema is none of {RECEIPT_SCHEMA}, {USE_SCHEMA}, {SNAPSHOT_SCHEMA}")


def _verify_retrieval(data: dict[str, Any], snapshot: Given, artifact: Given, shown: Any) -> Verification:
    try:
        receipt = RetrievalReceipt.of(data)
    except Refused as error:
        return _broken("retrieval_receipt", data, error, Claim.SNAPSHOT, Claim.ARTIFACT)
    checks = (
        Check(Claim.UNMUTATED, Outcome.PROVEN),
        *(() if shown is None else (_same_as(data, shown),)),
        _join(
            Claim.SNAPSHOT,
            snapshot,
            lambda content: join_snapshot(receipt, content),
            f"Give the snapshot {receipt.visibility_snapshot.digest}.",
        ),
        _join(
            Claim.ARTIFACT,
            artifact,
            lambda content: _join_document(receipt, content),
            "Give the raw file of a result's document.",
        ),
    )
    return Verification("retrieval_receipt", receipt.receipt_digest, checks)


def _verify_use(data: dict[str, Any], retrieval: Given, artifact: Given) -> Verification:
    try:
        receipt = UseReceipt.of(data)
    except Refused as error:
        return _broken("use_receipt", data, error, Claim.RETRIEVAL, Claim.ARTIFACT)
    checks = (
        Check(Claim.UNMUTATED, Outcome.PROVEN),
        _join(
            Claim.RETRIEVAL,
            retrieval,
            lambda content: check_joined(receipt, RetrievalReceipt.of(parse(content))),
            f"Give the retrieval receipt {receipt.retrieval_receipt_digest}.",
        ),
        _join(
            Claim.ARTIFACT,
            artifact,
            lambda content: _join_consumer(receipt, content),
            f"Give the raw file of {receipt.consumer.uri}.",
        ),
    )
    return Verification("use_receipt", receipt.receipt_digest, checks)


def _verify_snapshot(data: dict[str, Any]) -> Verification:
    """A snapshot holds no digest of its own: the one worked out here is for comparison with a receipt's."""
    try:
        VisibilitySnapshot.of(data)
        digest = digest_of(data)
    except Refused as error:
        return Verification("visibility_snapshot", None, (Check(Claim.CONSISTENT, Outcome.FAILED, str(error)),))
    return Verification("visibility_snapshot", digest, (Check(Claim.CONSISTENT, Outcome.PROVEN),))


def join_snapshot(receipt: RetrievalReceipt, content: bytes) -> None:
    """Raises Refused unless the snapshot is the one that the receipt names and holds every result of it."""
    named = receipt.visibility_snapshot
    snapshot = VisibilitySnapshot.of(same_snapshot(content, named.digest))
    if len(snapshot.documents) != named.count:
        raise Refused(f"it holds {len(snapshot.documents)} documents, the receipt says {named.count}")
    for result in receipt.results:
        seen = snapshot.by_id.get(result.id)
        if seen is None:
            raise Refused(f"result {result.rank} ({result.id}) is not in it")
        if (seen.digest, seen.origin, seen.path) != (result.digest, result.origin, result.path):
            raise Refused(f"result {result.rank} ({result.id}) is another document in it")


def _same_as(receipt: dict[str, Any], shown: Any) -> Check:
    """Whether a brief shows what the receipt records: the same results under the same question."""
    told = shown if isinstance(shown, dict) else {}
    retriever = receipt["retriever"]
    expected = {
        "question": receipt["question"],
        "retriever_id": retriever["id"],
        "retriever_config_digest": retriever["config_digest"],
        "results": receipt["results"],
        "citation_ids": [result["id"] for result in receipt["results"]],
    }
    for name, value in expected.items():
        if told.get(name) != value:
            return Check(Claim.BRIEF, Outcome.FAILED, f"{name} of the brief is not what the receipt records")
    return Check(Claim.BRIEF, Outcome.PROVEN)


def _join_document(receipt: RetrievalReceipt, content: bytes) -> None:
    digest = sha256_hex(content)
    if all(result.digest != digest for result in receipt.results):
        raise Refused(f"no result has its digest, {digest}: it is another file, or it was changed")


def _join_consumer(receipt: UseReceipt, content: bytes) -> None:
    digest = sha256_hex(content)
    if digest != receipt.consumer.digest:
        raise Refused(
            f"its digest is {digest}, the receipt says {receipt.consumer.digest}: it is another file, or it was changed"
        )


def _join(claim: Claim, given: Given, check: Callable[[bytes], None], hint: str) -> Check:
    if given is None:
        return Check(claim, Outcome.NOT_CHECKED, hint)
    if isinstance(given, Unavailable):
        return Check(claim, Outcome.UNAVAILABLE, given.reason)
    try:
        check(given)
    except Refused as error:
        return Check(claim, Outcome.FAILED, str(error))
    return Check(claim, Outcome.PROVEN)


def _broken(kind: RecordKind, data: dict[str, Any], error: Refused, *joins: Claim) -> Verification:
    """A record that is not whole: what it names may have been changed too, so nothing is joined with it."""
    digest = data.get("receipt_digest")
    checks = (
        Check(Claim.UNMUTATED, Outcome.FAILED, str(error)),
        *(Check(claim, Outcome.NOT_CHECKED, "The record itself is not whole.") for claim in joins),
    )
    return Verification(kind, digest if isinstance(digest, str) else None, checks)


def _unreadable(reason: str) -> Verification:
    return Verification("unknown", None, (Check(Claim.UNMUTATED, Outcome.FAILED, reason),))
