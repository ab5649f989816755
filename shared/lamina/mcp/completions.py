"""MCP completions: what an argument may be, from the documents, tags and knowledge bases that there are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from lamina.contract.errors import LaminaError
from lamina.contract.request import SearchScope
from lamina.index.snapshot import Snapshot
from lamina.mcp.frames import INTERNAL_ERROR, INVALID_PARAMS, ProtocolError, Result, Visit
from lamina.runtime.catalogue import index_name

MOST_VALUES = 100
_REFERENCES = ("ref/prompt", "ref/resource")


def complete(params: Mapping[str, Any], visit: Visit) -> Result:
    """`completion/complete` for `uri`, `tags` and `knowledge_base_url`; nothing for any other argument."""
    reference, argument = params.get("ref"), params.get("argument")
    if not isinstance(reference, dict) or reference.get("type") not in _REFERENCES:
        raise ProtocolError(INVALID_PARAMS, f"ref must be an object of type {' or '.join(_REFERENCES)}")
    if not isinstance(argument, dict) or not all(isinstance(argument.get(key), str) for key in ("name", "value")):
        raise ProtocolError(INVALID_PARAMS, "argument must be an object with name and value as text")
    name, begun = argument["name"], argument["value"].casefold()
    if name == "knowledge_base_url":
        named = [base.name for base in visit.runtime.allow.named if visit.caller.has_key or not base.private]
        return _told(begun, named)
    if name not in ("uri", "tags"):
        return _told(begun, ())
    try:
        snapshot, searched = _searched(visit)
    except LaminaError as error:
        code = INTERNAL_ERROR if error.kind.is_server_fault else INVALID_PARAMS
        raise ProtocolError(code, error.message) from error
    numbers = np.flatnonzero(searched)
    if name == "uri":
        return _told(begun, (snapshot.uris[number] for number in numbers))
    return _told(begun, sorted({tag for number in numbers for tag in snapshot.tags[number]}))


def _searched(visit: Visit) -> tuple[Snapshot, Any]:
    """The snapshot that a call over this address would search, and which of its documents."""
    runtime = visit.runtime
    knowledge_base = runtime.allowed(visit.knowledge_base, has_key=visit.caller.has_key)
    name = index_name(None if knowledge_base is None else knowledge_base.name)
    runtime.note_address(name, knowledge_base)
    scopes = runtime.warm.current(name).scopes
    return scopes.snapshot, scopes[SearchScope.MERGED].searched


def _told(begun: str, values: Iterable[str]) -> Result:
    """The values that begin so first, then those that hold it."""
    holding = [value for value in values if begun in value.casefold()]
    holding.sort(key=lambda value: not value.casefold().startswith(begun))
    shown = holding[:MOST_VALUES]
    return Result({"completion": {"values": shown, "total": len(holding), "hasMore": len(holding) > len(shown)}})
