"""What every function does at its door: log lines name the invocation, and a malformed event is told."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import wraps
from typing import Any

from lamina.contract.envelope import compact, failure
from lamina.runtime.event import HttpResponse, MalformedEventError
from lamina.runtime.logs import Handler, logged

logger = logging.getLogger(__name__)


def guarded(handler: Handler) -> Handler:
    """The handler as Lambda calls it: an event that no service sends gets the error, not a crash."""

    @wraps(handler)
    def at_the_door(event: Mapping[str, Any], context: object) -> dict[str, Any]:
        try:
            return handler(event, context)
        except MalformedEventError as error:
            logger.warning("an event was refused: %s", error)
            told = failure(error, None)
            if isinstance(event, Mapping) and "httpMethod" in event:
                return HttpResponse(error.kind.http_status, compact(told)).event()
            return told

    return logged(at_the_door)
