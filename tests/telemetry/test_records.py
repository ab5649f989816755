"""What a record says of a call agrees with what the call answered; what a report says agrees with plain counting."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.conftest import Corpus
from tests.fakes.records import records

from lamina.actions.registry import ACTIONS
from lamina.contract.tokens import count_tokens
from lamina.runtime.dispatch import dispatch
from lamina.runtime.recorder import Caller
from lamina.runtime.wiring import Runtime
from lamina.telemetry.figures import Period, Span
from lamina.telemetry.record import Record, consumer_of
from lamina.telemetry.report import report_of
from lamina.telemetry.tally import RELATIVE_ERROR, HeavyHitters, LatencyHistogram, Tally

WORDS = ("gauge", "battery", "flood", "radio", "write a notice", "definition of done", "release", "xyzzy", "the")
TOP = 5


@dataclass(slots=True)
class Kept:
    """A sink that keeps records."""

    records: list[Record] = field(default_factory=list)

    def write(self, record: Record) -> None:
        """Keeps one."""
        self.records.append(record)


@pytest.fixture(scope="module")
def runtime(sample: Corpus) -> Runtime:
    made = sample.deployed.runtime()
    made.sink = Kept()
    return made


def call(runtime: Runtime, action: str, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], Record]:
    """The envelope and the one record that the call left."""
    sink = runtime.sink
    assert isinstance(sink, Kept)
    sink.records.clear()
    reply = dispatch(ACTIONS[action], lambda: arguments, Caller(user_agent="test/1", has_key=True), runtime)
    (record,) = sink.records
    assert (record.tokens_out, record.tokens_estimated) == (count_tokens(reply.text), False)
    assert record.bytes_out == len(reply.text.encode())
    return reply.envelope, record


filters = st.fixed_dictionaries(
    {},
    optional={
        "limit": st.sampled_from([1, 3, 10, 60]),
        "offset": st.sampled_from([0, 1, 7, 500]),
        "disclosure": st.sampled_from([[], ["blockquote"], ["blockquote", "metadata"]]),
        "include": st.sampled_from([["canon"], ["docs", "journals"], ["canon", "docs", "journals", "essays"]]),
        "exclude_invalidated": st.booleans(),
        "max_tokens": st.sampled_from([400, 5_000]),
    },
)
overlays = st.sampled_from(
    [
        {},
        *(
            {"knowledge_base_url": "gauge-firmware", "search_scope": scope}
            for scope in ("merged", "kb_with_required_baseline", "kb_only")
        ),
    ]
)
groupings = st.sampled_from([None, "merged", "overlay_first", "grouped", "overlay_preferred"])
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(["search", "preflight"]), texts, filters, overlays, groupings)
def test_hits_of_a_ranked_call_are_those_of_its_whole_answer(
    runtime: Runtime,
    action: str,
    text: str,
    sliced: dict[str, Any],
    overlay: dict[str, Any],
    grouping: str | None,
) -> None:
    main = {"search": "query", "preflight": "task"}[action]
    arguments = {main: text, **sliced, **overlay, **({"result_grouping": grouping} if grouping else {})}
    envelope, record = call(runtime, action, arguments)
    page = ("limit", "offset", "max_tokens", "disclosure")
    whole, _ = call(runtime, action, {**{n: v for n, v in arguments.items() if n not in page}, "limit": 500})
    assert record.status == envelope["status"]
    assert record.parameters == tuple(sorted(arguments))
    assert record.result_grouping == grouping or (grouping is None and record.result_grouping is not None)
    if envelope["status"] == "ERROR":
        assert record.error_code == envelope["error_code"]
        assert record.overlay_hits is None
        return
    entries = whole["data"]
    of_overlay = [entry.get("source") == "overlay" for entry in entries]
    assert record.total == envelope["total"] == len(entries)
    assert (record.overlay_hits, record.baseline_hits) == (sum(of_overlay), len(entries) - sum(of_overlay))
    assert record.overlay_hits_in_top_5 == sum(of_overlay[:TOP])
    assert record.baseline_hits_in_top_5 == len(entries[:TOP]) - sum(of_overlay[:TOP])
    assert record.index_size_at_query == (record.overlay_doc_count or 0) + (record.baseline_doc_count or 0)
    assert record.limit == envelope["limit"]
    assert list(record.disclosure) == envelope["disclosure_applied"]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(filters, overlays)
def test_a_catalog_says_how_many_there_are_and_where_they_come_from(
    runtime: Runtime, sliced: dict[str, Any], overlay: dict[str, Any]
) -> None:
    envelope, record = call(runtime, "catalog", {**sliced, **overlay})
    assert record.total == envelope.get("total")
    if envelope["status"] != "ERROR":
        page = ("limit", "offset", "max_tokens", "disclosure")
        unpaged = {name: value for name, value in sliced.items() if name not in page}
        whole, _ = call(runtime, "catalog", {**unpaged, **overlay, "limit": 500})
        of_overlay = sum(entry.get("source") == "overlay" for entry in whole["data"])
        assert (record.overlay_hits, record.baseline_hits) == (of_overlay, envelope["total"] - of_overlay)
        assert record.search_scope is not None
    assert (record.overlay_hits_in_top_5, record.result_grouping) == (None, None)


def test_a_baseline_check_says_its_scope_and_what_is_in_it(runtime: Runtime) -> None:
    envelope, record = call(runtime, "baseline-check", {"knowledge_base_url": "gauge-firmware"})
    assert record.search_scope == "merged"
    assert record.overlay_hits == record.overlay_doc_count == envelope["data"]["documents"]["overlay"]["total"]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["get", "resolve"]),
    st.sampled_from(["rill://canon/definition-of-done", "canon/definition-of-done.md", "rill://no/such", "secret"]),
    overlays.map(lambda overlay: {n: v for n, v in overlay.items() if n == "knowledge_base_url"}),
)
def test_a_document_is_named_only_where_it_was_found(
    runtime: Runtime, action: str, uri: str, overlay: dict[str, Any]
) -> None:
    envelope, record = call(runtime, action, {"uri": uri, **overlay})
    found = envelope["data"]
    assert record.document_uri == (found["uri"] if found else None)
    assert (record.tokens_legacy_equivalent is None) == (found is None)
    assert record.knowledge_base_url == overlay.get("knowledge_base_url")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"knowledge_base_url": "https://github.com/some/secret"}, "not_allowed"),
        ({"knowledge_base_url": "gauge-firmware", "limit": 0}, "gauge-firmware"),
        ({"knowledge_base_url": "elsewhere", "limit": 0}, "not_allowed"),
        ({"limit": 0}, None),
    ],
)
def test_a_refused_call_names_the_knowledge_base_as_the_allow_list_does(
    runtime: Runtime, arguments: dict[str, Any], named: str | None
) -> None:
    envelope, record = call(runtime, "catalog", arguments)
    assert (envelope["status"], record.knowledge_base_url) == ("ERROR", named)


@given(st.text(), st.text(), st.text())
def test_a_label_is_short_and_plain_whatever_a_caller_sends(query: str, header: str, agent: str) -> None:
    label = consumer_of(query, header, None, agent).label
    assert 0 < len(label) <= 64
    assert set(label) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/ -")


@given(st.lists(st.floats(0.002, 1e6), min_size=1, max_size=200), st.sampled_from([0.5, 0.95, 0.99]))
def test_a_quantile_is_within_its_error(durations: list[float], share: float) -> None:
    histogram = LatencyHistogram()
    for item in durations:
        histogram.add(item)
    true = sorted(durations)[max(0, math.ceil(share * len(durations)) - 1)]
    told = histogram.quantile(share)
    assert told is not None
    # Two parts in a million for the rounding of what is told to four places.
    assert abs(told - true) <= true * RELATIVE_ERROR + 1e-4


@given(st.lists(st.tuples(st.sampled_from("abcdefghij"), st.integers(0, 50)), max_size=200), st.integers(1, 12))
def test_a_heavy_key_is_kept_and_its_weight_lies_in_its_range(stream: list[tuple[str, int]], capacity: int) -> None:
    hitters: HeavyHitters[str] = HeavyHitters(capacity)
    true: Counter[str] = Counter()
    for key, weight in stream:
        hitters.add(key, weight)
        true[key] += weight
    assert len(hitters.cells) <= capacity
    for key, cell in hitters.cells.items():
        assert cell.weight - cell.overcount <= true[key] <= cell.weight
    heavy = {key for key, weight in true.items() if weight > true.total() / capacity}
    assert heavy <= set(hitters.cells)


@given(st.integers(0, 1_000), st.integers(0, 120), st.randoms(use_true_random=False))
def test_a_report_does_not_depend_on_the_order_of_records(seed: int, number: int, rng: Any) -> None:
    span, now = Span(Period.DAY, date(2026, 11, 25)), datetime(2026, 11, 26, tzinfo=UTC)
    lines = [item.line().encode() for item in records(span.first, number, seed)]
    shuffled = rng.sample(lines, len(lines))
    reports = []
    for order in (lines, shuffled):
        tally = Tally({"2026-11-25"})
        tally.read(order)
        reports.append(report_of(tally, span, now))
    assert reports[0] == reports[1]
    assert json.dumps(reports[0].fields())
    assert replace(reports[0], generated_at="") != reports[0]
