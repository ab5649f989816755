"""What a benchmark says: a line a figure, beside the bound of the speed table that it has to keep."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

LOAD_MB_A_SECOND = 100.0


@dataclass(frozen=True, slots=True)
class Line:
    """One figure. `most` and `least` are the bound, None where there is none."""

    part: str
    what: str
    value: float
    unit: str
    most: float | None = None
    least: float | None = None

    @property
    def holds(self) -> bool | None:
        """Whether the bound is kept; None without one."""
        if self.most is None and self.least is None:
            return None
        return (self.most is None or self.value <= self.most) and (self.least is None or self.value >= self.least)

    def data(self) -> dict[str, Any]:
        """The line as plain data."""
        bound = {"most": self.most, "least": self.least, "holds": self.holds} if self.holds is not None else {}
        return {"part": self.part, "what": self.what, "value": round(self.value, 4), "unit": self.unit, **bound}


def show(lines: Iterable[Line]) -> list[Line]:
    """Prints lines as they come, under the name of their part; gives them all."""
    shown: list[Line] = []
    for line in lines:
        if not shown or shown[-1].part != line.part:
            sys.stdout.write(f"\n{line.part}\n")
        verdict = {None: "", True: "holds", False: "MISSED"}[line.holds]
        bound = "" if line.holds is None else f"≤ {line.most:g}" if line.most is not None else f"≥ {line.least:g}"
        sys.stdout.write(f"  {line.what:<62}{line.value:>12,.3f} {line.unit:<8}{bound:>10}  {verdict}\n")
        sys.stdout.flush()
        shown.append(line)
    return shown


def percentile(values: Sequence[float], share: float) -> float:
    """The value at place ⌊share · n⌋ of the n values in ascending order, counted from 0, at most the highest."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]
