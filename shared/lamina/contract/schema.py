"""Requests and answers as JSON Schema, flat: clients refuse `$ref`, `$defs` and unions at the top."""

from __future__ import annotations

from typing import Any

from lamina.contract.envelope import CIRCULAR_SUPERSESSION, ERROR, FOUND, NOT_FOUND
from lamina.contract.errors import CATALOGUE
from lamina.contract.request import DocumentRequest, RankedRequest, Request

Schema = dict[str, Any]

_STRINGS: Schema = {"type": "array", "items": {"type": "string"}}


def request_schema(model: type[Request]) -> Schema:
    """What an action takes: every parameter with its default, bounds and values."""
    schema = model.model_json_schema()
    definitions = schema.pop("$defs", {})
    properties = {name: _flat(one, definitions) for name, one in schema["properties"].items()}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def entry_schema(model: type[Request]) -> Schema:
    """One document of an answer: the floor, what the action adds, and the tiers that flags buy."""
    properties: Schema = {
        "uri": {"type": "string"},
        "title": {"type": "string"},
        "source": {"type": "string", "enum": ["overlay", "baseline", "bundled"]},
    }
    properties.update(_NATIVE.get(model.action, {}))
    tiers = {
        "blockquote": {"type": ["string", "null"]},
        "metadata": {"type": ["object", "null"]},
        "summary": {"type": ["string", "null"]},
        "body": {"type": "string"},
    }
    properties.update({str(flag): tiers[flag] for flag in model.permitted})
    if not issubclass(model, DocumentRequest):
        properties["omitted_flags"] = _STRINGS
    required = ["uri", "title", *_NATIVE.get(model.action, {})]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def envelope_schema(model: type[Request]) -> Schema:
    """The answer of an action, absence included, failure not."""
    entry = entry_schema(model)
    if issubclass(model, DocumentRequest):
        return _document_envelope(model, entry)
    integer: Schema = {"type": "integer", "minimum": 0}
    properties: Schema = {
        "status": {"type": "string", "enum": [FOUND, NOT_FOUND]},
        "action": {"type": "string", "const": model.action},
        "data": {"type": "array", "items": entry},
        "total": integer,
        "limit": integer,
        "offset": integer,
        "returned": integer,
        "omitted_by_budget": integer,
        "next_offset": {"type": ["integer", "null"]},
        "disclosure_applied": _STRINGS,
        "filters_applied": {"type": "object"},
        "revision": {"type": "string"},
        "stale": {"type": "boolean"},
        "legacy": {"type": "object", "deprecated": True},
    }
    required = [
        "status",
        "action",
        "data",
        "total",
        "limit",
        "offset",
        "disclosure_applied",
        "filters_applied",
    ]
    if issubclass(model, RankedRequest):
        properties |= {"filtered_out": integer, "overlay_hits": _STRINGS, "baseline_hits": _STRINGS}
        required.append("filtered_out")
    if model.action == "search":
        properties["match"] = MATCH_SCHEMA
        required.append("match")
    if model.action == "preflight":
        properties["governance_source"] = {"type": "string"}
        required.append("governance_source")
    return _object(properties, [*required, "revision"])


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


def _document_envelope(model: type[Request], entry: Schema) -> Schema:
    link = _object({"uri": {"type": "string"}, "title": {"type": "string"}}, ["uri", "title"])
    properties: Schema = {
        "status": {"type": "string", "enum": [FOUND, NOT_FOUND]},
        "action": {"type": "string", "const": model.action},
        "data": {**entry, "type": ["object", "null"]},
        "disclosure_applied": _STRINGS,
        "reason": {"type": "string"},
        "did_you_mean": _STRINGS,
        "revision": {"type": "string"},
        "stale": {"type": "boolean"},
        "legacy": {"type": "object", "deprecated": True},
    }
    required = ["status", "action", "data", "disclosure_applied", "revision"]
    if model.action == "resolve":
        properties["status"]["enum"] = [FOUND, NOT_FOUND, CIRCULAR_SUPERSESSION]
        properties["supersession_chain"] = {"type": "array", "items": link}
        properties["superseded_by"] = {"type": "string"}
        required.append("supersession_chain")
    return _object(properties, required)


def _object(properties: Schema, required: list[str]) -> Schema:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


_NATIVE: dict[str, Schema] = {
    "search": {"score": {"type": "number"}, "snippet": {"type": "string", "maxLength": 240}},
    "catalog": {"position": {"type": "integer", "minimum": 1}},
    "preflight": {"role": {"type": "string", "enum": ["definition_of_done", "constraint", "relevant"]}},
    "get": {"content_hash": {"type": "string"}},
    "resolve": {"content_hash": {"type": "string"}},
}

MATCH_SCHEMA: Schema = _object(
    {
        "signal": {"type": "string", "enum": ["strong", "weak", "none"]},
        "coverage": {"type": "number", "minimum": 0, "maximum": 1},
        "unmatched_terms": _STRINGS,
        "overlay_signal": {"type": "string", "enum": ["strong", "weak", "none"]},
    },
    ["signal", "coverage", "unmatched_terms"],
)


def _flat(schema: Schema, definitions: Schema) -> Schema:
    """A property without references and without its null alternative: absent says the same."""
    if "anyOf" in schema:
        first = next(one for one in schema["anyOf"] if one.get("type") != "null")
        schema = {**first, **{name: value for name, value in schema.items() if name != "anyOf"}}
    if "$ref" in schema:
        named = definitions[schema["$ref"].rsplit("/", 1)[-1]]
        schema = {**named, "description": "", **{n: v for n, v in schema.items() if n != "$ref"}}
    if schema.get("default", 0) is None:
        schema = {name: value for name, value in schema.items() if name != "default"}
    # A bound beside a null alternative comes under its Python name, which no client knows.
    return {_BOUNDS.get(name, name): value for name, value in schema.items() if name != "title"}


_BOUNDS = {"ge": "minimum", "le": "maximum"}
