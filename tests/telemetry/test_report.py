"""Records become figures: what is counted, what is left out, what damaged lines do, and where reports are kept."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from tests.fakes.records import record, write_records

from lamina.http.telemetry_report import Reports, respond, scheduled
from lamina.runtime.event import HttpRequest
from lamina.runtime.settings import Settings
from lamina.runtime.wiring import compose
from lamina.stores.folder import FolderStore
from lamina.telemetry.figures import Period, Report, Span, Verdict
from lamina.telemetry.record import Record
from lamina.telemetry.record_lines import LONGEST_LINE, FolderLines, StoreLines
from lamina.telemetry.report import Reporter
from lamina.telemetry.tally import HeavyHitters

MONDAY = date(2026, 11, 23)
NOW = datetime(2026, 11, 24, 2, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Given:
    """Lines as given, whatever the days."""

    lines: tuple[bytes, ...]

    def of_days(self, days: Sequence[date]) -> Iterable[bytes]:
        """All of them."""
        return iter(self.lines)


def report_of(*records: Record | bytes, hidden: Sequence[str] = ()) -> Report:
    lines = tuple(entry if isinstance(entry, bytes) else entry.line().encode() + b"\n" for entry in records)
    return Reporter(Given(lines), hidden).report(Span(Period.DAY, MONDAY), NOW)  # type: ignore[arg-type]


def asked(**query: str) -> HttpRequest:
    return HttpRequest("GET", "/v1/telemetry", {name: (value,) for name, value in query.items()}, {}, b"")


def test_calls_are_counted_by_action_and_in_all() -> None:
    report = report_of(
        record(action="search", duration_ms=2.0),
        record(action="get", status="ERROR", error_code="RATE_LIMITED", tokens_legacy_equivalent=None),
        record(action="get", cold_start=True),
    )
    assert [
        (entry.action, entry.calls, entry.errors, entry.rate_limited, entry.cold_starts) for entry in report.actions
    ] == [
        ("get", 2, 1, 1, 1),
        ("search", 1, 0, 0, 0),
    ]
    assert (report.totals.calls, report.totals.error_rate) == (3, round(1 / 3, 4))
    assert report.totals.p99_ms == pytest.approx(2.0, rel=0.01)


@pytest.mark.parametrize(
    ("spent", "legacy", "verdict"),
    [
        (100, 1_000, Verdict.REACHED),
        (100, 999, Verdict.SHORT),
        (100, 100, Verdict.WORSE),
        (100, None, Verdict.UNKNOWN),
    ],
)
def test_the_order_of_magnitude_has_a_verdict(spent: int, legacy: int | None, verdict: Verdict) -> None:
    assert report_of(record(tokens_out=spent, tokens_legacy_equivalent=legacy)).verdict == verdict


def test_a_failed_call_is_not_compared_with_the_older_shape() -> None:
    report = report_of(record(tokens_out=10, tokens_legacy_equivalent=200), record(status="ERROR", tokens_out=90))
    assert (report.totals.tokens_out, report.totals.tokens_out_compared, report.totals.token_ratio) == (100, 10, 20)


def test_private_knowledge_bases_are_left_out_wherever_they_would_show() -> None:
    secret = record(knowledge_base_url="vault", consumer_label="insider", document_uri="vault://plan", private=True)
    public_then = record(knowledge_base_url="closed", consumer_label="insider", document_uri="closed://plan")
    report = report_of(secret, public_then, record(), hidden=["closed"])
    text = json.dumps(report.fields())
    assert report.records == 1
    assert not [word for word in ("vault", "insider", "closed") if word in text]


def test_an_operator_may_count_private_ones() -> None:
    lines = Given((record(knowledge_base_url="vault", private=True).line().encode(),))
    reporter = Reporter(lines, ["vault"], with_private=True)  # type: ignore[arg-type]
    assert reporter.report(Span(Period.DAY, MONDAY), NOW).knowledge_bases[0].name == "vault"


def test_records_of_other_days_are_not_counted() -> None:
    assert report_of(record(), record(timestamp="2026-11-24T00:00:00.000+00:00")).records == 1


@pytest.mark.parametrize(
    "damaged",
    [
        b"not json\n",
        b"[1]\n",
        b'{"level": "INFO", "message": "something else"}\n',
        b'{"consumer_source": "query"}\n',
        record().line().replace('"duration_ms":2.0', '"duration_ms":NaN').encode(),
        record().line().replace('"duration_ms":2.0', '"duration_ms":"fast"').encode(),
        record().line().replace('"tokens_out":500', '"tokens_out":-1').encode(),
        record().line().replace("T00:", "Txx:").encode(),
        record().line().replace('"parameters":[]', '"parameters":7').encode(),
        b"[" * 100_000,
        b"\xff\xfe\n",
    ],
)
def test_a_damaged_line_is_skipped_whole_and_counted_as_skipped(damaged: bytes) -> None:
    report = report_of(record(), damaged)
    assert (report.records, report.totals.calls, report.lines_skipped) == (1, 1, 1)
    assert sum(entry.calls for entry in report.timeline) == 1


def test_names_that_never_end_do_not_fill_the_memory() -> None:
    report = report_of(*(record(action=f"a{n}", parameters=(f"p{n}",), error_code=f"E{n}") for n in range(500)))
    assert report.totals.calls == 500
    assert len(report.actions) <= 65
    assert sum(entry.calls for entry in report.actions) == 500


def test_the_heaviest_keys_are_found_among_more_than_there_is_room_for() -> None:
    hitters: HeavyHitters[str] = HeavyHitters(10)
    for number in range(2_000):
        hitters.add(f"rare-{number}", 1)
        hitters.add("often", 1)
    assert len(hitters.cells) == 10
    often = hitters.cells["often"]
    assert often.weight - often.overcount <= 2_000 <= often.weight


def test_a_day_without_calls_has_a_report_and_nothing_to_compare() -> None:
    report = report_of()
    assert (report.records, report.totals.p95_ms, report.compared_with, report.changes) == (0, None, None, ())
    assert len(report.timeline) == 24


def test_a_period_is_compared_with_the_one_before(tmp_path: Path) -> None:
    write_records(tmp_path, date(2026, 11, 22), 40, seed=1)
    write_records(tmp_path, MONDAY, 60, seed=2)
    report = Reporter(FolderLines(tmp_path)).report(Span(Period.DAY, MONDAY), NOW)
    calls = next(entry for entry in report.changes if (entry.action, entry.measure) == ("all", "calls"))
    assert (report.compared_with, calls.before, calls.now, calls.change) == ("2026-11-22", 40, 60, 0.5)


def test_a_week_goes_from_monday_to_sunday() -> None:
    span = Span.around(Period.WEEK, date(2026, 11, 29))
    assert (span.days[0], span.days[-1], span.before().first) == (MONDAY, date(2026, 11, 29), date(2026, 11, 16))


def test_objects_of_the_delivery_stream_are_read_once_around_midnight_too(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    late, first, other = (
        record(consumer_label=label, timestamp=f"2026-11-{day}T{time}:00.000+00:00").line().encode() + b"\n"
        for label, day, time in (("late", 23, "23:59"), ("first", 23, "00:01"), ("other", 24, "00:02"))
    )
    store.replace("records/day=2026-11-22/23-stream.gz", gzip.compress(first))
    store.replace("records/day=2026-11-23/12-stream.gz", gzip.compress(record().line().encode() + b"\n"))
    store.replace("records/day=2026-11-24/00-stream", late + other)
    reporter = Reporter(StoreLines(store))
    day = reporter.report(Span(Period.DAY, MONDAY), NOW)
    week = reporter.report(Span(Period.WEEK, MONDAY), NOW)
    assert {entry.consumer.name for entry in day.consumers} == {"late", "first", "unknown"}
    assert (day.records, week.records) == (3, 4)


def test_a_line_longer_than_any_record_is_no_reason_to_hold_it(tmp_path: Path) -> None:
    folder = tmp_path / "records" / f"day={MONDAY}"
    folder.mkdir(parents=True)
    (folder / "records-1.jsonl").write_bytes(b"x" * (3 * LONGEST_LINE) + b"\n" + record().line().encode() + b"\n")
    assert max(map(len, FolderLines(tmp_path).of_days([MONDAY]))) <= LONGEST_LINE
    assert Reporter(FolderLines(tmp_path)).report(Span(Period.DAY, MONDAY), NOW).records == 1


def reports(tmp_path: Path, *, on_demand: bool = False, now: datetime = NOW) -> Reports:
    return Reports(
        FolderStore(tmp_path / "store"),
        Reporter(FolderLines(tmp_path)),
        wall_clock=now.timestamp,
        on_demand=on_demand,
    )


def test_the_schedule_writes_the_last_day_in_three_formats_and_may_do_so_again(tmp_path: Path) -> None:
    write_records(tmp_path, MONDAY, 20, seed=3)
    made = reports(tmp_path)
    expected = {f"reports/day/2026-11-23.{suffix}" for suffix in ("json", "md", "html")}
    assert set(made.write(Period.DAY)) == set(made.write(Period.DAY)) == expected
    assert set(made.store.keys("reports/")) == expected
    assert made.write(Period.WEEK)[0].startswith("reports/week/2026-11-16.")


def test_a_report_is_compared_with_the_one_that_was_written_before(tmp_path: Path) -> None:
    write_records(tmp_path, date(2026, 11, 22), 20, seed=3)
    made = reports(tmp_path)
    made.write(Period.DAY, date(2026, 11, 22))
    for path in (tmp_path / "records" / "day=2026-11-22").iterdir():
        path.unlink()
    write_records(tmp_path, MONDAY, 30, seed=4)
    made.write(Period.DAY)
    stored = made.store.get("reports/day/2026-11-23.json")
    assert stored is not None
    assert json.loads(stored.content)["compared_with"] == "2026-11-22"


@pytest.mark.parametrize(
    ("query", "accept", "content_type"),
    [
        ({}, "", "application/json"),
        ({}, "*/*", "application/json"),
        ({}, "text/html,application/xhtml+xml,*/*;q=0.8", "text/html"),
        ({}, "text/html;q=0.2, application/json;q=0.9", "application/json"),
        ({}, "text/markdown", "text/markdown"),
        ({"format": "html"}, "application/json", "text/html"),
        ({"format": "md"}, "", "text/markdown"),
    ],
)
def test_the_newest_report_comes_in_the_format_asked_for(
    query: dict[str, str], accept: str, content_type: str, tmp_path: Path
) -> None:
    write_records(tmp_path, MONDAY, 20, seed=3)
    made = reports(tmp_path)
    made.write(Period.DAY, date(2026, 11, 22))
    made.write(Period.DAY)
    request = HttpRequest(
        "GET", "/v1/telemetry", {name: (value,) for name, value in query.items()}, {"accept": accept}, b""
    )
    response = respond(request, made)
    assert (response.status, response.content_type.split(";")[0]) == (200, content_type)
    assert "2026-11-23" in response.text
    assert response.headers["ETag"]


def test_a_report_that_the_caller_has_already_is_not_sent_again(tmp_path: Path) -> None:
    made = reports(tmp_path)
    made.write(Period.DAY)
    tag = respond(asked(), made).headers["ETag"]
    again = respond(HttpRequest("GET", "/v1/telemetry", {}, {"if-none-match": tag}, b""), made)
    assert (again.status, again.text) == (304, "")


@pytest.mark.parametrize("query", [{"format": "pdf"}, {"period": "month"}, {"query": "x"}])
def test_a_wrong_parameter_is_told(query: dict[str, str], tmp_path: Path) -> None:
    response = respond(asked(**query), reports(tmp_path))
    assert (response.status, json.loads(response.text)["error_code"]) == (400, "INVALID_PARAMETER")


def test_before_the_first_report_there_is_none(tmp_path: Path) -> None:
    response = respond(asked(), reports(tmp_path))
    assert (response.status, json.loads(response.text)["status"]) == (404, "NOT_FOUND")


def test_only_get_is_allowed(tmp_path: Path) -> None:
    assert respond(HttpRequest("POST", "/v1/telemetry", {}, {}, b""), reports(tmp_path)).status == 405


def test_on_ones_own_machine_the_running_day_is_reported(tmp_path: Path) -> None:
    write_records(tmp_path, MONDAY, 20, seed=3)
    made = reports(tmp_path, on_demand=True, now=datetime(2026, 11, 23, 23, 59, tzinfo=UTC))
    assert json.loads(respond(asked(format="json"), made).text)["records"] == 20


def test_the_schedule_leaves_a_record_of_what_it_did_and_of_what_it_could_not_do(tmp_path: Path) -> None:
    made, runtime = reports(tmp_path), compose(Settings.of({"LAMINA_DATA": str(tmp_path / "data")}))
    assert scheduled({"period": "day"}, runtime, made)["written"]
    with pytest.raises(ValueError, match="month"):
        scheduled({"period": "month"}, runtime, made)
    (tmp_path / "store" / "reports" / "week").write_text("in the way")
    with pytest.raises(ValueError, match="file and folder"):
        scheduled({"period": "week"}, runtime, made)
    lines = [
        json.loads(line)
        for path in (tmp_path / "data" / "telemetry").rglob("*.jsonl")
        for line in path.read_text("utf-8").splitlines()
    ]
    assert [(entry["action"], entry["status"], entry["error_code"]) for entry in lines] == [
        ("telemetry_report", "FOUND", None),
        ("telemetry_report", "ERROR", "INTERNAL_ERROR"),
        ("telemetry_report", "ERROR", "INTERNAL_ERROR"),
    ]
