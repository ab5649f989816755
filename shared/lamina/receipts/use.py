"""The use receipt: one result of a retrieval receipt, what it did for a decision or an artifact, and which."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from lamina.receipts.canonical import Fields, Refused
from lamina.receipts.retrieval import Receipt, RetrievalReceipt, Timestamp, sealed
from lamina.receipts.visibility import Digest

USE_SCHEMA: Literal["lamina.use-receipt/1"] = "lamina.use-receipt/1"


class Relation(StrEnum):
    """What the document did for its consumer."""

    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"
    EXTENDS = "extends"
    REDERIVES = "rederives"
    BACKGROUND = "background"


class ConsumerKind(StrEnum):
    """What used the document."""

    DECISION = "decision"
    ARTIFACT = "artifact"
    EXPERIMENT = "experiment"
    CANDIDATE = "candidate"
    MESSAGE = "message"
    OTHER = "other"


class Consumer(Fields):
    """What used the document; `digest` is of its raw bytes."""

    kind: ConsumerKind = Field(strict=False)
    uri: str = Field(min_length=1, max_length=2_048)
    digest: Digest


class UseReceipt(Receipt):
    """The record. `rank`, `id` and `digest` are those of the selected result; `receipt_digest` covers all the rest."""

    record: Literal["lamina.use-receipt/1"] = Field(alias="schema")
    retrieval_receipt_digest: Digest
    rank: int = Field(ge=1)
    id: str = Field(min_length=1)
    digest: Digest
    relation: Relation = Field(strict=False)
    consumer: Consumer
    created_at: Timestamp


def mint_use(retrieval: Any, rank: int, relation: Relation, consumer: Consumer, *, created_at: str) -> dict[str, Any]:
    """The use receipt, as JSON, of one rank of a retrieval receipt (parsed JSON), which is verified first.

    Raises Refused for a receipt that does not verify, or a rank that it does not have.
    """
    receipt = RetrievalReceipt.of(retrieval)
    if not 1 <= rank <= len(receipt.results):
        raise Refused(f"the retrieval receipt has no rank {rank}: it has {len(receipt.results)} results")
    result = receipt.results[rank - 1]
    minted = sealed(
        {
            "schema": USE_SCHEMA,
            "retrieval_receipt_digest": receipt.receipt_digest,
            "rank": rank,
            "id": result.id,
            "digest": result.digest,
            "relation": str(relation),
            "consumer": consumer.model_dump(mode="json"),
            "created_at": created_at,
        }
    )
    UseReceipt.shaped(minted)
    return minted


def check_joined(use: UseReceipt, retrieval: RetrievalReceipt) -> None:
    """Raises Refused unless the use receipt selects that result of that retrieval receipt."""
    if use.retrieval_receipt_digest != retrieval.receipt_digest:
        raise Refused("it names another retrieval receipt")
    if use.rank > len(retrieval.results):
        raise Refused(f"the retrieval receipt has no rank {use.rank}")
    result = retrieval.results[use.rank - 1]
    if (result.id, result.digest) != (use.id, use.digest):
        raise Refused(f"rank {use.rank} of the retrieval receipt is another document")
