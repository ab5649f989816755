"""The MCP tools: one for each action that is a tool, those that are no action, and the router older clients call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NoReturn

from lamina.actions.action import Action, QueryContext
from lamina.actions.parameters import DESCRIBED_IN_EVERY_TOOL
from lamina.actions.registry import ACTIONS
from lamina.contract.envelope import compact, failure
from lamina.contract.errors import LaminaError, invalid_parameter
from lamina.contract.request import Request
from lamina.contract.schema import Schema, request_schema
from lamina.mcp.frames import INVALID_PARAMS, Fields, ProtocolError, Result, Visit, text_of
from lamina.mcp.knowledge import has_workspace, knowledge
from lamina.mcp.tool import Arguments, Told, Tool, wrapped, wrapper_schema
from lamina.runtime.dispatch import dispatch
from lamina.runtime.settings import Settings

LIST_TTL_MS = 300_000
DEFAULT_ROUTER = "oddkit"

_OUTLINE = ("type", "enum")


@cache
def tools(settings: Settings) -> Mapping[str, Tool]:
    """The tools of a deployment by name, in the order in which they are listed."""
    actions = {name: action for name, action in ACTIONS.items() if action.is_tool}
    described: dict[str, tuple[str, str]] = {}
    made = [_of_action(action, settings.tool_prefix, described) for action in actions.values()]
    others = [knowledge()] if has_workspace(settings) else []
    return {tool.name: tool for tool in (*made, *others, _router(actions, settings.tool_prefix))}


def list_tools(params: Arguments, visit: Visit) -> Result:
    """`tools/list`, in one page."""
    if params.get("cursor") is not None:
        raise ProtocolError(INVALID_PARAMS, "Invalid cursor: the tools are listed in one page")
    listed = [tool.listed() for tool in tools(visit.runtime.settings).values()]
    return Result({"tools": listed}, LIST_TTL_MS)


def call_tool(params: Arguments, visit: Visit) -> Result:
    """`tools/call`. Whatever goes wrong inside a tool is a result with `isError`, which the model can read."""
    name = text_of(params, "name")
    arguments = params.get("arguments")
    if arguments is not None and not isinstance(arguments, dict):
        raise ProtocolError(INVALID_PARAMS, "arguments must be an object")
    known = tools(visit.runtime.settings)
    tool = known.get(name)
    if tool is None:
        raise ProtocolError(INVALID_PARAMS, f"Unknown tool: {name[:64]}. There are {', '.join(known)}.")
    told = tool.call(arguments or {}, visit)
    fields: Fields = {"content": [{"type": "text", "text": told.text}]}
    if told.structured is not None:
        fields["structuredContent"] = told.structured
    return Result({**fields, "isError": told.is_error}, retry_after=told.retry_after)


def completed(arguments: Arguments, visit: Visit) -> dict[str, Any]:
    """The arguments of an action, with what the address of the endpoint says where they are silent."""
    given = dict(arguments)
    for name, value in (("knowledge_base_url", visit.knowledge_base), ("consumer", visit.consumer)):
        if value is not None and given.get(name) is None:
            given[name] = value
    return given


def _of_action(action: Action, prefix: str, described: dict[str, tuple[str, str]]) -> Tool:
    """The tool of an action. `described` holds the parameters told so far: description and tool by name."""
    name = action.tool(prefix)
    schema = request_schema(action.request)
    properties, elsewhere = {}, set()
    # A parameter is described in the first tool that takes it, to keep the list of tools cheap.
    for key, parameter in schema["properties"].items():
        text, first = described.setdefault(key, (parameter.get("description", ""), name))
        is_told_once = DESCRIBED_IN_EVERY_TOOL not in action.request.model_fields[key].metadata
        if is_told_once and text == parameter.get("description") and first != name:
            properties[key] = {word: value for word, value in parameter.items() if word != "description"}
            elsewhere.add(first)
        else:
            properties[key] = parameter
    hint = f" Parameters without a description: see {', '.join(sorted(elsewhere))}." if elsewhere else ""

    def call(arguments: Arguments, visit: Visit) -> Told:
        return _told(action, lambda: completed(arguments, visit), visit)

    return Tool(
        name,
        action.purpose + hint,
        {**schema, "properties": properties},
        wrapper_schema(_outline(action)),
        call,
        read_only=action.is_read_only,
    )


def _router(actions: Mapping[str, Action], prefix: str) -> Tool:
    name = prefix.rstrip("_-") or DEFAULT_ROUTER
    unrouted = Action(name, "", Request, _never, {})

    def call(arguments: Arguments, visit: Visit) -> Told:
        asked = arguments.get("action")
        action = actions.get(asked) if isinstance(asked, str) else None
        if action is None:
            return _refused(unrouted, list(actions), asked, visit)
        taken = action.request.model_fields
        # Clients fill in what a schema offers: what says nothing, and is of another action, is left out. So is
        # `input`, the router's own, which older clients send with every action.
        rest = {
            key: value
            for key, value in arguments.items()
            if key in taken or not (key in ("action", "input") or value in (None, ""))
        }
        return _told(action, lambda: completed(rest, visit), visit)

    # The tools of the actions carry their parameters; a second copy of them all would cost as much as two tools.
    schema: Schema = {
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": list(actions)},
            "input": {"type": "string", "description": "Query, task, question or URI."},
        },
        "required": ["action"],
        "additionalProperties": True,
    }
    purpose = "Any of the actions by its name, with the parameters of its own tool."
    return Tool(name, purpose, schema, wrapper_schema({"type": "object"}), call)


def _told(action: Action, arguments: Callable[[], Arguments], visit: Visit) -> Told:
    reply = dispatch(action, arguments, visit.caller, visit.runtime, bytes_in=visit.bytes_in)
    return wrapped(action.name, reply.envelope, reply.text, reply.retry_after)


def _refused(unrouted: Action, names: Sequence[str], asked: Any, visit: Visit) -> Told:
    """An action that there is not: recorded like any call, though none was reached."""
    said = f"unknown action {asked[:64]!r}" if isinstance(asked, str) else "action must be given as text"
    error = invalid_parameter("action", f"{said}. The actions are {', '.join(names)}.", actions=list(names))

    def refuse() -> NoReturn:
        raise error

    dispatch(unrouted, refuse, visit.caller, visit.runtime, bytes_in=visit.bytes_in)
    envelope = failure(error, None)
    return wrapped(None, envelope, compact(envelope), None)


def _outline(action: Action) -> Schema:
    """The first things about an action's answer: more would cost a caller more than it tells."""
    properties = action.answer["properties"]
    outline = {
        name: {word: properties[name][word] for word in _OUTLINE if word in properties[name]}
        for name in ("status", "data")
        if name in properties
    }
    return {"type": "object", "properties": outline, "required": list(outline)}


def _never(request: Request, context: QueryContext) -> NoReturn:
    raise LaminaError("INTERNAL_ERROR", "No action was reached.")
