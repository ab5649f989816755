"""The error catalogue: every code, its HTTP status and remedy, and the one exception that carries them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ErrorKind:
    """One row of the catalogue: what a code means to a caller and to an operator."""

    code: str
    http_status: int
    meaning: str
    remedy: str
    retry_after: int | None = None

    @property
    def is_server_fault(self) -> bool:
        """Whether the operator, not the caller, has to act."""
        return self.http_status >= 500


_ROWS = (
    ErrorKind(
        "DISCLOSURE_FLAG_NOT_PERMITTED",
        400,
        "A known disclosure flag was asked of an action that does not allow it.",
        "Use one of `permitted_flags`; bodies come one document a call, by URI.",
    ),
    ErrorKind(
        "LIMIT_EXCEEDS_FLAG_CAP",
        400,
        "`limit` is above the cap of the most restrictive active flag.",
        "Send a limit up to `max_limit_for_active_flags` and page with offset, or drop `limiting_flag`.",
    ),
    ErrorKind(
        "RESPONSE_EXCEEDS_TOKEN_BUDGET",
        400,
        "The page would cost more tokens than allowed.",
        "Send `largest_limit_that_fits` as the limit; if it is 0, use fewer flags or the next offset.",
    ),
    ErrorKind(
        "INVALID_PARAMETER",
        400,
        "A parameter is unknown, malformed or out of range.",
        "Mend the parameter that is named in `parameter`; the message says what is possible.",
    ),
    ErrorKind(
        "INVALID_FILTER_VALUE",
        400,
        "A filter value is neither canonical nor present in the corpus.",
        "Use one of `possible_values`.",
    ),
    ErrorKind(
        "CATEGORY_FILTER_NOT_SUPPORTED",
        400,
        "`category` or `tag` was sent: tags are no substitute for structural filters.",
        "Use one of `structural_filters`; `tags` narrows a slice that they select.",
    ),
    ErrorKind(
        "FILTER_NOT_PERMITTED",
        400,
        "A filter was sent to an action whose selector is the URI.",
        "Drop the filter, or use an action that lists documents.",
    ),
    ErrorKind(
        "EMPTY_QUERY",
        400,
        "The main argument is missing or blank.",
        "Send some text in the parameter that is named in `parameter`.",
    ),
    ErrorKind("INVALID_JSON", 400, "The body is not a JSON object.", "Send one JSON object, UTF-8, no NaN."),
    ErrorKind(
        "API_KEY_REQUIRED",
        403,
        "The call needs an API key.",
        "Send a key in the header `x-api-key`; the operator of the deployment gives them out.",
    ),
    ErrorKind(
        "KNOWLEDGE_BASE_NOT_ALLOWED",
        403,
        "`knowledge_base_url` is not on the allow list of this deployment.",
        "Use an allowed name or URL, or ask the operator to add it.",
    ),
    ErrorKind(
        "SECTION_NOT_FOUND",
        404,
        "The document has no such section.",
        "Use the text or slug of one of `headings`.",
    ),
    ErrorKind("UNKNOWN_PATH", 404, "No such route.", "Use one of `paths`; /openapi.json describes them."),
    ErrorKind("RECEIPT_NOT_FOUND", 404, "No receipt has that digest.", "Check the 64 hexadecimal digits."),
    ErrorKind("METHOD_NOT_ALLOWED", 405, "The route does not take that method.", "Use one of `methods`."),
    ErrorKind(
        "REVISION_GONE",
        410,
        "The snapshot named by `revision` no longer exists.",
        "Start again without `revision`, from offset 0.",
    ),
    ErrorKind(
        "REQUEST_TOO_LARGE",
        413,
        "The body or the main argument is over its bound.",
        "Send at most `max_bytes` bytes.",
    ),
    ErrorKind(
        "UNSUPPORTED_MEDIA_TYPE",
        415,
        "The body is not declared as JSON.",
        "Send `content-type: application/json`.",
    ),
    ErrorKind(
        "RATE_LIMITED",
        429,
        "The caller is over its limit for this minute.",
        "Wait as many seconds as Retry-After says. Answers without bodies are not affected.",
        retry_after=60,
    ),
    ErrorKind(
        "INTERNAL_ERROR",
        500,
        "Something failed that should not.",
        "Try again; tell the operator if it stays.",
    ),
    ErrorKind(
        "INDEX_NOT_READY",
        503,
        "The index of this knowledge base is being built.",
        "Try again after Retry-After seconds.",
        retry_after=10,
    ),
    ErrorKind(
        "STORE_UNAVAILABLE",
        503,
        "Storage did not answer and there is no older copy to serve.",
        "Try again after Retry-After seconds.",
        retry_after=5,
    ),
    ErrorKind(
        "REQUIRED_GOVERNANCE_MISSING",
        503,
        "A required governance file is in no tier: not live, not bundled.",
        "Add the file named in `path` to the knowledge base or the baseline.",
    ),
)

CATALOGUE: Mapping[str, ErrorKind] = {kind.code: kind for kind in _ROWS}


class LaminaError(Exception):
    """A failure that a caller is told about: a catalogue code, a message that says how to mend it, details.

    `details` are extra envelope fields, JSON values only. Raises KeyError for a code outside the catalogue.
    """

    def __init__(self, code: str, message: str, /, **details: Any) -> None:
        super().__init__(message)
        self.kind = CATALOGUE[code]
        self.message = message
        self.details = details

    @property
    def retry_after(self) -> int | None:
        """Seconds to wait, where the code carries Retry-After."""
        given = self.details.get("retry_after_seconds")
        return given if isinstance(given, int) else self.kind.retry_after


def invalid_parameter(parameter: str, message: str, /, **details: Any) -> LaminaError:
    """The commonest failure: one parameter, named."""
    return LaminaError("INVALID_PARAMETER", message, parameter=parameter, **details)
