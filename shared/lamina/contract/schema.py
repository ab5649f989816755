"""Requests and answers as JSON Schema, flat: clients refuse `$ref`, `$defs` and unions at the top."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lamina.contract.envelope import ERROR
from lamina.contract.errors import CATALOGUE
from lamina.contract.request import Request

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
TEXTS: Schema = {"type": "array", "items": TEXT}
COUNT: Schema = {"type": "integer", "minimum": 0}

_BOUNDS = {"ge": "minimum", "le": "maximum"}


@dataclass(frozen=True, slots=True)
class AnswerField:
    """A field of an answer: its JSON Schema, what it means, and whether every answer carries it.

    A field that is made of described fields needs no meaning of its own.
    """

    name: str
    schema: Schema
    meaning: str = ""
    always: bool = True


REVISION = AnswerField("revision", TEXT, "the snapshot that answered; send it back to stay on it")
STALE = AnswerField("stale", {"type": "boolean"}, "true where a newer snapshot may exist but could not be had", False)
LEGACY = AnswerField(
    "legacy",
    {"type": "object", "deprecated": True},
    "only with `include_legacy_envelope`: fields of the legacy shape",
    always=False,
)


def opening(action: str, *statuses: str) -> tuple[AnswerField, AnswerField]:
    """The first two fields of every answer."""
    return (
        AnswerField("status", {"type": "string", "enum": list(statuses)}, "what came of the call"),
        AnswerField("action", {"type": "string", "const": action}, "the action that answered"),
    )


def object_of(*fields: AnswerField) -> Schema:
    """An object with these fields and no others."""
    described = ((field, {"description": field.meaning} if field.meaning else {}) for field in fields)
    return {
        "type": "object",
        "properties": {field.name: {**field.schema, **description} for field, description in described},
        "required": [field.name for field in fields if field.always],
        "additionalProperties": False,
    }


def list_of(items: Schema) -> Schema:
    """A list of such values."""
    return {"type": "array", "items": items}


def nullable(schema: Schema) -> Schema:
    """The same, or null."""
    return {**schema, "type": [schema["type"], "null"]}


def request_schema(model: type[Request]) -> Schema:
    """What an action takes: every parameter with its default, bounds and values, the main argument required."""
    schema = model.model_json_schema()
    definitions = schema.pop("$defs", {})
    properties = {name: _flat(parameter, definitions) for name, parameter in schema["properties"].items()}
    required: Schema = {}
    if model.main is not None:
        given = {word: value for word, value in properties[model.main].items() if word != "default"}
        properties[model.main] = {**given, "minLength": 1}
        required = {"required": [model.main]}
    return {"type": "object", "properties": properties, **required, "additionalProperties": False}


def advertised(schema: Schema) -> Schema:
    """A request without its deprecated parameters, which are taken and no longer offered."""
    offered = {name: each for name, each in schema["properties"].items() if not each.get("deprecated")}
    return {**schema, "properties": offered}


def outlined(schema: Schema, levels: int = 2) -> Schema:
    """The types of an answer's fields without what they mean: clients make types of it, and pay for it.

    Objects so many levels deep are told by their fields, those below as objects, and of lists those of objects.
    """
    told: Schema = {"type": schema["type"]}
    if "properties" in schema and levels:
        told["properties"] = {name: outlined(field, levels - 1) for name, field in schema["properties"].items()}
    if "items" in schema and "properties" in schema["items"]:
        told["items"] = outlined(schema["items"], levels)
    return told


def error_schema() -> Schema:
    """A failure; beside these, each code carries what its row of the catalogue says."""
    return {
        "type": "object",
        "properties": {
            "status": {"type": "string", "const": ERROR},
            "error_code": {"type": "string", "enum": list(CATALOGUE)},
            "error_message": {"type": "string"},
            "action": {"type": ["string", "null"]},
        },
        "required": ["status", "error_code", "error_message", "action"],
    }


def _flat(schema: Schema, definitions: Schema) -> Schema:
    """A property without references and without its null alternative: absent says the same."""
    if "anyOf" in schema:
        first = next(option for option in schema["anyOf"] if option.get("type") != "null")
        schema = {**first, **{name: value for name, value in schema.items() if name != "anyOf"}}
    if "$ref" in schema:
        named = definitions[schema["$ref"].rsplit("/", 1)[-1]]
        schema = {**named, "description": "", **{n: v for n, v in schema.items() if n != "$ref"}}
    if schema.get("default", 0) is None:
        schema = {name: value for name, value in schema.items() if name != "default"}
    # A bound beside a null alternative comes under its Python name, which no client knows.
    return {_BOUNDS.get(name, name): value for name, value in schema.items() if name != "title"}
