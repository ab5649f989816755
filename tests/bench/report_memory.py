"""How much memory and time a report of ten million records takes: `python -m tests.bench.report_memory [NUMBER]`."""

from __future__ import annotations

import json
import random
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

from tests.fakes.records import records

from lamina.telemetry.figures import Period, Span
from lamina.telemetry.page import page
from lamina.telemetry.report import Reporter

DAY = date(2026, 11, 25)
_RECORDS = 10_000_000
_SHAPES = 2_000


@dataclass(frozen=True, slots=True)
class Endless:
    """Lines made as they are read: consumers and documents never seen before keep coming, as an attacker's would."""

    number: int

    def of_days(self, days: Sequence[date]) -> Iterator[bytes]:
        """Records of the first day; the day before is empty."""
        if days[0] != DAY:
            return
        rng = random.Random(7)
        shapes = []
        for entry in records(DAY, _SHAPES, seed=1):
            fields = {**entry.fields(), "consumer_label": "LABEL", "document_uri": "kb://PAGE"}
            head, _, rest = json.dumps(fields, separators=(",", ":")).encode().partition(b"LABEL")
            middle, _, tail = rest.partition(b"PAGE")
            shapes.append((head, middle, tail))
        for at in range(self.number):
            head, middle, tail = shapes[at % _SHAPES]
            # Half of the calls come from a few, half from somebody new.
            label = at if at % 2 else int(rng.paretovariate(1))
            yield b"%bc%d%b%d%b\n" % (head, label, middle, label, tail)


def main(arguments: Sequence[str]) -> int:
    """Prints one row."""
    number = int(arguments[0]) if arguments else _RECORDS
    started = time.perf_counter()
    report = Reporter(Endless(number)).report(Span(Period.DAY, DAY), datetime(2026, 11, 26, tzinfo=UTC))
    size = len(page(report))
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{report.records:,} records: peak {peak:.0f} MB, {seconds:.0f} s, "
        f"{seconds / number * 1e6:.1f} µs a record; page of {size / 1024:.0f} KB"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
