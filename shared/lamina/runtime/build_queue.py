"""Where a missing index is asked for. The asking functions only need this, not the builder behind it."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from lamina.contract.ports import StoreUnavailable

logger = logging.getLogger(__name__)

# A missing index is asked for at most this often by one process.
ASK_SECONDS = 30


class BuildQueue(Protocol):
    """Takes wishes for a build; `address` is a knowledge base's, None the baseline's."""

    def ask(self, address: str | None) -> None:
        """Notes the wish and returns at once."""


def _invoke(function: str, payload: bytes) -> None:
    from lamina.stores.lambda_function import invoke  # botocore is not for a cold start that needs no build

    invoke(function, payload)


@dataclass(slots=True)
class LambdaBuilds:
    """A queue that is the indexer function, invoked without waiting.

    `patient` asks are each of a change that the build under way may not know of: none is left out, and it waits.
    """

    function: str
    patient: bool = False
    invoke: Callable[[str, bytes], None] = _invoke
    clock: Callable[[], float] = time.monotonic
    _asked: dict[str | None, float] = field(default_factory=dict)

    def ask(self, address: str | None) -> None:
        """Invokes the indexer, unless this process just did. A failure is logged, and the next ask tries again."""
        now = self.clock()
        if not self.patient and now - self._asked.get(address, -ASK_SECONDS) < ASK_SECONDS:
            return
        wish = {"task": "build", "knowledge_base_url": address, **({"patient": True} if self.patient else {})}
        try:
            self.invoke(self.function, json.dumps(wish).encode())
            self._asked[address] = now
        except StoreUnavailable as error:
            logger.error("no build is asked for: %s", error)
