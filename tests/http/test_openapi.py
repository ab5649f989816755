"""Every route of our own OpenAPI document, asked by schemathesis over the local gateway: it answers as it says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from tests.conftest import Corpus
from tests.transports import stand_before

from lamina.http.openapi import document
from lamina.runtime.settings import Settings

schemathesis = pytest.importorskip("schemathesis")
CHECKS = schemathesis.checks
SCHEMA = schemathesis.openapi.from_dict(document(Settings.of({})))
MUST_HOLD = [
    check
    for name in (
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_schema_conformance",
        "response_headers_conformance",
        "unsupported_method",
    )
    for check in CHECKS.CHECKS.get_by_names([name])
]


@SCHEMA.parametrize()  # type: ignore[untyped-decorator]
@settings(
    max_examples=8,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
def test_a_route_answers_whatever_it_is_asked_as_its_document_says(
    case: Any, sample: Corpus, gateway: tuple[str, int]
) -> None:
    stand_before(sample.deployed)
    response = case.call(base_url=f"http://{gateway[0]}:{gateway[1]}", timeout=30)
    case.validate_response(response, checks=MUST_HOLD)
    assert response.headers["x-content-type-options"] == ["nosniff"]
    assert response.headers["cache-control"][0].split(",")[0] in ("no-store", "public", "private")
