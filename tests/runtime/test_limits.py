"""The body limit: who is counted, what counts, when it lets go, and what happens when the counter is down."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from lamina.actions.get import GetRequest
from lamina.actions.resolve import ResolveRequest
from lamina.actions.search import SearchRequest
from lamina.contract.errors import LaminaError
from lamina.contract.ports import StoreUnavailable
from lamina.contract.request import Request
from lamina.runtime.limits import BodyLimit, caller_id

KEY = b"k" * 32
NOON = 1_796_040_000.0
DAY = 86_400


@dataclass(slots=True)
class MemoryCounter:
    """A counter in a dict."""

    used: dict[tuple[str, int], int] = field(default_factory=dict)
    expiries: list[int] = field(default_factory=list)

    def add(self, caller: str, window: int, amount: int, limit: int, expires_at: int) -> bool:
        """Adds if it fits."""
        if self.used.get((caller, window), 0) + amount > limit:
            return False
        self.used[caller, window] = self.used.get((caller, window), 0) + amount
        self.expiries.append(expires_at)
        return True


class BrokenCounter:
    """A counter that does not answer."""

    def add(self, caller: str, window: int, amount: int, limit: int, expires_at: int) -> bool:
        """Fails."""
        raise StoreUnavailable("no answer")


def limit_at(now: list[float], counter: MemoryCounter, *, per_minute: int = 2, version: str = "1") -> BodyLimit:
    return BodyLimit(lambda: counter, per_minute, version, wall_clock=lambda: now[0])


def refused(spend: Callable[[], None]) -> LaminaError:
    with pytest.raises(LaminaError) as caught:
        spend()
    return caught.value


def test_a_caller_gets_its_bodies_and_then_has_to_wait_for_the_next_minute() -> None:
    now = [NOON + 12.3]
    limit = limit_at(now, MemoryCounter())
    limit.spend("a")
    limit.spend("a")
    error = refused(lambda: limit.spend("a"))
    assert error.kind.http_status == 429
    assert error.details["retry_after_seconds"] == error.retry_after == 48
    now[0] = NOON + 59.999
    assert refused(lambda: limit.spend("a")).retry_after == 1
    now[0] = NOON + 60
    limit.spend("a")


def test_callers_and_deployment_versions_are_counted_apart() -> None:
    counter, now = MemoryCounter(), [NOON]
    limit = limit_at(now, counter, per_minute=1)
    limit.spend("a")
    limit.spend("b")
    limit_at(now, counter, per_minute=1, version="2").spend("a")
    refused(lambda: limit.spend("a"))


def test_an_amount_is_spent_whole_or_not_at_all() -> None:
    limit = limit_at([NOON], MemoryCounter(), per_minute=3)
    limit.spend("a", 2)
    refused(lambda: limit.spend("a", 2))
    limit.spend("a", 1)


def test_no_caller_and_no_body_cost_nothing() -> None:
    counter = MemoryCounter()
    limit = limit_at([NOON], counter, per_minute=1)
    for _ in range(5):
        limit.spend(None)
        limit.spend("a", 0)
    assert counter.used == {}


def test_a_row_outlives_its_minute_by_one() -> None:
    counter = MemoryCounter()
    limit_at([NOON + 30], counter).spend("a")
    assert counter.expiries == [NOON + 120]


def test_a_counter_that_is_down_lets_the_call_through_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    told: list[str] = []
    limit = BodyLimit(BrokenCounter, 1, on_failure=lambda: told.append("failure"))
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            limit.spend("a")
    assert told == ["failure"] * 3
    assert "body limit is not checked" in caplog.text


def test_a_function_without_a_counter_counts_nothing() -> None:
    BodyLimit(per_minute=1).spend("a", 5)


@pytest.mark.parametrize(
    ("request_", "bodies"),
    [
        (GetRequest.of({"uri": "kb://a"}), 1),
        (ResolveRequest.of({"uri": "kb://a"}), 1),
        (GetRequest.of({"uri": "kb://a", "disclosure": "body,metadata"}), 1),
        (GetRequest.of({"uri": "kb://a", "disclosure": "metadata,blockquote"}), 0),
        (GetRequest.of({"uri": "kb://a", "disclosure": []}), 0),
        (GetRequest.of({"uri": "kb://a", "outline": True}), 0),
        (SearchRequest.of({"query": "a", "disclosure": "summary"}), 0),
        (SearchRequest.of({"query": "a", "passage": 2}), 2),
    ],
)
def test_only_requests_for_a_body_count(request_: Request, bodies: int) -> None:
    assert request_.bodies == bodies


def test_a_caller_by_address_has_another_name_every_day_and_a_key_keeps_its_name() -> None:
    names = [caller_id(KEY, None, "203.0.113.7", NOON + days * DAY) for days in range(3)]
    assert len(set(names)) == 3
    assert caller_id(KEY, "k1", "203.0.113.7", NOON) == caller_id(KEY, "k1", "198.51.100.1", NOON + DAY)


def test_names_tell_nothing_without_the_key() -> None:
    assert caller_id(KEY, None, "203.0.113.7", NOON) != caller_id(b"x" * 32, None, "203.0.113.7", NOON)
    assert "203" not in caller_id(KEY, None, "203.0.113.7", NOON)
    assert caller_id(KEY, "203.0.113.7", "", NOON) != caller_id(KEY, None, "203.0.113.7", NOON)


@pytest.mark.parametrize(
    ("entry", "other", "same"),
    [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("::ffff:203.0.113.7", "203.0.113.7", True),
        ("203.0.113.7", "203.0.113.8", False),
        ("no address", "no address", True),
    ],
)
def test_an_ipv6_network_is_one_caller(entry: str, other: str, same: bool) -> None:
    assert (caller_id(KEY, None, entry, NOON) == caller_id(KEY, None, other, NOON)) is same
