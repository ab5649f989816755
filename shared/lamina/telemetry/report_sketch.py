"""Counting in bounded memory: quantiles within one percent, and the heaviest of any number of keys."""

from __future__ import annotations

import heapq
import math
from collections.abc import Hashable
from dataclasses import dataclass
from itertools import count
from typing import Generic, TypeVar

# A quantile is told within this share of its value.
RELATIVE_ERROR = 0.01
_GAMMA = (1 + RELATIVE_ERROR) / (1 - RELATIVE_ERROR)
_LOG_GAMMA = math.log(_GAMMA)
_SMALLEST_MS, _LARGEST_MS = 0.001, 1e7
_LOWEST = math.ceil(math.log(_SMALLEST_MS) / _LOG_GAMMA)
_BUCKETS = math.ceil(math.log(_LARGEST_MS) / _LOG_GAMMA) - _LOWEST + 1

Key = TypeVar("Key", bound=Hashable)


class LatencyHistogram:
    """Durations in milliseconds in buckets that grow geometrically, so that every quantile has one relative error.

    Source: Masson, Rim and Lee, "DDSketch", VLDB 2019, with a fixed range of 1 µs to 10,000 s.
    """

    __slots__ = ("_counts", "number")

    def __init__(self) -> None:
        self._counts = [0] * _BUCKETS
        self.number = 0

    def add(self, milliseconds: float) -> None:
        """Counts one duration; one outside the range counts at its end."""
        at = math.ceil(math.log(milliseconds) / _LOG_GAMMA) - _LOWEST if milliseconds > _SMALLEST_MS else 0
        self._counts[min(at, _BUCKETS - 1)] += 1
        self.number += 1

    def quantile(self, share: float) -> float | None:
        """The duration of rank ceil(share · number), within RELATIVE_ERROR; None where nothing was counted."""
        rank = max(1, math.ceil(share * self.number))
        passed = 0
        for at, number in enumerate(self._counts):
            passed += number
            if number and passed >= rank:
                return round(2 * _GAMMA ** (at + _LOWEST) / (_GAMMA + 1), 4)
        return None

    def merged(self, other: LatencyHistogram) -> LatencyHistogram:
        """Both together."""
        whole = LatencyHistogram()
        whole._counts = [mine + its for mine, its in zip(self._counts, other._counts, strict=True)]
        whole.number = self.number + other.number
        return whole


@dataclass(slots=True)
class Heavy:
    """What is known of one key. The true weight lies between `weight - overcount` and `weight`.

    `calls` and `errors` are counted from when the key was last taken up.
    """

    weight: int
    overcount: int
    calls: int = 0
    errors: int = 0


class HeavyHitters(Generic[Key]):
    """The heaviest keys of a stream in room for `capacity` of them; exact while no more than that occur.

    No key heavier than total/capacity is missed. Source: Metwally, Agrawal and El Abbadi, "Space-Saving",
    ICDT 2005, with a heap whose entries are brought up to date only when they come to its top.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.cells: dict[Key, Heavy] = {}
        self._heap: list[tuple[int, int, Key]] = []
        self._order = count()

    def add(self, key: Key, weight: int, *, failed: bool = False) -> None:
        """Counts one call of a key, of a weight of 0 or more."""
        cell = self.cells.get(key)
        if cell is None:
            floor = self._evict() if len(self.cells) >= self.capacity else 0
            cell = self.cells[key] = Heavy(floor, floor)
            heapq.heappush(self._heap, (floor, next(self._order), key))
        cell.weight += weight
        cell.calls += 1
        cell.errors += failed

    def _evict(self) -> int:
        """Gives up the lightest key and says its weight."""
        while True:
            seen, order, key = self._heap[0]
            weight = self.cells[key].weight
            if weight == seen:
                heapq.heappop(self._heap)
                del self.cells[key]
                return weight
            heapq.heapreplace(self._heap, (weight, order, key))
