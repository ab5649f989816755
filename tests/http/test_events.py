"""Proxy events as API Gateway never sends them, to every function: an answer under the common headers, no fault."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.conftest import Corpus
from tests.transports import handler_of, stand_before

FUNCTIONS = {
    "search": "/v1/search",
    "catalog": "/v1/catalog",
    "preflight": "/v1/preflight",
    "get": "/v1/get",
    "resolve": "/v1/resolve",
    "brief": "/v1/brief",
    "baseline_check": "/v1/baseline-check",
    "receipts": "/v1/receipts/{digest}",
    "knowledge": "/v1/knowledge",
    "telemetry_report": "/v1/telemetry",
    "indexer": "/v1/webhook/github",
    "mcp": "/mcp",
    "site": "/",
}
NAMES = (
    "query",
    "task",
    "uri",
    "question",
    "limit",
    "disclosure",
    "knowledge_base_url",
    "period",
    "format",
    "consumer",
)

text = st.text(max_size=8) | st.sampled_from(
    ["", "\ud800", "\x00", "%2e%2e/", "../../etc/passwd", "a\r\nx: y", "5", "[["]
)
name = st.sampled_from(NAMES) | text
header_names = st.sampled_from(
    [
        "content-type",
        "If-None-Match",
        "X-Api-Key",
        "user-agent",
        "X-Oddkit-Client",
        "origin",
        "accept",
        "x-github-event",
    ]
)
bodies = st.one_of(
    st.none(),
    text,
    st.binary(max_size=40).map(lambda content: base64.b64encode(content).decode()),
    st.dictionaries(name, st.none() | st.booleans() | st.integers() | text | st.lists(text, max_size=2)).map(
        json.dumps
    ),
)


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """The field as it is meant, or null."""
    return st.none() | strategy


events = st.fixed_dictionaries(
    {"httpMethod": st.sampled_from(["GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", "get", "", "BREW"])},
    optional={
        "path": st.sampled_from([*FUNCTIONS.values(), "/read", "/costs", "/health"]) | text,
        "resource": st.sampled_from(["/v1/operator/knowledge", "/{proxy+}"]) | text,
        "headers": maybe(st.dictionaries(header_names, text, max_size=4)),
        "queryStringParameters": maybe(st.dictionaries(name, text, max_size=4)),
        "multiValueQueryStringParameters": maybe(st.dictionaries(name, st.lists(text, max_size=3), max_size=4)),
        "pathParameters": maybe(st.dictionaries(st.just("digest"), text)),
        "requestContext": maybe(
            st.fixed_dictionaries(
                {},
                optional={
                    "identity": maybe(st.dictionaries(st.sampled_from(["sourceIp", "apiKey", "userArn"]), maybe(text)))
                },
            )
        ),
        "body": bodies,
        "isBase64Encoded": st.booleans(),
        "stageVariables": st.none(),
    },
)


@pytest.mark.parametrize("function", FUNCTIONS)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(event=events)
def test_any_event_is_answered_under_the_common_headers(sample: Corpus, function: str, event: dict[str, Any]) -> None:
    stand_before(sample.deployed)
    answer = handler_of(function)({"path": FUNCTIONS[function], **event}, None)
    assert 200 <= answer["statusCode"] < 500 or answer["statusCode"] == 503, answer
    assert answer["headers"]["X-Content-Type-Options"] == "nosniff"
    assert answer["headers"]["Cache-Control"]
    assert answer["isBase64Encoded"] is False
    answer["body"].encode()
    for name, value in answer["headers"].items():
        assert f"{name}{value}".isprintable(), (name, value)
    if answer["headers"]["Content-Type"].startswith("application/json") and answer["body"]:
        json.loads(answer["body"])
