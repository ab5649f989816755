"""Where a missing index is asked for. The asking functions only need this, not the builder behind it."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol

logger = logging.getLogger(__name__)

# A missing index is asked for at most this often by one process.
ASK_SECONDS = 30


class BuildQueue(Protocol):
    """Takes wishes for a build; `address` is a knowledge base's, None the baseline's."""

    def ask(self, address: str | None) -> None:
        """Notes the wish and returns at once."""


def _lambda_client() -> Any:
    from lamina.stores.s3 import make_client

    return make_client("lambda")


@dataclass(slots=True)
class LambdaBuilds:
    """A queue that is the indexer function, invoked without waiting. `client` gives a botocore Lambda client."""

    function: str
    client: Callable[[], Any] = field(default_factory=lambda: cache(_lambda_client))
    clock: Callable[[], float] = time.monotonic
    _asked: dict[str | None, float] = field(default_factory=dict)

    def ask(self, address: str | None) -> None:
        """Invokes the indexer, unless this process did so a moment ago. A failure is logged; the next ask tries again."""
        from botocore.exceptions import BotoCoreError, ClientError

        now = self.clock()
        if now - self._asked.get(address, -ASK_SECONDS) < ASK_SECONDS:
            return
        payload = json.dumps({"task": "build", "knowledge_base_url": address}).encode()
        try:
            self.client().invoke(FunctionName=self.function, InvocationType="Event", Payload=payload)
            self._asked[address] = now
        except (BotoCoreError, ClientError) as error:
            logger.error("the indexer cannot be invoked: %s", type(error).__name__)
