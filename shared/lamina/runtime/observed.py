"""One record for a request that no action answers: the site, a report, a browser's question what it may send."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

from lamina.contract.envelope import ERROR, FOUND, NOT_FOUND, compact, failure
from lamina.contract.errors import LaminaError
from lamina.contract.ports import StoreUnavailable
from lamina.runtime.event import HttpRequest, HttpResponse
from lamina.runtime.recorder import CallDetails, Caller, Exchange, Outcome, record_call
from lamina.runtime.wiring import Runtime
from lamina.telemetry.record import Record, RecordSink

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
    return HttpResponse(fault.kind.http_status, compact(failure(fault, None)), retry_after=fault.retry_after)


def _note(action: str, request: HttpRequest, runtime: Runtime, response: HttpResponse, started: float) -> None:
    failed = response.status >= 400 and response.status != 404
    code = _envelope(response.text).get("error_code") if response.status >= 400 else None
    status = ERROR if failed or code else NOT_FOUND if response.status == 404 else FOUND
    is_json = response.content_type.startswith("application/json")
    record_call(
        runtime,
        started,
        Outcome(action, status, code),
        Exchange("", response.text if is_json else "", len(request.body), len(response.text.encode())),
        caller=Caller(
            header=request.headers.get("x-oddkit-client"),
            user_agent=request.headers.get("user-agent"),
            label=next(iter(request.query.get("consumer", ())), None),
        ),
        details=CallDetails(),
    )


def _envelope(text: str) -> dict[str, str | None]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
