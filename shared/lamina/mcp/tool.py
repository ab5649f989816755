"""What an MCP tool is, and the wrapper that every tool answers in."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from lamina.contract.envelope import ERROR
from lamina.contract.schema import Schema
from lamina.mcp.frames import Fields, Visit

Arguments = Mapping[str, Any]
# No word was unmatched, and pages in other words were not wanted or there are none.
_NOTHING_OF_A_MATCH: Final[tuple[Any, ...]] = ([], "not_needed", "none")


@dataclass(frozen=True, slots=True)
class Told:
    """What a tool answers: the wrapper as JSON text and, where it fits the tool's schema, as a value."""

    text: str
    structured: Fields | None
    is_error: bool
    retry_after: int | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool as it is listed, and what calling it does."""

    name: str
    description: str
    input_schema: Schema
    output_schema: Schema
    call: Callable[[Arguments, Visit], Told]
    read_only: bool = True

    def listed(self) -> Fields:
        """The entry in `tools/list`. What writes here can be called again and destroys nothing."""
        hints = {"readOnlyHint": self.read_only, "idempotentHint": True}
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": self.input_schema,
            "outputSchema": self.output_schema,
            "annotations": hints if self.read_only else {**hints, "destructiveHint": False},
        }


def wrapped(action: str | None, result: Fields, text: str, retry_after: int | None = None) -> Told:
    """The wrapper around an envelope, as a value and, with the JSON text that stands for the envelope, as text."""
    source = result.get("governance_source")
    written = f'{{"action":{json.dumps(action)},"result":{text},"governance_source":{json.dumps(source)}}}'
    if result.get("status") == ERROR:
        return Told(written, None, is_error=True, retry_after=retry_after)
    structured = {"action": action, "result": result, "governance_source": source}
    return Told(written, structured, is_error=result.get("ok") is False, retry_after=retry_after)


def lean(envelope: Fields, usual_filters: Any) -> Fields:
    """The envelope without what tells a model nothing: the page that it asked for, and what is empty or as usual."""
    says_nothing: Fields = {"disclosure_applied": [], "filters_applied": usual_filters, "filtered_out": 0}
    told = {
        name: value
        for name, value in envelope.items()
        if name not in ("limit", "offset") and (name not in says_nothing or value != says_nothing[name])
    }
    if "match" in told:
        match = told["match"].items()
        told["match"] = {name: value for name, value in match if name == "signal" or value not in _NOTHING_OF_A_MATCH}
    return told


def wrapper_schema(result: Schema) -> Schema:
    """The schema of the wrapper around a result."""
    return {
        "type": "object",
        "properties": {
            "action": {"type": "string"},
            "result": result,
            "governance_source": {"type": ["string", "null"]},
        },
    }
