"""Records as one JSON line each, which CloudWatch reads as a log and as embedded metrics, through powertools."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TYPE_CHECKING

from lamina.telemetry.record import Record

if TYPE_CHECKING:
    from aws_lambda_powertools.metrics import EphemeralMetrics

NAMESPACE = "Lamina"
METRICS_OF_A_CALL = ("Calls", "DurationMs", "TokensOut")


class MetricsSink:
    """A line on standard output a call: the record's fields at the top, its few numbers as metrics beside them.

    The dimensions are the stack, so that two in one account are told apart, and action and status, whose values are
    few: each pair of them is paid for.
    """

    def __init__(self, stack: str) -> None:
        self._stack = stack

    def write(self, record: Record) -> None:
        """Prints the record with its metrics."""
        from aws_lambda_powertools.metrics import MetricUnit  # 40 ms, which importing a module must not cost

        metrics = _metrics(self._stack)
        metrics.add_dimension("action", record.action)
        metrics.add_dimension("status", record.status)
        units = (MetricUnit.Count, MetricUnit.Milliseconds, MetricUnit.Count)
        values = (1, record.duration_ms, record.tokens_out)
        for name, unit, value in zip(METRICS_OF_A_CALL, units, values, strict=True):
            metrics.add_metric(name, unit, value)
        if record.error_code == "RATE_LIMITED":
            metrics.add_metric("RateLimited", MetricUnit.Count, 1)
        # powertools gives every value as a list of one; the names differ from the record's, so no field is lost.
        _emit({**metrics.serialize_metric_set(), **record.fields()})


class Fault(StrEnum):
    """What the operator is woken for; each is a metric with an alarm in the template."""

    BODY_LIMIT_FAILURES = "BodyLimitFailures"
    SNAPSHOT_REFUSED = "SnapshotRefused"
    BUILD_FAILED = "BuildFailed"


def count_fault(fault: Fault, stack: str) -> None:
    """Counts a fault of a deployment that no record of a call shows."""
    from aws_lambda_powertools.metrics import MetricUnit

    metrics = _metrics(stack)
    metrics.add_metric(str(fault), MetricUnit.Count, 1)
    _emit({**metrics.serialize_metric_set()})


def load_metrics() -> None:
    """Loads what the first record of a call needs, 40 ms, before the call."""
    _metrics("")


def _metrics(stack: str) -> EphemeralMetrics:
    from aws_lambda_powertools.metrics import EphemeralMetrics

    metrics = EphemeralMetrics(namespace=NAMESPACE, service="")
    metrics.add_dimension("stack", stack)
    return metrics


def _emit(line: dict[str, object]) -> None:
    # Lambda takes a printed line of JSON as it is; a logger would wrap the record in a message.
    print(json.dumps(line, separators=(",", ":")), flush=True)  # noqa: T201
