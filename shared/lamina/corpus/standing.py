"""Whether a document still holds: what its status says, and what it says replaces it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lamina.corpus.fields import Fields, line
from lamina.corpus.markdown import Heading, plain_text

_NO_LONGER: Final = re.compile(
    r"(?:invalidated|refuted|retracted|super(?:s|c|sc)eded|deprecated|rejected|obsolete|obsoleted|withdrawn|replaced|abandoned)\b",
    re.IGNORECASE,
)
_BY: Final = re.compile(
    r"(?:super(?:s|c|sc)eded|replaced|obsoleted|deprecated(?:\s+and\s+replaced)?)(?:\s+in\s+favou?r\s+of|\s+by)\b[:\s]*(?P<rest>[^\r\n]*)",
    re.IGNORECASE,
)
_LINKED: Final = re.compile(
    r"\[\[(?P<wiki>[^\[\]|\r\n]+)(?:\|[^\[\]\r\n]*)?\]\]|\[[^\[\]\r\n]*\]\(<?(?P<target>[^()<>\r\n]+?)>?\)"
)
_STATUS_LINE: Final = re.compile(
    r"^[ \t]*(?:[-*+>|][ \t]*)*[*_]{0,2}status[*_]{0,2}[ \t]*[:|][*_]{0,2}[ \t]*(?P<status>[^\r\n]+)",
    re.IGNORECASE | re.MULTILINE,
)
_FIELDS: Final = ("supersededby", "supercededby", "replacedby", "obsoletedby")
# A record says how it stands at its beginning.
_OPENING: Final = 2_000


@dataclass(frozen=True, slots=True)
class Successor:
    """What replaces a document, as it is written. `declared`: by an address, so that one that leads nowhere is told."""

    target: str
    declared: bool


def successor_of(fields: Fields, body: str, headings: Sequence[Heading]) -> Successor | None:
    """What the document says replaces it; None where it says nothing of the kind."""
    for name in _FIELDS:
        value = fields.value(name)
        target = next((text for item in (value if isinstance(value, list) else [value]) if (text := line(item))), None)
        if target is not None:
            return Successor(_linked(target) or target, declared=True)
    for status in _statuses(fields, body, headings):
        found = _BY.search(status)
        if found is None or not found["rest"].strip():
            continue
        linked = _linked(found["rest"])
        if linked is not None:
            return Successor(linked, declared=True)
        return Successor(plain_text(found["rest"]).strip(" .;,|)"), declared=False)
    return None


def no_longer_holds(fields: Fields, body: str, headings: Sequence[Heading]) -> bool:
    """Whether it says so itself, by a successor or without."""
    if fields.boolean("invalidated") is True or fields.text("deprecatedby") is not None:
        return True
    return any(_NO_LONGER.match(status.strip(" \t*_~`[")) for status in _statuses(fields, body, headings))


def _statuses(fields: Fields, body: str, headings: Sequence[Heading]) -> list[str]:
    """What is said of the status: in the frontmatter, in a line of the opening, in a section of that name."""
    found = [status] if (status := fields.text("status")) else []
    opening = body[:_OPENING]
    if "tatus" in opening or "STATUS" in opening:
        found += [match["status"] for match in _STATUS_LINE.finditer(opening)]
    section = next((h for h in headings if h.text.strip(" :").casefold() == "status"), None)
    if section is not None:
        lines = body[section.start : section.end].splitlines()[1:][:20]
        found += [text for text in lines if text.strip("-=# \t")]
    return found


def _linked(text: str) -> str | None:
    """The address of the first link in a text."""
    found = _LINKED.search(text)
    return None if found is None else (found["wiki"] or found["target"]).strip()
