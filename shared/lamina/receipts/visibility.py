"""The visibility snapshot: which documents one retrieval could see, in order, under the digest of their list."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from json.encoder import encode_basestring
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from lamina.contract.ids import sha256_hex
from lamina.index.snapshot import Snapshot
from lamina.receipts.canonical import DIGEST_PATTERN, Fields, Refused, canonical, first_fault, parse

SNAPSHOT_SCHEMA: Literal["lamina.visibility-snapshot/1"] = "lamina.visibility-snapshot/1"

Digest = Annotated[str, Field(pattern=DIGEST_PATTERN)]
Origin = Literal["overlay", "baseline", "bundled"]
"""`bundled` is the deployment's own copy of a required baseline file, searched where the baseline has none."""


class VisibleDocument(Fields):
    """One document of the list. `position` counts from 1, `digest` is of the raw file."""

    position: int = Field(ge=1)
    id: str = Field(min_length=1)
    origin: Origin
    path: str = Field(min_length=1)
    digest: Digest
    invalidated: bool


class VisibilitySnapshot(Fields):
    """All documents that a retrieval could see: its scope after shadowing, before filters, in order of id."""

    record: Literal["lamina.visibility-snapshot/1"] = Field(alias="schema")
    documents: tuple[VisibleDocument, ...] = Field(strict=False)

    @classmethod
    def of(cls, data: Any) -> Self:
        """The snapshot of parsed JSON. Raises Refused."""
        try:
            snapshot = cls.model_validate(data)
        except ValidationError as error:
            raise first_fault(error) from error
        for position, document in enumerate(snapshot.documents, start=1):
            if document.position != position:
                raise Refused(f"position {document.position} stands where {position} belongs")
        if len(snapshot.by_id) != len(snapshot.documents):
            raise Refused("an id occurs twice")
        return snapshot

    @cached_property
    def by_id(self) -> dict[str, VisibleDocument]:
        """The documents by id."""
        return {document.id: document for document in self.documents}


class VisibilityReference(Fields):
    """Which snapshot a receipt was minted over: its digest, its documents, and its key in the deployment's store."""

    digest: Digest
    count: int = Field(ge=0)
    location: str = Field(min_length=1, max_length=256)


def encoded(snapshot: Snapshot, searched: NDArray[np.bool_]) -> bytes:
    """The RFC 8785 bytes of the list of the searched documents."""
    documents = ",".join(_lines(snapshot, searched))
    return f'{{"documents":[{documents}],"schema":"{SNAPSHOT_SCHEMA}"}}'.encode()


def same_snapshot(content: bytes, digest: str) -> Any:
    """The parsed JSON of a snapshot, however it is spaced. Raises Refused where it is not the one of that digest."""
    data = parse(content)
    # The stored bytes are canonical already; only a copy that was written anew costs another encoding.
    if sha256_hex(content) != digest and sha256_hex(canonical(data)) != digest:
        raise Refused("it is another snapshot, or something in it was changed: its digest differs")
    return data


def _lines(snapshot: Snapshot, searched: NDArray[np.bool_]) -> Iterator[str]:
    # Names in canonical order around text escaped by the C encoder, whose escapes are RFC 8785's: a general
    # encoder takes two seconds for 100,000 documents, which is longer than a caller should wait.
    quoted = encode_basestring
    for position, number in enumerate(np.flatnonzero(searched).tolist(), start=1):
        yield (
            f'{{"digest":"{snapshot.content_hash(number)}"'
            f',"id":{quoted(snapshot.uris[number])}'
            f',"invalidated":{"true" if snapshot.invalidated[number] else "false"}'
            f',"origin":"{snapshot.origin[number]}"'
            f',"path":{quoted(snapshot.paths[number])}'
            f',"position":{position}}}'
        )
