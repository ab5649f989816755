"""The MCP tool `knowledge`: the knowledge process contract, with the authority of an agent."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

from lamina.contract.envelope import compact, failure
from lamina.contract.errors import LaminaError
from lamina.contract.schema import Schema
from lamina.mcp.frames import Visit
from lamina.mcp.tool import Arguments, Told, Tool, wrapped, wrapper_schema
from lamina.runtime.settings import Settings

if TYPE_CHECKING:
    from lamina.knowledge.service import KnowledgeService

logger = logging.getLogger(__name__)

NAME = "knowledge"
_ROOT_VARIABLE = "KNOWLEDGE_ROOT"
_RESPONSE: Schema = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}, "result": {"type": ["object", "null"]}},
    "required": ["ok", "result"],
}


def has_workspace(settings: Settings) -> bool:
    """Whether there is a workspace: on one's own machine always, on AWS where its root is named."""
    return settings.data is not None or bool(os.environ.get(_ROOT_VARIABLE))


def knowledge() -> Tool:
    """The tool. A response that refuses is an error and still a value of its schema."""
    from lamina.runtime.knowledge import TOOL_PURPOSE, TOOL_SCHEMA  # 30 ms that a deployment without it saves

    return Tool(NAME, TOOL_PURPOSE, TOOL_SCHEMA, wrapper_schema(_RESPONSE), _call, read_only=False)


def _call(arguments: Arguments, visit: Visit) -> Told:
    from lamina.runtime.knowledge import knowledge_tool

    try:
        response = knowledge_tool(arguments, visit.caller, visit.runtime, _service())
    except LaminaError as error:
        envelope = failure(error, NAME)
        return wrapped(NAME, envelope, compact(envelope), error.retry_after)
    return wrapped(NAME, response, compact(response))


def _service() -> KnowledgeService:
    """The service of this process. Raises INTERNAL_ERROR where its workspace is not set up as it must be."""
    from lamina.runtime.knowledge_wiring import wire_knowledge

    try:
        return wire_knowledge()
    except ValueError as error:
        logger.error("the knowledge workspace cannot be opened: %s", error)
        raise LaminaError("INTERNAL_ERROR", "The workspace cannot be opened. Tell the operator.") from error
