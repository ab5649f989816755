"""Figures drawn as SVG that stretches with the page: widths in percent, text at its own size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_ROW, _BAR, _TOP = 42, 12, 22
_COLUMNS_HEIGHT, _AXIS = 160, 22
_LEAST_SEEN = 0.4


@dataclass(frozen=True, slots=True)
class Bar:
    """A labelled row: one part a series, and what it comes to in words."""

    label: str
    parts: tuple[float, ...]
    text: str


def bars(name: str, rows: Sequence[Bar], *, whole: bool = False) -> str:
    """Horizontal bars, parts end to end on one scale; with `whole` every row is stretched to its own sum."""
    if not rows:
        return ""
    longest = max(sum(row.parts) for row in rows)
    drawn = []
    for number, row in enumerate(rows):
        y = number * _ROW
        scale = sum(row.parts) if whole else longest
        drawn.append(_captions(row.label, row.text, y))
        drawn.append(f'<rect class="track" x="0" y="{y + _TOP}" width="100%" height="{_BAR}" rx="3"/>')
        x = 0.0
        for series, part in enumerate(row.parts):
            width = _percent(part, scale)
            if width:
                drawn.append(_rect(f"s{series}", x, y + _TOP, width, _BAR))
            x += width
    return _svg(name, len(rows) * _ROW, drawn)


def pairs(name: str, rows: Sequence[Bar]) -> str:
    """Horizontal bars, the parts of a row one under the other on one scale."""
    if not rows:
        return ""
    longest = max(part for row in rows for part in row.parts)
    drawn, y = [], 0
    for row in rows:
        drawn.append(_captions(row.label, row.text, y))
        y += _TOP
        for series, part in enumerate(row.parts):
            drawn.append(f'<rect class="track" x="0" y="{y}" width="100%" height="8" rx="3"/>')
            drawn.append(_rect(f"s{series}", 0, y, _percent(part, longest), 8))
            y += 11
        y += 10
    return _svg(name, y, drawn)


def ranges(name: str, rows: Sequence[Bar]) -> str:
    """Dots from the least to the greatest of a row, on one logarithmic scale."""
    values = [part for row in rows for part in row.parts if part > 0]
    if not values:
        return ""
    low, high = math.log10(min(values)), math.log10(max(values))
    spread = max(high - low, 0.1)
    drawn = []
    for number, row in enumerate(rows):
        y = number * _ROW
        middle = y + _TOP + _BAR / 2
        drawn.append(_captions(row.label, row.text, y))
        # Room at both ends, so that a dot is never cut in half.
        at = [2 + 96 * (math.log10(max(part, 10**low)) - low) / spread for part in row.parts]
        drawn.append(f'<line class="rule" x1="0" x2="100%" y1="{middle}" y2="{middle}"/>')
        drawn.append(f'<line class="range" x1="{at[0]:.2f}%" x2="{at[-1]:.2f}%" y1="{middle}" y2="{middle}"/>')
        drawn += [f'<circle class="s{series}" cx="{x:.2f}%" cy="{middle}" r="5"/>' for series, x in enumerate(at)]
    return _svg(name, len(rows) * _ROW, drawn)


def columns(name: str, rows: Sequence[Bar], *, every: int) -> str:
    """Columns from left to right, parts on top of each other; every so many columns carry their label."""
    highest = max((sum(row.parts) for row in rows), default=0)
    if not highest:
        return ""
    width = 100 / len(rows)
    drawn = [
        f'<line class="rule" x1="0" x2="100%" y1="{y}" y2="{y}"/>'
        for y in (_TOP, _TOP + _COLUMNS_HEIGHT / 2, _TOP + _COLUMNS_HEIGHT)
    ]
    drawn.append(f'<text class="dim" x="0" y="14">{highest:,.0f} at most</text>')
    for number, row in enumerate(rows):
        x, bottom = number * width, float(_TOP + _COLUMNS_HEIGHT)
        for series, part in enumerate(row.parts):
            height = max(1.5, _COLUMNS_HEIGHT * part / highest) if part else 0
            bottom -= height
            if part:
                drawn.append(
                    f'<rect class="s{series}" x="{x + width * 0.12:.2f}%" y="{bottom:.1f}" '
                    f'width="{width * 0.76:.2f}%" height="{height:.1f}" rx="1"/>'
                )
        if number % every == 0:
            drawn.append(
                f'<text class="dim mid" x="{x + width / 2:.2f}%" y="{_TOP + _COLUMNS_HEIGHT + 16}">'
                f"{escape(row.label)}</text>"
            )
    return _svg(name, _TOP + _COLUMNS_HEIGHT + _AXIS, drawn)


def _captions(label: str, text: str, y: int) -> str:
    return (
        f'<text x="0" y="{y + 15}">{escape(_short(label, 34))}</text>'
        f'<text class="value" x="100%" y="{y + 15}">{escape(text)}</text>'
    )


def _short(text: str, most: int) -> str:
    """The end of a long name tells more than its start."""
    return text if len(text) <= most else f"…{text[1 - most :]}"


def _percent(part: float, scale: float) -> float:
    """A width that can be seen wherever there is anything."""
    return max(_LEAST_SEEN, 100 * part / scale) if part and scale else 0.0


def _rect(kind: str, x: float, y: float, width: float, height: float) -> str:
    width = min(width, 100 - x)
    return f'<rect class="{kind}" x="{x:.2f}%" y="{y}" width="{max(width, 0):.2f}%" height="{height}" rx="3"/>'


def _svg(name: str, height: float, drawn: Sequence[str]) -> str:
    return f'<svg role="img" aria-label="{escape(name)}" width="100%" height="{height:.0f}">{"".join(drawn)}</svg>'
