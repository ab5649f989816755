"""One description of an action: what it is called on each transport, what it takes, does and answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import partial
from typing import Any

from lamina.contract.disclosure import Flag
from lamina.contract.envelope import Answer, Envelope
from lamina.contract.errors import LaminaError
from lamina.contract.request import Request
from lamina.contract.schema import Schema
from lamina.index.snapshot import Snapshot
from lamina.ranking.meaning import FOLLOWING, Meaning
from lamina.ranking.scope import Scopes
from lamina.ranking.titles import Names


@dataclass(frozen=True, slots=True)
class QueryContext:
    """What an action is given to work with: a snapshot with its scopes, and the knowledge base that was asked for.

    `stale` says that a newer snapshot may exist but could not be had; a page counts that word in its budget.
    `encode` gives the vector of a text by the encoder of a name; None where that is not here or does not answer.
    """

    scopes: Scopes
    knowledge_base: str | None = None
    stale: bool = False
    encode: Callable[[str, str], bytes | None] = lambda encoder, text: None

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot that answers."""
        return self.scopes.snapshot

    @property
    def names(self) -> Names:
        """What the documents are called, for a query that is the whole name of one."""
        return Names(self.snapshot.titles.__getitem__, self.snapshot.aliased)

    @property
    def meaning(self) -> Meaning | None:
        """What a ranking asks where words fail; None where the index is to have no vectors."""
        encoder = self.snapshot.encoder
        if encoder is None:
            return None
        if self.snapshot.revision.vectors is None:
            return FOLLOWING
        return Meaning(self.scopes.vectors, partial(self.encode, encoder), "unavailable")


class Cached(Enum):
    """Who may keep the answer to a GET."""

    BY_ALL = auto()
    BY_THE_CALLER = auto()
    BY_NOBODY = auto()


@dataclass(frozen=True, slots=True)
class Action:
    """Routing, schemas, tools, commands, documentation and what a function may touch all derive from this value.

    `answer` is the JSON Schema of the answer, with what each field means; `cached` says who may keep an envelope.
    `without_index` answers where there is no snapshot, None leaving the error as it is. `is_tool` says whether
    agents are offered the action, `takes_prefix` whether its tool's name begins with the deployment's prefix, and
    `is_read_only` what the tool tells clients of itself; `tool_defaults` hold for the tool alone. `aliases` are
    further names of its command. `keeps_receipts` says that it can leave a receipt, `encodes_queries` that it asks in
    other words where words fail.
    """

    name: str
    purpose: str
    request: type[Request]
    run: Callable[[Any, QueryContext], Answer]
    answer: Schema
    methods: tuple[str, ...] = ("GET", "POST")
    cached: Callable[[Envelope], Cached] = lambda envelope: Cached.BY_NOBODY
    without_index: Callable[[LaminaError], Envelope | None] = lambda error: None
    is_tool: bool = True
    takes_prefix: bool = True
    is_read_only: bool = True
    tool_defaults: Mapping[str, Any] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    keeps_receipts: bool = False
    encodes_queries: bool = False

    def tool(self, prefix: str) -> str:
        """The name of its MCP tool in a deployment."""
        return f"{prefix}{self.function}" if self.takes_prefix else self.function

    @property
    def reads_bodies(self) -> bool:
        """Whether it discloses bodies or passages of them, which are counted for each caller."""
        return Flag.BODY in self.request.permitted or "passage" in self.request.model_fields

    @property
    def function(self) -> str:
        """The name of its folder under `functions/`."""
        return self.name.replace("-", "_")
