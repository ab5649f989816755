"""Log lines on AWS: JSON by powertools' Logger, each with the request id, the function and whether it started cold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, wraps
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger

Handler = Callable[[Mapping[str, Any], Any], dict[str, Any]]


def logged(handler: Handler) -> Handler:
    """The handler, whose log lines say which invocation they belong to.

    What is no Lambda context (None on one's own machine) changes nothing.
    """
    starts = chain([True], repeat(False))

    @wraps(handler)
    def with_context(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        request_id = getattr(context, "aws_request_id", None)
        if request_id is not None:
            _logger().append_keys(request_id=request_id, function=context.function_name, cold_start=next(starts))
        return handler(event, context)

    return with_context


def load_logger() -> None:
    """Makes the logger before the first call."""
    _logger()


@cache
def _logger() -> Logger:
    """The logger `lamina`, above that of every module of the package."""
    from aws_lambda_powertools import Logger  # loaded with the metrics of the first call at the latest

    return Logger(service="lamina", level="INFO")
