"""The OpenAPI document as generators read it: valid, of named models, and with nothing that a route does not do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from lamina.actions.registry import ACTIONS
from lamina.http.openapi import document, text
from lamina.runtime.settings import Settings

DOCUMENT = document(Settings.of({}))
MODELS = DOCUMENT["components"]["schemas"]
OPERATIONS = [
    (f"{method} {path}", operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
]


def _within(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _within(inner)


def test_every_reference_leads_to_a_model_or_an_answer() -> None:
    for entry in _within(DOCUMENT):
        reference = entry.get("$ref")
        if isinstance(reference, str):
            _, _, kind, name = reference.split("/")
            assert name in DOCUMENT["components"][kind], reference
            if kind == "schemas":
                resolver = {**MODELS[name], "components": DOCUMENT["components"]}
                Draft202012Validator.check_schema(resolver)


def test_no_body_is_an_unnamed_object_with_fields() -> None:
    for name, operation in OPERATIONS:
        for entry in _within([operation.get("requestBody", {}), operation["responses"]]):
            assert "properties" not in entry, name


@pytest.mark.parametrize("name", MODELS)
def test_a_model_holds_no_unnamed_object_with_fields(name: str) -> None:
    inner = [entry for entry in _within(MODELS[name].get("properties", {})) if "properties" in entry]
    assert all(not isinstance(entry["properties"], dict) or "type" not in entry for entry in inner)


def test_operations_are_named_once_and_answer_posts_with_no_304() -> None:
    names = [operation["operationId"] for _, operation in OPERATIONS]
    assert len(names) == len(set(names))
    assert not any("304" in operation["responses"] for name, operation in OPERATIONS if name.startswith("post"))
    assert "304" in dict(OPERATIONS)["get /v1/search"]["responses"]


def test_every_action_has_a_request_and_an_answer_of_its_name() -> None:
    for name, action in ACTIONS.items():
        model = "".join(part.capitalize() for part in name.split("-"))
        assert f"{model}Answer" in MODELS
        assert ("POST" not in action.methods) == (f"{model}Request" not in MODELS)


def test_keys_are_declared_and_a_receipt_is_sent_as_text_in_an_address() -> None:
    schemes = DOCUMENT["components"]["securitySchemes"]
    assert schemes["ApiKey"] == {"type": "apiKey", "in": "header", "name": "x-api-key"}
    parameters = dict(OPERATIONS)["get /v1/brief"]["parameters"]
    assert [entry["schema"] for entry in parameters if entry["name"] == "receipt"] == [
        {"type": "string", "pattern": "^run_id=[A-Za-z0-9._-]{1,100}$"}
    ]
    assert all("object" not in str(entry["schema"].get("type")) for entry in parameters)


def test_deprecated_parameters_and_input_are_not_offered() -> None:
    for name in ("SearchRequest", "GetRequest", "BriefRequest"):
        assert {"input", "include_legacy_envelope", "baseline_in_search"}.isdisjoint(MODELS[name]["properties"])


def test_the_text_is_made_once() -> None:
    settings = Settings.of({})
    assert text(settings) is text(Settings.of({}))
    assert "Error404" in text(settings)
