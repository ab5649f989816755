"""The published schemas: flat, complete, and frozen in golden files.

LAMINA_UPDATE_GOLDEN=1 writes the golden files anew; the diff then shows what changed for callers.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from lamina.actions.parameters import ListRequest
from lamina.actions.registry import ACTIONS
from lamina.contract.disclosure import Flag
from lamina.contract.schema import error_schema, request_schema

GOLDEN = Path(__file__).resolve().parents[1] / "actions" / "golden"
DISCLOSING = [name for name, action in ACTIONS.items() if action.request.permitted]


@pytest.mark.parametrize("side", ["request", "answer"])
@pytest.mark.parametrize("action", sorted(ACTIONS))
def test_what_an_action_takes_and_answers_is_what_callers_were_told(action: str, side: str) -> None:
    schema = request_schema(ACTIONS[action].request) if side == "request" else ACTIONS[action].answer
    text = json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    golden = GOLDEN / f"{action}.{side}.json"
    if os.environ.get("LAMINA_UPDATE_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text, "utf-8")
    assert golden.read_text("utf-8") == text, "if the change is meant, run again with LAMINA_UPDATE_GOLDEN=1"


def test_no_golden_file_outlives_its_action() -> None:
    assert {path.name for path in GOLDEN.iterdir()} == {
        f"{action}.{side}.json" for action in ACTIONS for side in ("request", "answer")
    }


def keywords(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        for name, inner in schema.items():
            yield name
            yield from keywords(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from keywords(inner)


@pytest.mark.parametrize("action", sorted(ACTIONS))
def test_a_request_schema_is_flat(action: str) -> None:
    schema = request_schema(ACTIONS[action].request)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert {"$ref", "$defs", "allOf"}.isdisjoint(keywords(schema))
    assert {"anyOf", "oneOf", "not", "if"}.isdisjoint(schema)
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    for name, item in schema["properties"].items():
        assert {"anyOf", "oneOf"}.isdisjoint(item), name
        assert item.get("description"), name


@pytest.mark.parametrize("action", DISCLOSING)
def test_every_default_cap_and_value_is_in_the_schema(action: str) -> None:
    fields = request_schema(ACTIONS[action].request)["properties"]
    is_list = issubclass(ACTIONS[action].request, ListRequest)
    flags = ["blockquote", "metadata", "summary", *([] if is_list else ["body"])]
    assert fields["disclosure"]["default"] == ([] if is_list else ["body"])
    assert fields["disclosure"]["items"]["enum"] == flags
    assert fields["include_legacy_envelope"]["deprecated"] is True
    if not is_list:
        return
    assert (fields["limit"]["default"], fields["limit"]["minimum"]) == (25, 1)
    assert all(cap in fields["limit"]["description"] for cap in ("500", "200", "100", "25"))
    assert (fields["offset"]["default"], fields["offset"]["minimum"]) == (0, 0)
    kinds = ["canon", "docs", "journals", "essays", "apocrypha"]
    assert fields["include"]["items"]["enum"] == fields["exclude"]["items"]["enum"] == kinds


@pytest.mark.parametrize("action", DISCLOSING)
def test_an_answer_schema_is_valid_and_knows_no_body_where_none_may_be(action: str) -> None:
    schema = ACTIONS[action].answer
    jsonschema.Draft202012Validator.check_schema(schema)
    data = schema["properties"]["data"]
    entry = data.get("items", data)
    assert ("body" in entry["properties"]) == (Flag.BODY in ACTIONS[action].request.permitted)
    assert {"categories", "start_here", "baseline", "overlay"}.isdisjoint(schema["properties"])


def test_a_page_of_documents_never_holds_a_body() -> None:
    of_pages = {name for name, action in ACTIONS.items() if issubclass(action.request, ListRequest)}
    assert of_pages >= {"search", "catalog", "preflight"}
    assert {name for name, action in ACTIONS.items() if Flag.BODY in action.request.permitted}.isdisjoint(of_pages)


def test_the_error_schema_is_valid() -> None:
    jsonschema.Draft202012Validator.check_schema(error_schema())
