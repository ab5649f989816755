"""Reports of the telemetry: written on a schedule, and the newest one served to anybody."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any

from lamina.contract.envelope import ERROR, FOUND, NOT_FOUND, compact
from lamina.contract.errors import LaminaError, invalid_parameter
from lamina.contract.ports import ObjectStore, StoreUnavailable
from lamina.runtime.adapter import failed, method_not_allowed
from lamina.runtime.entry import guarded
from lamina.runtime.event import JSON_TYPE, HttpRequest, HttpResponse, checked_event, preflight, with_etag
from lamina.runtime.logs import Handler
from lamina.runtime.observed import observed
from lamina.runtime.recorder import Outcome, record_task
from lamina.runtime.settings import Settings
from lamina.runtime.wiring import Runtime, wire
from lamina.telemetry.figures import Period, Report, Span
from lamina.telemetry.page import page
from lamina.telemetry.record_lines import FolderLines, RecordLines, StoreLines
from lamina.telemetry.report import Reporter, report_key, stored_figures
from lamina.telemetry.tables import markdown

logger = logging.getLogger(__name__)

NAME = "telemetry_report"
_METHODS = ("GET",)
_PARAMETERS = ("consumer", "format", "period")
_KEPT = "public, max-age=300"
_FRESH_SECONDS = 60.0
# The page carries its style and needs nothing else; whatever a label smuggled in could load nothing.
_HTML_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}
_TYPES = {
    "json": JSON_TYPE,
    "html": "text/html; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
}


def rendered(report: Report, suffix: str) -> str:
    """A report as `json`, `html` or `md`."""
    if suffix == "html":
        return page(report)
    return markdown(report) if suffix == "md" else compact(report.fields())


@dataclass(slots=True)
class Reports:
    """Writes and finds reports. `on_demand` makes the newest from today's records when it is asked for."""

    store: ObjectStore
    reporter: Reporter
    wall_clock: Callable[[], float]
    on_demand: bool = False
    _made: dict[Period, tuple[float, Report]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def write(self, period: Period, day: date | None = None) -> tuple[str, ...]:
        """Writes the report of the period around `day`, by default the last one that is over; the keys written.

        Writing one again replaces it. Raises StoreUnavailable.
        """
        now = self._now()
        span = Span.around(period, now.date()).before() if day is None else Span.around(period, day)
        report = self.reporter.report(span, now, stored_figures(self.store, span.before()))
        keys = []
        for suffix in ("html", "md", "json"):  # JSON last: who finds it finds the others
            key = report_key(span, suffix)
            self.store.replace(key, rendered(report, suffix).encode())
            keys.append(key)
        return tuple(keys)

    def newest(self, period: Period, suffix: str) -> str | None:
        """The newest report of a period; None where there is none yet. Raises StoreUnavailable."""
        if self.on_demand:
            return rendered(self._current(period), suffix)
        # A year's keys are few enough to list; the year before is for the first of January.
        year = self._now().year
        for prefix in (f"reports/{period}/{year}-", f"reports/{period}/{year - 1}-", f"reports/{period}/"):
            keys = [key for key in self.store.keys(prefix) if key.endswith(".json")]
            if keys:
                stored = self.store.get(keys[-1].removesuffix("json") + suffix)
                return None if stored is None else stored.content.decode()
        return None

    def _current(self, period: Period) -> Report:
        with self._lock:
            now = self._now()
            made = self._made.get(period)
            if made is None or now.timestamp() - made[0] >= _FRESH_SECONDS:
                made = now.timestamp(), self.reporter.report(Span.around(period, now.date()), now)
                self._made[period] = made
            return made[1]

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self.wall_clock(), UTC)


def reports_of(runtime: Runtime, *, with_private: bool = False) -> Reports:
    """The reports of a deployment, without private knowledge bases unless `with_private`."""
    hidden = frozenset(base.name for base in runtime.allow.named if base.private)
    reporter = Reporter(_lines(runtime.settings), hidden, with_private)
    return Reports(runtime.store, reporter, runtime.wall_clock, on_demand=runtime.settings.data is not None)


def telemetry_report() -> Handler:
    """The handler of the schedule and of `GET /v1/telemetry`."""

    held: tuple[Runtime, Reports] | None = None

    def handler(event: Mapping[str, Any], context: object) -> dict[str, Any]:
        nonlocal held
        runtime = wire()
        if held is None or held[0] is not runtime:
            held = runtime, reports_of(runtime)
        reports = held[1]
        if "httpMethod" in checked_event(event):
            request = HttpRequest.of(event)
            return observed(NAME, request, runtime, lambda: respond(request, reports)).event()
        return scheduled(event, runtime, reports)

    return guarded(handler)


def scheduled(event: Mapping[str, Any], runtime: Runtime, reports: Reports) -> dict[str, Any]:
    """Writes the reports that `{"period": "day"|"week", "date"?: "YYYY-MM-DD"}` asks for.

    Raises ValueError for another event, and what the store raises, so that the schedule tries again.
    """
    started = runtime.clock()
    status: str = ERROR
    code: str | None = "INTERNAL_ERROR"
    try:
        given = event.get("date")
        day = None if given is None else date.fromisoformat(str(given))
        written = reports.write(Period(str(event.get("period", Period.DAY))), day)
        status, code = FOUND, None
    except StoreUnavailable:
        code = "STORE_UNAVAILABLE"
        raise
    finally:
        record_task(runtime, started, Outcome(NAME, status, code))
    return {"written": list(written)}


def respond(request: HttpRequest, reports: Reports) -> HttpResponse:
    """One request for the newest report."""
    if request.method == "OPTIONS":
        return preflight(_METHODS)
    try:
        if request.method not in _METHODS:
            raise method_not_allowed(request, _METHODS)
        period, suffix = _asked(request)
        found = reports.newest(period, suffix)
    except LaminaError as error:
        return failed(error)
    except (StoreUnavailable, OSError) as error:
        logger.error("no report: %s", type(error).__name__)
        return failed(LaminaError("STORE_UNAVAILABLE", "Storage did not answer. Try again in a few seconds."))
    if found is None:
        reason = "no report is written yet. The first one follows the first whole day, in UTC."
        absent = {"status": NOT_FOUND, "action": NAME, "data": None, "reason": reason}
        return HttpResponse(404, compact(absent))
    headers = {"Vary": "Accept", **(_HTML_HEADERS if suffix == "html" else {})}
    return with_etag(request, HttpResponse(200, found, _TYPES[suffix], _KEPT, headers))


def _asked(request: HttpRequest) -> tuple[Period, str]:
    """The period and the format that a request asks for. Raises INVALID_PARAMETER."""
    unknown = next((name for name in request.query if name not in _PARAMETERS), None)
    if unknown is not None:
        raise invalid_parameter(
            unknown[:64],
            f"unknown parameter {unknown[:64]!r}. It takes {', '.join(_PARAMETERS)}.",
            parameters=list(_PARAMETERS),
        )
    period = _one_of(request, "period", [*map(str, Period)]) or str(Period.DAY)
    return Period(period), _one_of(request, "format", [*_TYPES]) or _accepted(request.headers.get("accept", ""))


def _one_of(request: HttpRequest, name: str, values: list[str]) -> str | None:
    given = request.query.get(name, ())
    if not given or given == ("",):
        return None
    if len(given) > 1 or given[0] not in values:
        raise invalid_parameter(name, f"{name} must be one of {', '.join(values)}.", possible_values=values)
    return given[0]


def _accepted(accept: str) -> str:
    """The format that an Accept header likes best, JSON where it does not mind."""
    best, weight = "json", 0.0
    for entry in accept.split(","):
        media, *options = (part.strip().lower() for part in entry.split(";"))
        suffix = next((suffix for suffix, kind in _TYPES.items() if kind.startswith(f"{media};")), None)
        liking = _weight(options)
        if suffix is not None and liking > weight:
            best, weight = suffix, liking
    return best


def _weight(options: list[str]) -> float:
    for option in options:
        name, _, value = option.partition("=")
        if name.strip() == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0


def _lines(settings: Settings) -> RecordLines:
    if settings.data is not None:
        return FolderLines(settings.data / "telemetry")
    if settings.records_bucket is None:
        raise ValueError("LAMINA_RECORDS_BUCKET is not set: nowhere to read records from")
    from lamina.stores.aws import make_client
    from lamina.stores.s3 import S3Store

    return StoreLines(S3Store(make_client("s3"), settings.records_bucket))
