"""The vectors of a snapshot's pieces: how they are kept, and how near each document is to what is asked."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lamina.contract.ids import SHORT_DIGEST
from lamina.index.arrays import from_plain, to_plain
from lamina.index.signed import SnapshotRefused, sign, verify

MOST_BYTES: Final = 3_100
"""Of vectors a document: eight pieces of the small encoder, fewer of one whose vectors are longer."""
_KIND = "vectors"
_DIGEST_BYTES = 16
_BLOCK = 8_192


@dataclass(frozen=True, slots=True)
class Vectors:
    """A row a piece, document after document; `counts` says how many each has, one at least.

    `encoder` names what made them: only vectors of one encoder can be compared. `digests` tell the pieces' texts
    apart, so that the next build encodes only what is new.
    """

    encoder: str
    counts: NDArray[np.int32]
    digests: bytes
    matrix: NDArray[np.int8]

    @classmethod
    def of(cls, encoder: str, pieces: Sequence[Sequence[str]], vectors: Mapping[bytes, bytes]) -> Vectors:
        """The vectors of each document's pieces, given by the digests of their texts."""
        digests = [piece_digest(text) for texts in pieces for text in texts]
        rows = np.frombuffer(b"".join(vectors[digest] for digest in digests), dtype=np.int8)
        counts = np.array([len(texts) for texts in pieces], dtype=np.int32)
        return cls(encoder, counts, b"".join(digests), rows.reshape(len(digests), -1))

    @property
    def digest(self) -> str:
        """What tells these vectors from others, as it stands in a revision."""
        head = f"{self.encoder} {self.matrix.shape} {self.counts.tolist()}".encode()
        return hashlib.sha256(head + self.matrix.tobytes()).hexdigest()[:SHORT_DIGEST]

    def by_digest(self) -> dict[bytes, bytes]:
        """The vector of each piece by the digest of its text."""
        starts = range(0, len(self.digests), _DIGEST_BYTES)
        digests = [self.digests[start : start + _DIGEST_BYTES] for start in starts]
        return {digest: row.tobytes() for digest, row in zip(digests, self.matrix, strict=True)}

    def nearness(self, query: bytes) -> NDArray[np.int64]:
        """How near each document is to a query's vector, `contract.vectors.SAME` being the same.

        The mean of the nearest piece and of all pieces: what a document says best, and what it is about. Every step
        is exact, so one snapshot and one vector give the same numbers on every machine.
        """
        asked = np.frombuffer(query, dtype=np.int8).astype(np.float32)
        products = np.empty(len(self.matrix), dtype=np.int64)
        for start in range(0, len(products), _BLOCK):
            products[start : start + _BLOCK] = self.matrix[start : start + _BLOCK].astype(np.float32) @ asked
        counts = self.counts.astype(np.int64)
        starts = np.cumsum(counts) - counts
        nearest = np.maximum.reduceat(products, starts)
        return np.asarray((nearest + np.add.reduceat(products, starts) // counts) // 2)

    def signed(self, key: bytes) -> bytes:
        """The vectors as signed bytes."""
        data = {
            "encoder": self.encoder,
            "counts": to_plain(self.counts),
            "digests": self.digests,
            "matrix": to_plain(self.matrix),
        }
        return sign(data, key, kind=_KIND, documents=len(self.counts), revision=self.digest, config=self.encoder)

    @classmethod
    def verified(cls, content: bytes, key: bytes) -> Vectors:
        """The vectors of signed bytes. Raises SnapshotRefused."""
        _, data = verify(content, key, kind=_KIND)
        try:
            counts, matrix = from_plain(data["counts"]), from_plain(data["matrix"])
            vectors = cls(str(data["encoder"]), counts, bytes(data["digests"]), matrix)
        except (LookupError, ValueError, TypeError, AttributeError) as error:
            raise SnapshotRefused("its vectors are of another shape") from error
        fits = (
            counts.dtype == np.int32
            and counts.ndim == 1
            and matrix.dtype == np.int8
            and matrix.ndim == 2
            and counts.min(initial=1) >= 1
            and int(counts.sum()) == len(matrix)
            and len(vectors.digests) == _DIGEST_BYTES * len(matrix)
        )
        if not fits:
            raise SnapshotRefused("its vectors do not fit each other")
        return vectors


def piece_digest(text: str) -> bytes:
    """What tells a piece's text from others."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:_DIGEST_BYTES]


def unknown_pieces(pieces: Iterable[Sequence[str]], known: Mapping[bytes, bytes]) -> dict[bytes, str]:
    """The texts that have no vector yet, each once, by digest."""
    texts = {piece_digest(text): text for each in pieces for text in each}
    return {digest: text for digest, text in texts.items() if digest not in known}
