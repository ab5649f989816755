"""What holds of any arguments at all: an envelope as published, never a fault, never past the ceiling."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.conftest import Corpus
from tests.transports import Direct

from lamina.actions.parameters import ListRequest
from lamina.actions.registry import ACTIONS
from lamina.contract.errors import CATALOGUE
from lamina.contract.schema import Schema, error_schema, request_schema
from lamina.contract.tokens import count_tokens

DISCLOSING = [name for name, action in ACTIONS.items() if action.request.permitted]

words = st.sampled_from(
    ["gauge", "battery", "the", '"no silent gaps"', "E0008.4", "river level", "漢字", "", " ", "\x00", "\ud800", "*"]
)
junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=6,
)


def likely(*values: Any) -> st.SearchStrategy[Any]:
    """Mostly values that fit, alone or as a list, sometimes anything."""
    entry = st.sampled_from(values)
    return entry | st.lists(entry, max_size=3) | junk


PARAMETERS: dict[str, st.SearchStrategy[Any]] = {
    "query": st.lists(words, max_size=4).map(" ".join) | junk,
    "task": st.lists(words, max_size=4).map(" ".join) | junk,
    "uri": likely("rill://README", "README.md", "docs/duty-desk", "canon/decisions/upload-by-ftp", "docs/duty"),
    "input": words,
    "section": likely("Summary", "summary", "Nothing"),
    "links": likely(True, False),
    "disclosure": likely("blockquote", "metadata", "summary", "body", "title"),
    "limit": likely(1, 3, 25, 100, 500, "7"),
    "offset": likely(0, 5, 40, 1000),
    "max_tokens": likely(200, 800, 5000, 100_000),
    "audience": likely("canon", "public", "operators"),
    "exposure": likely("nav", "public"),
    "tier": likely(1, 2, "3"),
    "public": likely(True, "false"),
    "start_here": likely(True),
    "path_prefix": likely("canon/", "docs/", "nowhere/"),
    "include": likely("canon", "docs", "journals", "essays", "apocrypha"),
    "exclude": likely("canon", "journals"),
    "tags": likely("constraint"),
    "exclude_invalidated": likely(True, False),
    "knowledge_base_url": likely("gauge-firmware", "nobody"),
    "search_scope": likely("merged", "kb_with_required_baseline", "kb_only"),
    "baseline_in_search": likely(True, False),
    "include_full_baseline": likely(True, False),
    "result_grouping": likely("merged", "overlay_first", "grouped", "overlay_preferred"),
    "prefix": likely(True),
    "sort_by": likely("path", "title", "date", "tier"),
    "order": likely("asc", "desc"),
    "revision": likely("0123456789ab"),
    "include_legacy_envelope": likely(True, False),
    "consumer": words,
}


@cache
def strategies(action: str) -> dict[str, st.SearchStrategy[Any]]:
    """What is tried for each parameter: its likely values, or else what its schema says."""
    properties = request_schema(ACTIONS[action].request)["properties"]
    return {name: PARAMETERS[name] if name in PARAMETERS else _of_schema(schema) for name, schema in properties.items()}


def _of_schema(schema: Schema) -> st.SearchStrategy[Any]:
    values = schema.get("enum") or schema.get("items", {}).get("enum")
    if values:
        return likely(*values)
    if schema["type"] == "boolean":
        return likely(True, False)
    return likely(0, 1, 7) if schema["type"] == "integer" else words | junk


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """An action with a handful of its parameters, now and then one of another."""
    action = draw(st.sampled_from(DISCLOSING))
    own = strategies(action)
    names = draw(st.lists(st.sampled_from(sorted(own)), max_size=6, unique=True))
    arguments = {name: draw(own[name]) for name in names}
    if draw(st.integers(0, 19)) == 0:
        stranger = draw(st.sampled_from(sorted(PARAMETERS)))
        arguments.setdefault(stranger, draw(PARAMETERS[stranger]))
    main = ACTIONS[action].request.main
    if main is not None and "input" not in arguments:
        arguments.setdefault(main, draw(own[main]))
    return action, arguments


@cache
def validator(action: str, failed: bool) -> jsonschema.Draft202012Validator:
    schema = error_schema() if failed else ACTIONS[action].answer
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@settings(max_examples=700, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(call=calls())
def test_any_arguments_get_an_envelope_as_published(sample: Corpus, call: tuple[str, dict[str, Any]]) -> None:
    action, arguments = call
    reply = Direct(("", 0)).call(sample.deployed, action, arguments)
    envelope = json.loads(reply.text.encode())
    assert envelope == reply.envelope
    failed = envelope["status"] == "ERROR"
    validator(action, failed).validate(envelope)
    if failed:
        assert envelope["error_code"] in CATALOGUE
        assert CATALOGUE[envelope["error_code"]].http_status < 500
        assert envelope["error_message"].strip()
    elif issubclass(ACTIONS[action].request, ListRequest):
        assert count_tokens(reply.text) <= 30_000
        assert len(envelope["data"]) <= envelope["limit"]
        assert len(envelope["data"]) <= envelope["total"]
    assert reply.text == Direct(("", 0)).call(sample.deployed, action, arguments).text


@pytest.mark.parametrize("action", DISCLOSING)
def test_every_parameter_is_tried(action: str) -> None:
    assert set(ACTIONS[action].request.model_fields) == set(strategies(action))


def test_likely_values_are_of_parameters_that_there_are() -> None:
    assert set(PARAMETERS) <= {name for action in DISCLOSING for name in ACTIONS[action].request.model_fields}
