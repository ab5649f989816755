"""The retrieval receipt: what one run was shown for one question, by which retriever, out of which documents."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from lamina.receipts.canonical import Fields, Refused, digest_of, first_fault
from lamina.receipts.visibility import Digest, Origin, VisibilityReference

RECEIPT_SCHEMA: Literal["lamina.retrieval-receipt/1"] = "lamina.retrieval-receipt/1"
LONGEST_NAME = 256
MOST_ATTRIBUTES, LONGEST_ATTRIBUTE = 32, 512
MOST_EVIDENCE, LONGEST_EVIDENCE = 64, 2_048
# Beyond it a whole number and its neighbours are one number in JSON's doubles, so a change could go unseen.
LARGEST_NUMBER = 2**53 - 1
TIMESTAMP_PATTERN = "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{3}Z$"
_RUN_FORMS = "an object with run_id, its JSON text, or run_id=NAME"

Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
Timestamp = Annotated[str, Field(pattern=TIMESTAMP_PATTERN)]
Scalar = bool | int | float | Annotated[str, Field(max_length=LONGEST_ATTRIBUTE)] | None


class RunIdentity(Fields):
    """Whose retrieval it is, in the caller's own words."""

    run_id: Name
    actor_id: Name | None = None
    profile_id: Name | None = None
    execution_id: Name | None = None

    @classmethod
    def read(cls, value: Any) -> Self:
        """The identity in an object, its JSON text, or `name=value` pairs. Raises ValueError saying what is wrong."""
        if isinstance(value, cls):
            return value
        given = _object(value)
        if not isinstance(given, dict):
            raise ValueError(f"must be {_RUN_FORMS}")
        try:
            return cls.model_validate({name: named for name, named in given.items() if named is not None})
        except ValidationError as error:
            raise ValueError(
                f"must hold run_id and may hold {', '.join(list(cls.model_fields)[1:])}; {first_fault(error)}"
            ) from error


class Retriever(Fields):
    """What ranked: its name, the version of the deployment, and the digest of its settings and options."""

    id: Name
    version: Name
    config_digest: Digest


class Result(Fields):
    """One document as it was handed over. `digest` is of the raw file, `score` finite, `evidence` references."""

    rank: int = Field(ge=1)
    id: str = Field(min_length=1)
    origin: Origin
    path: str = Field(min_length=1)
    digest: Digest
    score: float = Field(allow_inf_nan=False, ge=-LARGEST_NUMBER, le=LARGEST_NUMBER)
    snippet: str
    evidence: tuple[Annotated[str, Field(max_length=LONGEST_EVIDENCE)], ...] = Field(
        max_length=MOST_EVIDENCE, strict=False
    )
    attributes: dict[Annotated[str, Field(min_length=1, max_length=64)], Scalar] = Field(max_length=MOST_ATTRIBUTES)

    @model_validator(mode="after")
    def _attributes_are_bounded(self) -> Self:
        for name, value in self.attributes.items():
            if isinstance(value, int | float) and not abs(value) <= LARGEST_NUMBER:  # NaN is not either
                raise ValueError(f"attribute {name!r} is no number of at most {LARGEST_NUMBER}")
        return self


class Receipt(Fields):
    """A record whose `receipt_digest` covers all the rest."""

    receipt_digest: Digest

    @classmethod
    def of(cls, data: Any) -> Self:
        """The receipt of parsed JSON, shape and digest checked. Raises Refused."""
        receipt = cls.shaped(data)
        check_digest(data)
        return receipt

    @classmethod
    def shaped(cls, data: Any) -> Self:
        """The receipt of parsed JSON, its digest not yet checked. Raises Refused."""
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise first_fault(error) from error


class RetrievalReceipt(Receipt):
    """The record; `receipt_digest` covers all the rest."""

    record: Literal["lamina.retrieval-receipt/1"] = Field(alias="schema")
    run_id: Name
    actor_id: Name | None = None
    profile_id: Name | None = None
    execution_id: Name | None = None
    question: str = Field(min_length=1)
    retriever: Retriever
    visibility_snapshot: VisibilityReference
    results: tuple[Result, ...] = Field(strict=False)
    created_at: Timestamp

    @classmethod
    def shaped(cls, data: Any) -> Self:
        """The receipt of parsed JSON, its digest not yet checked. Raises Refused."""
        receipt = super().shaped(data)
        check_ranks(receipt.results)
        if len(receipt.results) > receipt.visibility_snapshot.count:
            raise Refused("it has more results than documents were visible")
        return receipt


def mint(
    run: RunIdentity,
    question: str,
    retriever: Retriever,
    visible: VisibilityReference,
    results: Sequence[Mapping[str, Any]],
    *,
    digest_of_visible: Callable[[str], str | None],
    created_at: str,
) -> dict[str, Any]:
    """The receipt of a retrieval as JSON. `created_at` is ISO 8601 in UTC with milliseconds and a Z.

    `digest_of_visible` gives the digest of a visible document by its id, None for one that could not be seen.
    Raises Refused for a result that is not among the visible documents with the same digest.
    """
    for result in results:
        if digest_of_visible(str(result["id"])) != result["digest"]:
            raise Refused(f"result {result['rank']} ({result['id']}) was not among the visible documents")
    receipt = {
        "schema": RECEIPT_SCHEMA,
        **run.model_dump(exclude_none=True),
        "question": question,
        "retriever": retriever.model_dump(),
        "visibility_snapshot": visible.model_dump(),
        "results": [dict(result) for result in results],
        "created_at": created_at,
    }
    minted = sealed(receipt)
    RetrievalReceipt.shaped(minted)
    return minted


def sealed(receipt: dict[str, Any]) -> dict[str, Any]:
    """The record with its `receipt_digest`."""
    return {**receipt, "receipt_digest": digest_of(receipt)}


def check_digest(data: Mapping[str, Any]) -> None:
    """Raises Refused where `receipt_digest` is not that of all the rest."""
    rest = {name: value for name, value in data.items() if name != "receipt_digest"}
    if digest_of(rest) != data["receipt_digest"]:
        raise Refused("something in it was changed: receipt_digest is not the digest of the rest")


def check_ranks(results: Sequence[Result]) -> None:
    """Raises Refused unless ranks run from 1 without a gap and no document occurs twice."""
    for expected, result in enumerate(results, start=1):
        if result.rank != expected:
            raise Refused(f"rank {result.rank} stands where {expected} belongs")
    if len({result.id for result in results}) != len(results):
        raise Refused("a document is among the results twice")


def _object(value: Any) -> Any:
    if isinstance(value, list | tuple):
        value = ",".join(map(str, value))
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"must be {_RUN_FORMS}") from error
    pairs = [part.partition("=") for part in value.split(",") if part.strip()]
    return {name.strip(): text.strip() for name, _, text in pairs}
