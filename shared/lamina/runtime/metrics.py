"""Records as log lines and CloudWatch embedded metrics, through powertools."""

from __future__ import annotations

from aws_lambda_powertools import Logger
from aws_lambda_powertools.metrics import MetricUnit, single_metric

from lamina.telemetry.record import Record

NAMESPACE = "Lamina"


class MetricsSink:
    """One structured line a call, and its few numbers as metrics by action."""

    def __init__(self) -> None:
        self._log = Logger(service="lamina", child=False)

    def write(self, record: Record) -> None:
        """Logs the record and its metrics."""
        self._log.info("call", extra={"record": record.fields()})
        with single_metric("Calls", MetricUnit.Count, 1, namespace=NAMESPACE) as metric:
            metric.add_dimension("action", record.action)
            metric.add_metric("DurationMs", MetricUnit.Milliseconds, record.duration_ms)
            metric.add_metric("TokensOut", MetricUnit.Count, record.tokens_out)
            metric.add_metric("Errors", MetricUnit.Count, int(record.status == "ERROR"))
