"""One record for a request that no action answers: the site, a report, a browser's question what it may send."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from lamina.contract.envelope import ERROR, FOUND, NOT_FOUND, compact, failure
from lamina.contract.errors import LaminaError
from lamina.contract.ports import StoreUnavailable
from lamina.contract.tokens import count_tokens
from lamina.runtime.event import HttpRequest, HttpResponse
from lamina.runtime.wiring import Runtime
from lamina.telemetry.record import Record, RecordSink, consumer_of

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class NotingSink:
    """A sink that knows whether it was written to: one call's own, around the one of the process."""

    inner: RecordSink
    noted: bool = False

    def write(self, record: Record) -> None:
        """Keeps one record."""
        self.noted = True
        self.inner.write(record)


def observed_once(
    action: str, request: HttpRequest, runtime: Runtime, respond: Callable[[Runtime], HttpResponse]
) -> HttpResponse:
    """The response, after one record under the name `action` unless an action has written its own."""
    sink = NotingSink(runtime.sink)
    started = runtime.clock()
    response = _answered(action, runtime, lambda: respond(replace(runtime, sink=sink)))
    if not sink.noted:
        _note(action, request, runtime, response, started)
    return response


def observed(action: str, request: HttpRequest, runtime: Runtime, respond: Callable[[], HttpResponse]) -> HttpResponse:
    """The response, after one record of it under the name `action`."""
    started = runtime.clock()
    response = _answered(action, runtime, respond)
    _note(action, request, runtime, response, started)
    return response


def _answered(action: str, runtime: Runtime, respond: Callable[[], HttpResponse]) -> HttpResponse:
    """The response; what went wrong on the way to it comes back as an envelope."""
    try:
        return respond()
    except StoreUnavailable as error:
        logger.error("STORE_UNAVAILABLE on %s: %s", action, error)
        fault = LaminaError("STORE_UNAVAILABLE", "Storage did not answer. Try again in a few seconds.")
    except LaminaError as error:
        fault = error
    except Exception:
        logger.error("INTERNAL_ERROR on %s", action, exc_info=runtime.log_tracebacks)
        fault = LaminaError("INTERNAL_ERROR", "Something failed that should not. Try again later.")
    headers = {} if fault.retry_after is None else {"Retry-After": str(fault.retry_after)}
    return HttpResponse(fault.kind.http_status, compact(failure(fault, None)), headers=headers)


def _note(action: str, request: HttpRequest, runtime: Runtime, response: HttpResponse, started: float) -> None:
    text = response.text
    failed = response.status >= 400 and response.status != 404
    envelope = _envelope(text) if response.status >= 400 else {}
    consumer = consumer_of(
        next(iter(request.query.get("consumer", ())), None),
        request.headers.get("x-oddkit-client"),
        None,
        request.headers.get("user-agent"),
    )
    code = envelope.get("error_code")
    write_bare(
        runtime,
        action=action,
        status=ERROR if failed or code else NOT_FOUND if response.status == 404 else FOUND,
        error_code=code,
        started=started,
        bytes_in=len(request.body),
        bytes_out=len(text.encode()),
        tokens_out=count_tokens(text) if response.content_type.startswith("application/json") else 0,
        consumer_label=consumer.label,
        consumer_source=consumer.source,
    )


def write_bare(
    runtime: Runtime,
    *,
    action: str,
    status: str,
    error_code: str | None,
    started: float,
    bytes_in: int = 0,
    bytes_out: int = 0,
    tokens_out: int = 0,
    consumer_label: str = "unknown",
    consumer_source: str = "unknown",
) -> None:
    """Writes a record of a call that knows no knowledge base: all that is left is how it went and what it cost."""
    record = Record(
        timestamp=datetime.fromtimestamp(runtime.wall_clock(), UTC).isoformat(timespec="milliseconds"),
        action=action,
        status=status,
        error_code=error_code,
        duration_ms=round((runtime.clock() - started) * 1000, 3),
        cold_start=runtime.take_cold_start(),
        bytes_in=bytes_in,
        bytes_out=bytes_out,
        tokens_out=tokens_out,
        consumer_label=consumer_label,
        consumer_source=consumer_source,
        function_version=runtime.settings.version,
    )
    try:
        runtime.sink.write(record)
    except OSError as error:
        logger.error("telemetry is not written: %s", type(error).__name__)


def _envelope(text: str) -> dict[str, str | None]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
