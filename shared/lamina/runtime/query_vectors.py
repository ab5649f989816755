"""The vectors of recent queries, kept in memory alone, so that a page of a search is not encoded again."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from lamina.contract.ports import EncoderUnavailable
from lamina.encoders.choice import EncoderChoice

logger = logging.getLogger(__name__)

MOST_REMEMBERED: Final = 1_000
LONGEST_ENCODED: Final = 2_000
"""Characters of a query; an encoder reads fewer."""


@dataclass(slots=True)
class QueryVectors:
    """Encodes queries; safe for concurrent callers. Neither text nor vector leaves the process's memory."""

    encoders: EncoderChoice
    _known: OrderedDict[tuple[str, str], bytes] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, encoder: str, text: str) -> bytes | None:
        """The vector of a query by the encoder of that name; None where it is not here or does not answer."""
        key = (encoder, text[:LONGEST_ENCODED])
        with self._lock:
            known = self._known.get(key)
            if known is not None:
                self._known.move_to_end(key)
                return known
        found = self.encoders.named(encoder)
        if found is None:
            return None
        try:
            vector = found.query(key[1])
        except EncoderUnavailable as error:
            logger.warning("searched by words alone: %s", error)
            return None
        with self._lock:
            self._known[key] = vector
            while len(self._known) > MOST_REMEMBERED:
                self._known.popitem(last=False)
        return vector
