"""Log lines on AWS say which invocation they belong to; on one's own machine nothing changes."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from lamina.runtime import logs
from lamina.runtime.logs import logged


@dataclass(frozen=True, slots=True)
class Context:
    """What Lambda tells of an invocation."""

    aws_request_id: str
    function_name: str = "stack-search"


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    package = logging.getLogger("lamina")
    before = package.handlers[:], package.level, package.propagate
    logs._logger.cache_clear()
    yield
    package.handlers[:], package.level, package.propagate = before[0], before[1], before[2]
    logs._logger.cache_clear()


def warn(event: object, context: object) -> dict[str, object]:
    logging.getLogger("lamina.runtime.warm").warning("the pointer is not read")
    return {}


def test_a_line_carries_request_function_and_cold_start(capsys: pytest.CaptureFixture[str]) -> None:
    handler = logged(warn)
    handler({}, Context("first"))
    handler({}, Context("second"))
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["request_id"], line["function"], line["cold_start"]) for line in lines] == [
        ("first", "stack-search", True),
        ("second", "stack-search", False),
    ]
    assert {(line["level"], line["message"]) for line in lines} == {("WARNING", "the pointer is not read")}


def test_without_a_lambda_context_nothing_is_set_up(capsys: pytest.CaptureFixture[str]) -> None:
    before = logging.getLogger("lamina").handlers[:]
    logged(warn)({}, None)
    assert logging.getLogger("lamina").handlers == before
    assert "request_id" not in capsys.readouterr().out
