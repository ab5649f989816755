"""One description of an action: what it is called, what it takes, what it does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lamina.actions.reading import Reading
from lamina.contract.envelope import Answer
from lamina.contract.request import Request


@dataclass(frozen=True, slots=True)
class Action:
    """Routing, schemas, tools, commands and documentation all derive from this value."""

    name: str
    purpose: str
    request: type[Request]
    run: Callable[[Any, Reading], Answer]
