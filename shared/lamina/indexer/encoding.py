"""What a build has to do with vectors: which pieces an earlier build has encoded, and the rest of them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from lamina.contract.ports import Encoder, ObjectStore
from lamina.index.signed import SnapshotRefused
from lamina.index.vectors import MOST_BYTES, Vectors, unknown_pieces
from lamina.runtime.catalogue import BASELINE, read_pointer, vectors_key

logger = logging.getLogger(__name__)

FEW_PIECES: Final = 64
"""New pieces, about a second of two cores, for which a build waits; with more, the index serves by words meanwhile."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """The pieces of a snapshot's documents, the vectors that are known of them, and the texts that have none yet."""

    texts: Sequence[Sequence[str]]
    known: dict[bytes, bytes]
    missing: dict[bytes, str]

    @classmethod
    def of(cls, texts: Sequence[Sequence[str]], encoder: Encoder, earlier: Sequence[Vectors]) -> Pieces:
        """As many pieces a document as may be kept of this encoder's vectors, and what is left to encode of them."""
        most = max(MOST_BYTES // encoder.dimensions, 1)
        kept = [each[:most] for each in texts]
        fitting = (vectors for vectors in earlier if vectors.encoder == encoder.name)
        known = {digest: row for vectors in fitting for digest, row in vectors.by_digest().items()}
        return cls(kept, known, unknown_pieces(kept, known))

    def encoded(self, encoder: Encoder, progress: Callable[[int, int], None]) -> Vectors:
        """The vectors of all pieces. Raises EncoderUnavailable."""
        made = encoder.passages(list(self.missing.values()), progress) if self.missing else []
        return Vectors.of(encoder.name, self.texts, self.known | dict(zip(self.missing, made, strict=True)))


def earlier_vectors(store: ObjectStore, signing_key: Callable[[], bytes], name: str) -> list[Vectors]:
    """What the current index of that name holds, and that of the baseline, whose documents every overlay has too."""
    found = []
    for each in dict.fromkeys((name, BASELINE)):
        pointer, _ = read_pointer(store, each, signing_key)
        stored = None if pointer is None else store.get(vectors_key(pointer.key))
        if stored is None:
            continue
        try:
            found.append(Vectors.verified(stored.content, signing_key()))
        except SnapshotRefused as error:
            logger.warning("vectors of an earlier build are refused and made anew: %s", error)
    return found
