"""Dates as people write them: which forms are read, what they become, and how they order in time."""

from __future__ import annotations

import datetime as dt
import re
from email.utils import parsedate_to_datetime
from typing import Final

_MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            ("january", "jan"),
            ("february", "feb"),
            ("march", "mar"),
            ("april", "apr"),
            ("may",),
            ("june", "jun"),
            ("july", "jul"),
            ("august", "aug"),
            ("september", "sept", "sep"),
            ("october", "oct"),
            ("november", "nov"),
            ("december", "dec"),
        ),
        start=1,
    )
    for name in names
}
_LONGEST: Final = 64
_CLOCK: Final = r"(?:[T ,]\s*(?P<clock>\d{1,2}:\d{2}.*))?"
_FORMS: Final = tuple(
    re.compile(form + _CLOCK)
    for form in (
        r"(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})",
        r"(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})",
        r"(?P<year>\d{4})年(?P<month>\d{1,2})月(?P<day>\d{1,2})日",
        r"(?P<day>\d{1,2})\.\s?(?P<month>\d{1,2})\.\s?(?P<year>\d{4})",
        r"(?:[A-Za-z]{3,9},?\s+)?(?P<name>[A-Za-z]{3,9})\.?\s+(?P<day>\d{1,2})(?:st|nd|rd|th)?,?\s+(?P<year>\d{4})",
        r"(?:[A-Za-z]{3,9},?\s+)?(?P<day>\d{1,2})(?:st|nd|rd|th)?[\s-]+(?P<name>[A-Za-z]{3,9})\.?,?[\s-]+(?P<year>\d{4})",
        r"(?P<first>\d{1,2})[/-](?P<second>\d{1,2})[/-](?P<year>\d{4})",
    )
)
_COARSE: Final = (
    re.compile(r"(?P<year>\d{4})(?:[-/](?P<month>\d{1,2}))?"),
    re.compile(r"(?P<name>[A-Za-z]{3,9})\.?,?\s+(?P<year>\d{4})"),
)
_TIME: Final = re.compile(
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?P<fraction>[.,]\d+)?)?"
    r"\s*(?P<half>[AaPp]\.?[Mm]\.?)?\s*(?P<zone>Z|z|UTC|GMT|[+-]\d{2}(?::?\d{2})?)?(?:(?<=\d)\s+(?:UTC|GMT))?"
)


def iso_date(text: str) -> str | None:
    """A date, or a date with a time, in ISO 8601, as exact as it was written; None for what is no date or two."""
    text = " ".join(text.split())
    if not 4 <= len(text) <= _LONGEST:
        return None
    try:
        return _coarse(text) or _whole(text) or _mailed(text)
    except (ValueError, OverflowError):
        return None


def instant(iso: str) -> str:
    """What orders ISO dates in time: the moment in UTC. A date alone is its first moment, without a zone UTC."""
    if len(iso) < len("2024-01-01"):
        iso = f"{iso}-01-01"[: len("2024-01-01")]
    moment = dt.datetime.fromisoformat(iso)
    if moment.tzinfo is not None:
        try:
            moment = moment.astimezone(dt.UTC).replace(tzinfo=None)
        except OverflowError:  # the first or last day of all
            moment = moment.replace(tzinfo=None)
    return moment.isoformat()


def _coarse(text: str) -> str | None:
    """A year, or a year and a month."""
    for form in _COARSE:
        if (found := form.fullmatch(text)) is None:
            continue
        parts = found.groupdict()
        year = dt.date(int(parts["year"]), 1, 1)
        month = _MONTHS[name] if (name := (parts.get("name") or "").lower()) in _MONTHS else parts.get("month")
        if month is None:
            return None if name else f"{year.year:04}"
        return f"{year.replace(month=int(month)).isoformat()[:7]}"
    return None


def _whole(text: str) -> str | None:
    for form in _FORMS:
        found = form.fullmatch(text)
        if found is not None and (day := _day(found.groupdict())) is not None:
            clock = found["clock"]
            return day.isoformat() if clock is None else _with_time(day, clock)
    return None


def _day(parts: dict[str, str | None]) -> dt.date | None:
    """The day that the parts name; None where they name two days, or a month that there is not."""
    year = int(parts["year"] or 0)
    if (first := parts.get("first")) is not None:
        entry, two = int(first), int(parts["second"] or 0)
        if entry == two or entry > 12:
            return dt.date(year, two, entry)
        # 05/04 is the fifth of April to some and the fourth of May to others.
        return dt.date(year, entry, two) if two > 12 else None
    name = parts.get("name")
    month = int(parts["month"] or 0) if name is None else _MONTHS.get(name.lower(), 0)
    return dt.date(year, month, int(parts["day"] or 0)) if month else None


def _with_time(day: dt.date, clock: str) -> str | None:
    found = _TIME.fullmatch(clock.strip())
    if found is None:
        return None
    hour, half = int(found["hour"]), (found["half"] or "").replace(".", "").lower()
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    second, fraction = found["second"] or "0", (found["fraction"] or "").replace(",", ".")
    # ISO 8601 lets a day end at 24:00.
    ends = hour == 24 and int(found["minute"]) == 0 and int(second) == 0
    moment = dt.datetime(day.year, day.month, day.day, 0 if ends else hour, int(found["minute"]), int(second))
    moment += dt.timedelta(
        days=1 if ends else 0, microseconds=int(float(f"0{fraction}") * 1_000_000) if fraction else 0
    )
    return moment.isoformat() + _zone(found["zone"])


def _zone(zone: str | None) -> str:
    if zone is None:
        return ""
    if zone.isalpha():
        return "+00:00"
    digits = zone[1:].replace(":", "").ljust(4, "0")
    if int(digits[:2]) > 23 or int(digits[2:]) > 59:
        raise ValueError("no such zone")
    return f"{zone[0]}{digits[:2]}:{digits[2:]}"


def _mailed(text: str) -> str | None:
    """The form of mail and feeds: Mon, 05 Feb 2024 10:00:00 +0100."""
    if ":" not in text:
        return None
    try:
        return parsedate_to_datetime(text).isoformat()
    except (ValueError, TypeError, IndexError):
        return None
