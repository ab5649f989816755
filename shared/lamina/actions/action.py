"""One description of an action: what it is called, what it takes, what it does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lamina.actions.reading import Reading
from lamina.contract.envelope import Answer, Envelope
from lamina.contract.errors import LaminaError
from lamina.contract.request import Request
from lamina.contract.schema import Schema, envelope_schema


@dataclass(frozen=True, slots=True)
class Action:
    """Routing, schemas, tools, commands and documentation all derive from this value.

    `is_tool` says whether agents are offered it. `result_schema` is the answer's JSON Schema where it is not
    that of a retrieval. `without_index` answers where there is no snapshot, None leaving the error as it is.
    """

    name: str
    purpose: str
    request: type[Request]
    run: Callable[[Any, Reading], Answer]
    methods: tuple[str, ...] = ("GET", "POST")
    is_tool: bool = True
    result_schema: Schema | None = None
    without_index: Callable[[LaminaError], Envelope | None] = lambda error: None

    def schema(self) -> Schema:
        """JSON Schema of the answer."""
        return self.result_schema or envelope_schema(self.request)
