"""Documents' texts in the snapshot: compressed one by one against a shared dictionary, read one by one.

What was read lately is kept unpacked, within bounds: the hits of one query are often those of the next.
"""

from __future__ import annotations

import threading
import zlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

# DEFLATE looks back no further than this.
_WINDOW = 32 * 1024
_SAMPLE = 1_200
# Characters of all texts that are kept unpacked, and of one that may be among them.
MOST_KEPT = 4_000_000
_LONGEST_KEPT = 100_000


class _Kept:
    """Unpacked texts by number; the least recently read leave. Safe for concurrent readers."""

    def __init__(self) -> None:
        self._texts: OrderedDict[int, str] = OrderedDict()
        self._characters = 0
        self._lock = threading.Lock()

    def get(self, number: int) -> str | None:
        with self._lock:
            text = self._texts.get(number)
            if text is not None:
                self._texts.move_to_end(number)
            return text

    def keep(self, number: int, text: str) -> None:
        if len(text) > _LONGEST_KEPT:
            return
        with self._lock:
            if number not in self._texts:
                self._texts[number] = text
                self._characters += len(text)
            while self._characters > MOST_KEPT:
                _, gone = self._texts.popitem(last=False)
                self._characters -= len(gone)


@dataclass(frozen=True, slots=True)
class Texts:
    """`packed[i]` is the raw DEFLATE stream of text i against `dictionary`."""

    dictionary: bytes
    packed: list[bytes]
    _kept: _Kept = field(default_factory=_Kept, compare=False, repr=False)

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
        text = self._kept.get(number)
        if text is None:
            text = zlib.decompressobj(-15, self.dictionary).decompress(self.packed[number]).decode()
            self._kept.keep(number, text)
        return text
