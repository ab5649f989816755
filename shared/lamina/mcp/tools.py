"""The MCP tools: one for each action that is a tool, those that are no action, and the router older clients call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NoReturn

from lamina.actions import orient
from lamina.actions.action import Action, QueryContext
from lamina.actions.registry import ACTIONS
from lamina.contract.envelope import compact, failure
from lamina.contract.errors import LaminaError, invalid_parameter
from lamina.contract.request import Request
from lamina.contract.schema import Schema, advertised, outlined, request_schema
from lamina.mcp.frames import INVALID_PARAMS, Fields, ProtocolError, Result, Visit, text_of
from lamina.mcp.knowledge import has_workspace, knowledge
from lamina.mcp.tool import Arguments, Told, Tool, lean, wrapped, wrapper_schema
from lamina.runtime.dispatch import dispatch
from lamina.runtime.settings import Settings

LIST_TTL_MS = 300_000
DEFAULT_ROUTER = "oddkit"
# A client names itself when it connects, or in the address.
_TOLD_ELSEWHERE = ("consumer",)
# Words of JSON Schema that some clients refuse, and that a refusal tells where they matter.
_LEFT_OUT = ("minItems", "maxItems", "minLength", "maxLength")
_LISTS = ["search", "catalog", "preflight"]
RETRIEVAL = ("search", "catalog", "preflight", "get", "resolve")


@cache
def tools(settings: Settings) -> Mapping[str, Tool]:
    """The tools of a deployment by name, in the order in which they are listed."""
    actions = {name: action for name, action in ACTIONS.items() if action.is_tool} | {orient.ACTION.name: orient.ACTION}
    made = [_of_action(action, settings.tool_prefix) for action in actions.values()]
    others = [knowledge()] if has_workspace(settings) else []
    return {tool.name: tool for tool in (*made, *others, _router(actions, settings.tool_prefix))}


def tool_names(settings: Settings) -> list[str]:
    """What the tools of the five actions are called in a deployment."""
    return [ACTIONS[name].tool(settings.tool_prefix) for name in RETRIEVAL]


def instructions(settings: Settings) -> str:
    """How to work with the tools of a deployment, for a model that has not seen them."""
    search, catalog, preflight, get, resolve = tool_names(settings)
    return "\n".join(
        (
            f"Find: {search} with a question or an identifier, passage 1 for the text that matched; {catalog} lists.",
            f"Read: {get} with uri and section of a hit, or with about and the question; best_filtered first if named.",
            f"When starting: brief for the pages on a question with URIs to cite, {preflight} for the rules of a task.",
            f"An old address: {resolve} follows it to the document that is in force.",
            "match.signal: strong, the first hit very likely answers; weak, it may; none, the base does not know.",
        )
    )


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


def _of_action(action: Action, prefix: str) -> Tool:
    """The tool of an action, with every parameter described: clients load tools one by one."""

    def call(arguments: Arguments, visit: Visit) -> Told:
        return _told(action, arguments, visit)

    return Tool(
        action.tool(prefix),
        action.purpose,
        _offered(action),
        wrapper_schema(outlined(action.answer)),
        call,
        read_only=action.is_read_only,
    )


def _offered(action: Action) -> Schema:
    """What the tool of an action says that it takes."""
    schema = advertised(request_schema(action.request))
    offered = {name: _slim(entry) for name, entry in schema["properties"].items() if name not in _TOLD_ELSEWHERE}
    if "exclude" in offered:  # its values are those of include
        offered["exclude"] = {**offered["exclude"], "items": {"type": "string"}}
    for name, value in action.tool_defaults.items():
        offered[name] = {**offered[name], "default": value}
    return {
        "type": "object",
        "properties": offered,
        **({"required": schema["required"]} if action.request.main else {}),
    }


def _slim(entry: Schema) -> Schema:
    """A parameter without what goes without saying: a flag is off unless sent, and a count is no negative."""
    slim = {word: value for word, value in entry.items() if word not in _LEFT_OUT and value is not False}
    if slim.get("minimum", 2) <= 1:
        del slim["minimum"]
    if "properties" in slim:
        inner = slim["properties"].items()
        slim["properties"] = {name: {"type": field["type"]} for name, field in inner}
    return slim


def _router(actions: Mapping[str, Action], prefix: str) -> Tool:
    name = prefix.rstrip("_-") or DEFAULT_ROUTER
    unrouted = Action(name, "", Request, _never, {})

    def call(arguments: Arguments, visit: Visit) -> Told:
        asked = arguments.get("action")
        action = actions.get(asked.strip().casefold().replace("_", "-")) if isinstance(asked, str) else None
        if action is None:
            return _refused(unrouted, list(actions), asked, visit)
        taken = action.request.model_fields
        # Clients fill in what a schema offers: what says nothing, and is of another action, is left out. So is
        # `input`, the router's own, which older clients send with every action.
        rest = {
            key: value
            for key, value in arguments.items()
            if key in taken or not (key in ("action", "input") or value in (None, "", []))
        }
        return _told(action, rest, visit)

    purpose = "Any action by its name, for clients that know one tool. Lists are search, catalog, preflight."
    return Tool(name, purpose, _routed(actions), wrapper_schema({"type": "object"}), call)


def _routed(actions: Mapping[str, Action]) -> Schema:
    """What the router takes: the action, its main argument, and the parameters that it passes on, by their actions."""
    of: dict[str, list[str]] = {}
    types: dict[str, Schema] = {}
    for name, action in actions.items():
        for parameter, entry in _offered(action)["properties"].items():
            if parameter != action.request.main:
                of.setdefault(parameter, []).append(name)
                types[parameter] = {word: entry[word] for word in ("type", "items") if word in entry}
                if "items" in entry:
                    types[parameter]["items"] = {"type": entry["items"]["type"]}
    passed = {name: {**types[name], "description": _told_takers(takers, len(actions))} for name, takers in of.items()}
    return {
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": list(actions), "description": "The action."},
            "input": {"type": "string", "description": "Query, task, question or URI."},
            **passed,
        },
        "required": ["action"],
        "additionalProperties": True,
    }


def _told_takers(takers: list[str], actions: int) -> str:
    """The actions that take a parameter, in few words."""
    if len(takers) == actions:
        return "all"
    lists = [name for name in takers if name in _LISTS] == _LISTS
    return ", ".join(["lists"] * lists + [name for name in takers if not (lists and name in _LISTS)])


def _told(action: Action, arguments: Arguments, visit: Visit) -> Told:
    def given() -> Arguments:
        sent = {name: value for name, value in arguments.items() if value is not None}
        return completed({**action.tool_defaults, **sent}, visit)

    reply = dispatch(action, given, visit.caller, visit.runtime, bytes_in=visit.bytes_in)
    text = compact(lean(reply.envelope, _usual_filters(action.request)))
    return wrapped(action.name, reply.envelope, text, reply.retry_after)


@cache
def _usual_filters(request: type[Request]) -> Any:
    """`filters_applied` of a call that sets no filter; None where an action has none."""
    filters = request.of({} if request.main is None else {request.main: "x"}).filters()
    return None if filters is None else filters.echo()


def _refused(unrouted: Action, names: Sequence[str], asked: Any, visit: Visit) -> Told:
    """An action that there is not: recorded like any call, though none was reached."""
    said = f"unknown action {asked[:64]!r}" if isinstance(asked, str) else "action must be given as text"
    error = invalid_parameter("action", f"{said}. The actions are {', '.join(names)}.", actions=list(names))

    def refuse() -> NoReturn:
        raise error

    dispatch(unrouted, refuse, visit.caller, visit.runtime, bytes_in=visit.bytes_in)
    envelope = failure(error, None)
    return wrapped(None, envelope, compact(envelope), None)


def _never(request: Request, context: QueryContext) -> NoReturn:
    raise LaminaError("INTERNAL_ERROR", "No action was reached.")
