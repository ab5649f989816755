"""The MCP tools: one for each action that is a tool, those that are no action, and the router older clients call."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NoReturn

from lamina.actions.action import Action
from lamina.actions.reading import Reading
from lamina.actions.registry import ACTIONS
from lamina.contract.envelope import ERROR, Envelope, compact, failure
from lamina.contract.errors import LaminaError, invalid_parameter
from lamina.contract.request import Request
from lamina.contract.schema import Schema, request_schema
from lamina.runtime.dispatch import dispatch
from lamina.runtime.mcp_frames import INVALID_PARAMS, Fields, ProtocolError, Result, Visit, text_of

LIST_TTL_MS = 300_000
DEFAULT_ROUTER = "oddkit"

# The names that callers knew before the tools of later actions came without a prefix.
_PREFIXED = ("search", "catalog", "preflight", "get", "resolve")
# A parameter is described where it first appears, to keep the list of tools cheap; but these are described in
# each tool, since only the description tells their caps and defaults.
_ALWAYS_DESCRIBED = ("limit", "include", "search_scope", "result_grouping")
_OUTLINE = ("type", "enum")
_KEYWORDS = {"ge": "minimum", "le": "maximum"}

Arguments = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Told:
    """What a tool answers: the wrapper as JSON text and as a value, the value None where it is an error."""

    text: str
    structured: Fields | None
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
    idempotent: bool = True

    def listed(self) -> Fields:
        """The entry in `tools/list`."""
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": self.input_schema,
            "outputSchema": self.output_schema,
            "annotations": {"readOnlyHint": self.read_only, "idempotentHint": self.idempotent},
        }


# Tools that are no retrieval action and answer in a shape of their own.
OTHERS: tuple[Tool, ...] = ()


@cache
def tools(prefix: str) -> Mapping[str, Tool]:
    """The tools by name, in the order in which they are listed."""
    actions = {name: action for name, action in ACTIONS.items() if action.is_tool}
    described: dict[str, tuple[str, str]] = {}
    made = [_of_action(action, prefix, described) for action in actions.values()]
    return {tool.name: tool for tool in (*made, *OTHERS, _router(actions, prefix))}


def list_tools(params: Arguments, visit: Visit) -> Result:
    """`tools/list`, in one page."""
    if params.get("cursor") is not None:
        raise ProtocolError(INVALID_PARAMS, "Invalid cursor: the tools are listed in one page")
    listed = [tool.listed() for tool in tools(visit.runtime.settings.tool_prefix).values()]
    return Result({"tools": listed}, LIST_TTL_MS)


def call_tool(params: Arguments, visit: Visit) -> Result:
    """`tools/call`. Whatever goes wrong inside a tool is a result with `isError`, which the model can read."""
    name = text_of(params, "name")
    arguments = params.get("arguments")
    if arguments is not None and not isinstance(arguments, dict):
        raise ProtocolError(INVALID_PARAMS, "arguments must be an object")
    tool = tools(visit.runtime.settings.tool_prefix).get(name)
    if tool is None:
        raise ProtocolError(INVALID_PARAMS, f"Unknown tool: {name[:64]}")
    told = tool.call(arguments or {}, visit)
    fields: Fields = {"content": [{"type": "text", "text": told.text}]}
    if told.structured is not None:
        fields["structuredContent"] = told.structured
    return Result({**fields, "isError": told.structured is None}, retry_after=told.retry_after)


def completed(arguments: Arguments, visit: Visit) -> dict[str, Any]:
    """The arguments of an action, with what the door's address says where they are silent."""
    given = dict(arguments)
    for name, value in (("knowledge_base_url", visit.knowledge_base), ("consumer", visit.consumer)):
        if value is not None and given.get(name) is None:
            given[name] = value
    return given


def _of_action(action: Action, prefix: str, described: dict[str, tuple[str, str]]) -> Tool:
    """The tool of an action. `described` holds the parameters told so far: description and tool by name."""
    name = f"{prefix}{action.name}" if action.name in _PREFIXED else action.name
    schema = request_schema(action.request)
    properties, elsewhere = {}, set()
    for key, one in schema["properties"].items():
        text, first = described.setdefault(key, (one.get("description", ""), name))
        properties[key] = _plain(one)
        if text == one.get("description") and first != name and key not in _ALWAYS_DESCRIBED:
            del properties[key]["description"]
            elsewhere.add(first)
    hint = f" Parameters without a description: see {', '.join(sorted(elsewhere))}." if elsewhere else ""

    def call(arguments: Arguments, visit: Visit) -> Told:
        return _told(action, lambda: completed(arguments, visit), visit)

    return Tool(name, action.purpose + hint, {**schema, "properties": properties}, _wrapper(action), call)


def _router(actions: Mapping[str, Action], prefix: str) -> Tool:
    name = prefix.rstrip("_-") or DEFAULT_ROUTER
    unrouted = Action(name, "", Request, _never)

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

    purpose = "Any of the actions by its name, with the parameters of its own tool."
    return Tool(name, purpose, _any_of(actions), _wrapper(None), call)


def _any_of(actions: Mapping[str, Action]) -> Schema:
    """The parameters of all actions in one flat schema, each as far as the actions agree on it."""
    properties: dict[str, Schema] = {
        "action": {"type": "string", "enum": list(actions)},
        "input": {"type": "string", "description": "Query, task or URI."},
    }
    for action in actions.values():
        for key, one in request_schema(action.request)["properties"].items():
            bare = {word: value for word, value in _plain(one).items() if word != "description"}
            if key != "input":
                properties[key] = _common(properties[key], bare) if key in properties else bare
    return {"type": "object", "properties": properties, "required": ["action"], "additionalProperties": False}


def _told(action: Action, arguments: Callable[[], Arguments], visit: Visit) -> Told:
    reply = dispatch(action, arguments, visit.caller, visit.runtime, bytes_in=visit.bytes_in)
    return _wrapped(action.name, reply.envelope, reply.text, reply.retry_after)


def _refused(unrouted: Action, names: Sequence[str], asked: Any, visit: Visit) -> Told:
    """An action that there is not: recorded like any call, though none was reached."""
    said = f"unknown action {asked[:64]!r}" if isinstance(asked, str) else "action must be given as text"
    error = invalid_parameter("action", f"{said}. The actions are {', '.join(names)}.", actions=list(names))

    def refuse() -> NoReturn:
        raise error

    dispatch(unrouted, refuse, visit.caller, visit.runtime, bytes_in=visit.bytes_in)
    envelope = failure(error, None)
    return _wrapped(None, envelope, compact(envelope), None)


def _wrapped(action: str | None, envelope: Envelope, text: str, retry_after: int | None) -> Told:
    """The wrapper around an envelope; in the text the envelope is, byte for byte, what HTTP answers."""
    source = envelope.get("governance_source")
    written = f'{{"action":{json.dumps(action)},"result":{text},"governance_source":{json.dumps(source)}}}'
    if envelope["status"] == ERROR:
        return Told(written, None, retry_after)
    return Told(written, {"action": action, "result": envelope, "governance_source": source}, retry_after)


def _wrapper(action: Action | None) -> Schema:
    """The schema of the wrapper, with the outline of the action's own answer."""
    answer: Schema = {"type": "object"}
    if action is not None:
        properties = action.schema()["properties"]
        outline = {
            name: {word: properties[name][word] for word in _OUTLINE if word in properties[name]}
            for name in ("status", "data")
            if name in properties
        }
        answer |= {"properties": outline, "required": list(outline)}
    return {
        "type": "object",
        "properties": {
            "action": {"type": "string"},
            "result": answer,
            "governance_source": {"type": ["string", "null"]},
        },
        "required": ["action", "result", "governance_source"],
    }


def _plain(schema: Schema) -> Schema:
    """A parameter in the words of JSON Schema: pydantic tells the bounds of an optional number in its own."""
    return {_KEYWORDS.get(word, word): value for word, value in schema.items()}


def _common(one: Schema, other: Schema) -> Schema:
    """What two actions say alike of a parameter, with the values of both."""
    both = {word: value for word, value in one.items() if other.get(word) == value}
    if "items" in one and "items" in other and "items" not in both:
        values = [*one["items"].get("enum", ()), *other["items"].get("enum", ())]
        both["items"] = {"type": one["items"]["type"], "enum": list(dict.fromkeys(values))}
    return both


def _never(request: Request, reading: Reading) -> NoReturn:
    raise LaminaError("INTERNAL_ERROR", "No action was reached.")
