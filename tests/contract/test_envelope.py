"""The wire form of answers and failures, and the catalogue of errors."""

from __future__ import annotations

import pytest

from lamina.contract.envelope import compact, failure
from lamina.contract.errors import CATALOGUE, LaminaError, invalid_parameter


def test_the_wire_form_is_compact_and_keeps_text_as_it_is() -> None:
    assert compact({"b": [1, None, True], "a": "é漢"}) == '{"b":[1,null,true],"a":"é漢"}'


def test_no_nan_ever_leaves() -> None:
    with pytest.raises(ValueError, match="JSON"):
        compact({"score": float("nan")})


def test_a_failure_says_its_code_its_message_its_details_and_its_action() -> None:
    error = LaminaError("REVISION_GONE", "start again.", revision="x")
    assert list(failure(error, "search").items()) == [
        ("status", "ERROR"),
        ("error_code", "REVISION_GONE"),
        ("error_message", "start again."),
        ("revision", "x"),
        ("action", "search"),
    ]
    assert failure(invalid_parameter("limit", "limit must be."), None)["action"] is None


def test_a_code_outside_the_catalogue_cannot_be_raised() -> None:
    with pytest.raises(KeyError):
        LaminaError("NO_SUCH_CODE", "never")


@pytest.mark.parametrize(
    ("status", "codes"),
    [
        (
            400,
            "DISCLOSURE_FLAG_NOT_PERMITTED LIMIT_EXCEEDS_FLAG_CAP RESPONSE_EXCEEDS_TOKEN_BUDGET INVALID_PARAMETER "
            "INVALID_FILTER_VALUE CATEGORY_FILTER_NOT_SUPPORTED FILTER_NOT_PERMITTED EMPTY_QUERY INVALID_JSON",
        ),
        (403, "API_KEY_REQUIRED KNOWLEDGE_BASE_NOT_ALLOWED"),
        (404, "SECTION_NOT_FOUND UNKNOWN_PATH RECEIPT_NOT_FOUND"),
        (405, "METHOD_NOT_ALLOWED"),
        (410, "REVISION_GONE"),
        (413, "REQUEST_TOO_LARGE"),
        (415, "UNSUPPORTED_MEDIA_TYPE"),
        (429, "RATE_LIMITED"),
        (500, "INTERNAL_ERROR"),
        (503, "INDEX_NOT_READY STORE_UNAVAILABLE REQUIRED_GOVERNANCE_MISSING"),
    ],
)
def test_every_code_has_the_status_of_the_contract(status: int, codes: str) -> None:
    for code in codes.split():
        assert CATALOGUE[code].http_status == status


def test_every_code_says_what_it_means_and_what_to_do() -> None:
    for code, kind in CATALOGUE.items():
        assert kind.code == code
        assert kind.meaning.endswith(".")
        assert kind.remedy.endswith(".")
        assert kind.is_server_fault == (kind.http_status >= 500)


def test_who_should_wait_is_told_how_long() -> None:
    waiting = {code for code, kind in CATALOGUE.items() if kind.retry_after}
    assert waiting == {"RATE_LIMITED", "INDEX_NOT_READY", "STORE_UNAVAILABLE"}
    assert LaminaError("RATE_LIMITED", "wait.", retry_after_seconds=7).retry_after == 7
