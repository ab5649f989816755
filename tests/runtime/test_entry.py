"""An event that no service sends is answered by every function with an error, not with a crash."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.conftest import Corpus
from tests.corpora import CHECKOUT

from lamina.local.gateway import load_handler

FUNCTIONS = sorted(path.parent.name for path in (CHECKOUT / "functions").glob("*/app.py"))
SQS = {"Records": [{"eventSource": "aws:sqs", "body": "{}"}]}
NO_OBJECT: list[Any] = [None, [], [SQS], "text", 5]
PARTS = ("headers", "queryStringParameters", "multiValueQueryStringParameters", "requestContext", "pathParameters")


@pytest.fixture
def as_deployed(sample: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment that the functions of the sample have."""
    for name, value in sample.deployed.environment().items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("event", NO_OBJECT, ids=json.dumps)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_is_no_object_is_refused(function: str, event: Any, as_deployed: None) -> None:
    answer = load_handler(CHECKOUT / "functions" / function, "app.handler")(event, None)
    told = answer.get("error_code") or answer["error"]["code"]
    assert told in ("INVALID_JSON", "invalid_input")


@pytest.mark.parametrize("function", ["mcp", "receipts", "site"])
def test_what_speaks_http_alone_refuses_a_queue(function: str, as_deployed: None) -> None:
    answer = load_handler(CHECKOUT / "functions" / function, "app.handler")(SQS, None)
    assert answer["error_code"] == "INVALID_JSON"
    assert "httpMethod" in answer["error_message"]


@pytest.mark.parametrize("function", FUNCTIONS)
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    part=st.sampled_from(PARTS), value=st.one_of(st.text(min_size=1), st.lists(st.integers(), min_size=1), st.just(5))
)
def test_a_request_with_a_part_of_another_type_is_refused(
    function: str, part: str, value: Any, as_deployed: None
) -> None:
    event = {"httpMethod": "GET", "path": "/", part: value}
    answer = load_handler(CHECKOUT / "functions" / function, "app.handler")(event, None)
    assert answer["statusCode"] == 400
    assert part in json.loads(answer["body"])["error_message"]
