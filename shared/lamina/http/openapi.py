"""The OpenAPI document of the whole API, derived from the registry of actions: every model is a named component."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from lamina.actions.action import Action
from lamina.actions.registry import ACTIONS
from lamina.contract.disclosure import CAPS
from lamina.contract.envelope import compact
from lamina.contract.errors import CATALOGUE
from lamina.contract.ids import REVISION_PATTERN
from lamina.contract.request import MAX_BATCH
from lamina.contract.schema import Schema, advertised, error_schema, request_schema
from lamina.runtime.settings import Settings

_JSON = "application/json"
_MODELS = "#/components/schemas/"
_KEY, _IAM, _SIGNATURE = "ApiKey", "Iam", "GitHubSignature"

_LARGEST = 2**53 - 1

# Parameters of which one at a time says which part of a body is meant.
_PARTS = ("section", "about", "outline", "from_line")

_RPC_REQUEST: Schema = {
    "type": "object",
    "properties": {
        "jsonrpc": {"type": "string", "const": "2.0"},
        "id": {"type": ["string", "integer"], "description": "left out of a notification"},
        "method": {"type": "string", "description": "such as tools/list, tools/call, resources/read"},
        "params": {"type": "object"},
    },
    "required": ["jsonrpc", "method"],
}
_RPC_RESPONSE: Schema = {
    "type": "object",
    "properties": {
        "jsonrpc": {"type": "string", "const": "2.0"},
        "id": {"type": ["string", "integer", "null"]},
        "result": {"type": "object"},
        "error": {
            "type": "object",
            "properties": {"code": {"type": "integer"}, "message": {"type": "string"}, "data": {}},
            "required": ["code", "message"],
        },
    },
    "required": ["jsonrpc", "id"],
}
_KNOWLEDGE_RESPONSE: Schema = {
    "type": "object",
    "properties": {
        "schema": {"type": "string"},
        "ok": {"type": "boolean"},
        "result": {"type": ["object", "null"]},
        "error": {"type": ["object", "null"], "properties": {"code": {"type": "string"}}, "required": ["code"]},
    },
    "required": ["schema", "ok", "result", "error"],
}
_RECEIPT_ANSWER: Schema = {
    "type": "object",
    "properties": {
        "status": {"type": "string", "const": "FOUND"},
        "action": {"type": "string", "const": "receipts"},
        "data": {"type": ["object", "null"]},
        "verification": {
            "type": "object",
            "properties": {"holds": {"type": "boolean"}, "checks": {"type": "array", "items": {"type": "object"}}},
            "required": ["holds", "checks"],
        },
    },
    "required": ["status", "action", "data", "verification"],
}
_HEALTH: Schema = {
    "type": "object",
    "properties": {
        "status": {"type": "string", "const": "ok"},
        "version": {"type": "string"},
        "revision": {"type": "string"},
        "meaning": {"type": "string"},
        "stale": {"type": "boolean"},
        "tool_prefix": {"type": "string"},
        "knowledge_bases": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["status", "version", "revision", "stale", "knowledge_bases"],
}


@cache
def text(settings: Settings) -> str:
    """The document of a deployment as JSON."""
    return compact(document(settings))


def document(settings: Settings) -> dict[str, Any]:
    """OpenAPI 3.1; server addresses are relative to the stage."""
    models: dict[str, Schema] = {"Error": error_schema()}
    paths: dict[str, Any] = {f"/v1/{action.name}": _action(action, models) for action in ACTIONS.values()}
    paths["/v1/receipts/{digest}"] = {"get": _receipts(models)}
    paths |= _protocols(models)
    paths["/openapi.json"] = {"get": _read("openapi", "This document.", {"type": "object"})}
    paths["/health"] = {"get": _read("health", "Whether the service can answer.", _named("Health", _HEALTH, models))}
    newest = "The newest report of telemetry, as HTML or JSON."
    paths["/v1/telemetry"] = {"get": _read("v1_telemetry", newest, {"type": "object"})}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Lamina",
            "version": settings.version,
            "description": "Progressive-disclosure retrieval over Markdown knowledge bases.",
        },
        "servers": [{"url": "."}],
        # A key is needed for private knowledge bases and receipts alone.
        "security": [{}, {_KEY: []}],
        "paths": paths,
        "components": {
            "schemas": models,
            "responses": {f"Error{status}": _error(status) for status in _error_statuses()},
            "securitySchemes": {
                _KEY: {"type": "apiKey", "in": "header", "name": "x-api-key"},
                _IAM: {"type": "apiKey", "in": "header", "name": "Authorization", "description": "AWS Signature V4"},
                _SIGNATURE: {"type": "apiKey", "in": "header", "name": "X-Hub-Signature-256"},
            },
        },
    }


def _action(action: Action, models: dict[str, Schema]) -> dict[str, Any]:
    """The operations of an action."""
    name = _model_name(action.name)
    schema = _with_conditions(advertised(request_schema(action.request)))
    answer = _named(f"{name}Answer", action.answer, models)
    common = {"summary": action.purpose, "tags": [action.name]}
    operations: dict[str, Any] = {}
    if "GET" in action.methods:
        kept = {"304": {"description": "The caller has it already."}} if action.request.permitted else {}
        operations["get"] = {
            **common,
            "operationId": f"{action.name}_get",
            "parameters": _parameters(schema),
            "responses": {**_responses(answer), **kept},
        }
    if "POST" in action.methods:
        operations["post"] = {
            **common,
            "operationId": f"{action.name}_post",
            "requestBody": {
                "required": action.request.main is not None,
                "content": {_JSON: {"schema": _named(f"{name}Request", schema, models)}},
            },
            "responses": _responses(answer),
        }
    return operations


def _with_conditions(schema: Schema) -> Schema:
    """A request with what its parameters ask of each other, so that what the schema admits is accepted."""
    properties = dict(schema["properties"])
    refused: list[Schema] = []
    if "revision" in properties:
        properties["revision"] = {**properties["revision"], "pattern": REVISION_PATTERN}
    for name in (*schema.get("required", ()), "knowledge_base_url"):
        properties[name] = {**properties[name], "pattern": r"\S"}
    properties = {name: _bounded(entry) for name, entry in properties.items()}
    if "limit" in properties and "disclosure" in properties:
        refused += [
            {
                "required": ["limit", "disclosure"],
                "properties": {"disclosure": {"contains": {"const": str(flag)}}, "limit": {"minimum": cap + 1}},
            }
            for flag, cap in CAPS.items()
            if flag in properties["disclosure"]["items"]["enum"]
        ]
    parts = [name for name in _PARTS if name in properties]
    refused += [{"required": [one, other]} for at, one in enumerate(parts) for other in parts[at + 1 :]]
    conditions: Schema = {"not": {"anyOf": refused}} if refused else {}
    if "search_scope" in properties:
        conditions["dependentRequired"] = {"search_scope": ["knowledge_base_url"]}
    return {**schema, "properties": properties, **conditions}


def _bounded(entry: Schema) -> Schema:
    """A parameter whose whole numbers are those that every client can write."""
    if entry.get("type") == "integer":
        return {"minimum": -_LARGEST, "maximum": _LARGEST, **entry}
    return {**entry, "items": _bounded(entry["items"])} if "items" in entry else entry


def _named(name: str, schema: Schema, models: dict[str, Schema]) -> Schema:
    """A reference to a schema that is kept among the models, with the objects within it as models of their own."""
    models[name] = _hoisted(name, schema, models)
    return {"$ref": f"{_MODELS}{name}"}


def _hoisted(name: str, schema: Schema, models: dict[str, Schema]) -> Schema:
    properties = {
        field: _inner(f"{name}{_model_name(field)}", inner, models)
        for field, inner in schema.get("properties", {}).items()
    }
    return {**schema, "properties": properties} if properties else schema


def _inner(name: str, schema: Schema, models: dict[str, Schema]) -> Schema:
    """A field's schema with its object, or that of its items, named; equal ones are one model."""
    if "items" in schema:
        return {**schema, "items": _inner(name, schema["items"], models)}
    if "properties" not in schema:
        return schema
    told = {word: schema[word] for word in ("description",) if word in schema}
    of_object = {**{word: value for word, value in schema.items() if word not in told}, "type": "object"}
    made = _hoisted(name, of_object, models)
    name = next((other for other, model in models.items() if model == made), name)
    models[name] = made
    reference = {"$ref": f"{_MODELS}{name}"}
    if "null" in schema["type"]:
        return {"anyOf": [reference, {"type": "null"}], **told}
    return {**reference, **told}


def _model_name(name: str) -> str:
    return "".join(part.capitalize() for part in name.replace("-", "_").split("_"))


def _receipts(models: dict[str, Schema]) -> dict[str, Any]:
    digest = {"name": "digest", "in": "path", "required": True, "schema": {"type": "string"}}
    return {
        "summary": "A kept receipt, or the visibility snapshot that one names, with what its verification proves.",
        "tags": ["receipts"],
        "operationId": "receipts_get",
        "parameters": [digest],
        "responses": _responses(_named("ReceiptsAnswer", _RECEIPT_ANSWER, models)),
    }


def _protocols(models: dict[str, Schema]) -> dict[str, Any]:
    """The routes with a protocol of their own."""
    asked, told = _named("RpcRequest", _RPC_REQUEST, models), _named("RpcResponse", _RPC_RESPONSE, models)
    rpc = [
        {"anyOf": [one, {"type": "array", "items": one, "minItems": 1, "maxItems": MAX_BATCH}]} for one in (asked, told)
    ]
    knowledge = _knowledge_request(models), _named("KnowledgeResponse", _KNOWLEDGE_RESPONSE, models)
    pushed: Schema = {"type": "object", "description": "A push event, as GitHub sends it."}
    taken: Schema = {"type": "object"}
    operator = "The knowledge process contract, with the operator's authority."
    webhook = "A push event of GitHub, signed with the shared secret."
    return {
        "/mcp": _posted("mcp", "The Model Context Protocol, stateless, JSON answers.", rpc[0], rpc[1]),
        "/v1/knowledge": _posted(
            "v1_knowledge", "The knowledge process contract, with agent authority.", *knowledge, failures=True
        ),
        "/v1/operator/knowledge": _posted(
            "v1_operator_knowledge", operator, *knowledge, security=[{_IAM: []}], failures=True
        ),
        "/v1/webhook/github": _posted(
            "v1_webhook_github", webhook, pushed, taken, security=[{_SIGNATURE: []}], failures=True
        ),
    }


def _knowledge_request(models: dict[str, Schema]) -> Schema:
    """The request of the knowledge process contract, with its operations, from the models that read it."""
    # Its models take 30 ms to make, which only this document needs.
    from pydantic.json_schema import models_json_schema

    from lamina.knowledge.protocol import Request

    made, definitions = models_json_schema([(Request, "validation")], ref_template=f"{_MODELS}Knowledge{{model}}")
    models |= {f"Knowledge{name}": schema for name, schema in definitions["$defs"].items()}
    return dict(made[(Request, "validation")])


def _posted(
    name: str,
    summary: str,
    asked: Schema,
    told: Schema,
    *,
    security: list[dict[str, list[str]]] | None = None,
    failures: bool = False,
) -> dict[str, Any]:
    """A route that is posted to; with `failures` it refuses by the errors of this API, else by its protocol's own."""
    refused: Schema = {"anyOf": [told, {"$ref": f"{_MODELS}Error"}]} if failures else told
    content = {_JSON: {"schema": refused}}
    responses = {str(status): {"description": "Refused.", "content": content} for status in (406, *_error_statuses())}
    operation: dict[str, Any] = {
        "summary": summary,
        "operationId": name,
        "requestBody": {"required": True, "content": {_JSON: {"schema": asked}}},
        "responses": {
            "200": {"description": "The answer.", "content": {_JSON: {"schema": told}}},
            "202": {"description": "Taken; there is nothing to answer, or nothing yet."},
            **responses,
        },
    }
    return {"post": operation if security is None else {**operation, "security": security}}


def _read(name: str, summary: str, answer: Schema) -> dict[str, Any]:
    return {"summary": summary, "operationId": name, "responses": _responses(answer)}


def _parameters(schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Query parameters; a list may be repeated or comma-separated, a run is named as `run_id=NAME`."""
    return [
        {
            "name": name,
            "in": "query",
            "required": name in schema.get("required", ()),
            "description": parameter.get("description", ""),
            "schema": {"type": "string", "pattern": "^run_id=[A-Za-z0-9._-]{1,100}$"}
            if parameter.get("type") == "object"
            else {key: value for key, value in parameter.items() if key != "description"},
            **({"style": "form", "explode": True} if parameter.get("type") == "array" else {}),
        }
        for name, parameter in schema["properties"].items()
    ]


def _responses(answer: Schema) -> dict[str, Any]:
    """200, and 404 and 409 which documents answer with the same envelope; errors by status."""
    answers: dict[str, Any] = {"200": {"description": "The envelope.", "content": {_JSON: {"schema": answer}}}}
    for status in _error_statuses():
        answers[str(status)] = {"$ref": f"#/components/responses/Error{status}"}
    for status, said in ((404, "NOT_FOUND, or an error."), (409, "CIRCULAR_SUPERSESSION.")):
        schema = {"anyOf": [{"$ref": f"{_MODELS}Error"}, answer]}
        answers[str(status)] = {"description": said, "content": {_JSON: {"schema": schema}}}
    return answers


def _error_statuses() -> list[int]:
    return sorted({kind.http_status for kind in CATALOGUE.values()})


def _error(status: int) -> dict[str, Any]:
    codes = ", ".join(kind.code for kind in CATALOGUE.values() if kind.http_status == status)
    return {"description": codes, "content": {_JSON: {"schema": {"$ref": f"{_MODELS}Error"}}}}
