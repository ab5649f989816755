"""Records as one JSON line each, which CloudWatch reads as a log and as embedded metrics, through powertools."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TYPE_CHECKING

from lamina.telemetry.record import Record

if TYPE_CHECKING:
    from aws_lambda_powertools.metrics import EphemeralMetrics

NAMESPACE = "Lamina"


class MetricsSink:
    """A line on standard output a call: the record's fields at the top, its few numbers as metrics beside them.

    The dimensions are action and status, whose values are few: each pair of them is paid for.
    """

    def write(self, record: Record) -> None:
        """Prints the record with its metrics."""
        from aws_lambda_powertools.metrics import MetricUnit  # 40 ms, which importing a module must not cost

        metrics = _metrics()
        metrics.add_dimension("action", record.action)
        metrics.add_dimension("status", record.status)
        metrics.add_metric("Calls", MetricUnit.Count, 1)
        metrics.add_metric("DurationMs", MetricUnit.Milliseconds, record.duration_ms)
        metrics.add_metric("TokensOut", MetricUnit.Count, record.tokens_out)
        if record.error_code == "RATE_LIMITED":
            metrics.add_metric("RateLimited", MetricUnit.Count, 1)
        # powertools gives every value as a list of one; the names differ from the record's, so no field is lost.
        _emit({**metrics.serialize_metric_set(), **record.fields()})


class Fault(StrEnum):
    """What the operator is woken for; each is a metric with an alarm in the template."""

    BODY_LIMIT_FAILURES = "BodyLimitFailures"
    SNAPSHOT_REFUSED = "SnapshotRefused"
    BUILD_FAILED = "BuildFailed"


def count_fault(fault: Fault) -> None:
    """Counts a fault that no record of a call shows."""
    from aws_lambda_powertools.metrics import MetricUnit

    metrics = _metrics()
    metrics.add_metric(str(fault), MetricUnit.Count, 1)
    _emit({**metrics.serialize_metric_set()})


def _metrics() -> EphemeralMetrics:
    from aws_lambda_powertools.metrics import EphemeralMetrics

    return EphemeralMetrics(namespace=NAMESPACE, service="")


def _emit(line: dict[str, object]) -> None:
    # Lambda takes a printed line of JSON as it is; a logger would wrap the record in a message.
    print(json.dumps(line, separators=(",", ":")), flush=True)  # noqa: T201
