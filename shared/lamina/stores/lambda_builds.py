"""Asks the indexer function for the build of a missing index, without waiting for it."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from lamina.contract.ports import StoreUnavailable

logger = logging.getLogger(__name__)

# One process asks for a missing index at most this often.
ASK_SECONDS = 30


@dataclass(slots=True)
class LambdaBuilds:
    """A build queue that is the indexer function, invoked without waiting.

    A `patient` queue asks after a change that the running build may not have seen: it drops no request, and the
    build that it asks for waits for the running one.
    """

    function: str
    patient: bool = False
    clock: Callable[[], float] = time.monotonic
    _asked: dict[str | None, float] = field(default_factory=dict)

    def ask(self, address: str | None) -> None:
        """Invokes the indexer, unless this process just did. A failure is logged, and the next ask tries again."""
        now = self.clock()
        if not self.patient and now - self._asked.get(address, -ASK_SECONDS) < ASK_SECONDS:
            return
        event = {"task": "build", "knowledge_base_url": address, **({"patient": True} if self.patient else {})}
        try:
            invoke(self.function, json.dumps(event).encode())
            self._asked[address] = now
        except StoreUnavailable as error:
            logger.error("no build is asked for: %s", error)


def invoke(function: str, payload: bytes) -> None:
    """Queues one invocation. Raises StoreUnavailable where AWS does not take it."""
    from lamina.stores.aws import FAILURES  # botocore is not for a cold start that needs no build

    try:
        _client().invoke(FunctionName=function, InvocationType="Event", Payload=payload)
    except FAILURES as error:
        raise StoreUnavailable(f"{function} cannot be invoked: {type(error).__name__}") from error


@cache
def _client() -> Any:
    from lamina.stores.aws import make_client

    # Whoever asks has a caller waiting, and the next call asks again.
    return make_client("lambda", at_cold_start=True, read_seconds=2.0, attempts=1)
