"""The OpenAPI document of the whole API, derived from the registry of actions."""

from __future__ import annotations

from typing import Any

from lamina.actions.registry import ACTIONS
from lamina.contract.errors import CATALOGUE
from lamina.contract.schema import error_schema, request_schema
from lamina.runtime.settings import Settings

_JSON = "application/json"

# Routes with a protocol of their own, which their pages describe.
_POSTED = (
    ("/mcp", "The Model Context Protocol, stateless, JSON answers."),
    ("/v1/knowledge", "The knowledge process contract, with agent authority."),
    ("/v1/operator/knowledge", "The knowledge process contract, with the operator's authority; signed by IAM."),
    ("/v1/webhook/github", "A push event of GitHub, signed with the shared secret."),
)


def document(settings: Settings) -> dict[str, Any]:
    """OpenAPI 3.1; server addresses are relative to the stage."""
    paths: dict[str, Any] = {}
    for action in ACTIONS.values():
        schema = request_schema(action.request)
        common = {"summary": action.purpose, "tags": [action.name], "responses": _responses(action.answer)}
        operations = {
            "get": {**common, "operationId": f"{action.name}_get", "parameters": _parameters(schema)},
            "post": {
                **common,
                "operationId": f"{action.name}_post",
                "requestBody": {
                    "required": action.request.main is not None,
                    "content": {_JSON: {"schema": schema}},
                },
            },
        }
        paths[f"/v1/{action.name}"] = {method.lower(): operations[method.lower()] for method in action.methods}
    paths["/v1/receipts/{digest}"] = {"get": _receipts()}
    for path, summary in _POSTED:
        body = {"required": True, "content": {_JSON: {"schema": {"type": "object"}}}}
        name = path.strip("/").replace("/", "_")
        paths[path] = {
            "post": {
                "summary": summary,
                "operationId": name,
                "requestBody": body,
                "responses": _protocol_responses(),
            }
        }
    for path, summary in (
        ("/openapi.json", "This document."),
        ("/health", "Whether the service can answer."),
        ("/v1/telemetry", "The newest report of telemetry, as HTML or JSON."),
    ):
        name = path.strip("/").removesuffix(".json").replace("/", "_")
        responses = _responses({"type": "object"})
        paths[path] = {"get": {"summary": summary, "operationId": name, "responses": responses}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Lamina",
            "version": settings.version,
            "description": "Progressive-disclosure retrieval over Markdown knowledge bases.",
        },
        "servers": [{"url": "."}],
        "paths": paths,
        "components": {"schemas": {"Error": error_schema()}},
    }


def _receipts() -> dict[str, Any]:
    verification: dict[str, Any] = {
        "type": "object",
        "properties": {"holds": {"type": "boolean"}, "checks": {"type": "array", "items": {"type": "object"}}},
        "required": ["holds", "checks"],
    }
    envelope: dict[str, Any] = {
        "type": "object",
        "properties": {
            "status": {"type": "string", "const": "FOUND"},
            "action": {"type": "string", "const": "receipts"},
            "data": {"type": ["object", "null"]},
            "verification": verification,
        },
        "required": ["status", "action", "data", "verification"],
    }
    digest = {"name": "digest", "in": "path", "required": True, "schema": {"type": "string"}}
    return {
        "summary": "A kept receipt, or the visibility snapshot that one names, with what its verification proves.",
        "tags": ["receipts"],
        "operationId": "receipts_get",
        "parameters": [digest],
        "responses": _responses(envelope),
    }


def _parameters(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Query parameters; a list may be repeated or comma-separated."""
    return [
        {
            "name": name,
            "in": "query",
            "description": parameter.get("description", ""),
            "schema": {key: value for key, value in parameter.items() if key not in ("description", "deprecated")},
            **({"deprecated": True} if parameter.get("deprecated") else {}),
            **({"style": "form", "explode": True} if parameter.get("type") == "array" else {}),
        }
        for name, parameter in schema["properties"].items()
    ]


def _protocol_responses() -> dict[str, Any]:
    """The statuses of a route with a protocol of its own, whose answers and errors are that protocol's."""
    told = {_JSON: {"schema": {"type": ["object", "array"]}}}
    statuses = sorted({200, 406, *(kind.http_status for kind in CATALOGUE.values())})
    answers = {str(status): {"description": "An answer of the protocol.", "content": told} for status in statuses}
    return {**answers, "202": {"description": "Taken; there is nothing to answer, or nothing yet."}}


def _responses(envelope: dict[str, Any]) -> dict[str, Any]:
    """200, and 404 and 409 which documents answer with the same envelope; errors by status."""
    answers: dict[str, Any] = {
        "200": {"description": "The envelope.", "content": {_JSON: {"schema": envelope}}},
        "304": {"description": "The caller has it already."},
    }
    for status in sorted({kind.http_status for kind in CATALOGUE.values()} | {409}):
        codes = ", ".join(kind.code for kind in CATALOGUE.values() if kind.http_status == status)
        schema: dict[str, Any] = {"$ref": "#/components/schemas/Error"}
        if status in (404, 409):
            schema = {"anyOf": [schema, envelope]}
        answers[str(status)] = {
            "description": codes or "CIRCULAR_SUPERSESSION",
            "content": {_JSON: {"schema": schema}},
        }
    return answers
