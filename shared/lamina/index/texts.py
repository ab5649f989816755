"""Documents' texts in the snapshot: compressed one by one against a shared dictionary, read one by one."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

# DEFLATE looks back no further than this.
_WINDOW = 32 * 1024
_SAMPLE = 1_200


@dataclass(frozen=True, slots=True)
class Texts:
    """`packed[i]` is the raw DEFLATE stream of text i against `dictionary`."""

    dictionary: bytes
    packed: list[bytes]

    @classmethod
    def pack(cls, texts: Sequence[str]) -> Texts:
        """Compresses each text; the dictionary is sampled evenly from their beginnings."""
        encoded = [text.encode() for text in texts]
        step = max(1, len(encoded) * _SAMPLE // _WINDOW)
        dictionary = b"".join(text[:_SAMPLE] for text in encoded[::step])[-_WINDOW:]
        packed = []
        for text in encoded:
            packer = zlib.compressobj(9, zlib.DEFLATED, -15, 9, zlib.Z_DEFAULT_STRATEGY, dictionary)
            packed.append(packer.compress(text) + packer.flush())
        return cls(dictionary, packed)

    def __getitem__(self, number: int) -> str:
        return zlib.decompressobj(-15, self.dictionary).decompress(self.packed[number]).decode()
