"""API Gateway proxy event ↔ what a handler needs: arguments in, one JSON answer out."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from lamina.contract.envelope import failure
from lamina.contract.errors import LaminaError
from lamina.contract.request import MAX_BODY_BYTES

JSON_TYPE = "application/json; charset=utf-8"
MAX_NESTING = 64
# Lambda answers with at most 6 MB, of which the rest of the response takes a little.
MOST_ANSWER_BYTES = 6_000_000

_COMMON_HEADERS: Mapping[str, str] = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": "ETag, Retry-After",
    "X-Content-Type-Options": "nosniff",
}


class MalformedEventError(LaminaError):
    """An event that no service sends: null, a list, or a proxy event with a part of another type."""

    def __init__(self, message: str) -> None:
        super().__init__("INVALID_JSON", message)


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request as API Gateway describes it. Header names are lower case; `path` is without the stage."""

    method: str
    path: str
    query: Mapping[str, tuple[str, ...]]
    headers: Mapping[str, str]
    body: bytes
    api_key: str | None = None
    source_ip: str = ""
    path_parameters: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, event: Mapping[str, Any]) -> HttpRequest:
        """The request of a REST API proxy event. A body that is no base64 where it claims to be is empty.

        Raises MalformedEventError for what is no such event.
        """
        if "httpMethod" not in checked_event(event):
            raise MalformedEventError("the event has no httpMethod. Send a REST API proxy event.")
        many: Mapping[str, list[str]] = _part(event, "multiValueQueryStringParameters")
        single: Mapping[str, str] = _part(event, "queryStringParameters")
        headers: Mapping[str, str] = _part(event, "headers")
        identity: Mapping[str, Any] = _part(_part(event, "requestContext"), "identity")
        return cls(
            # HEAD is GET whose answer's body API Gateway drops.
            method=str(event.get("httpMethod", "GET")).upper().replace("HEAD", "GET"),
            path=str(event.get("path", "/")),
            query={name: tuple(values) for name, values in (many or {n: [v] for n, v in single.items()}).items()},
            headers={name.lower(): str(value) for name, value in headers.items()},
            body=_body(event),
            api_key=identity.get("apiKey"),
            source_ip=str(identity.get("sourceIp") or ""),
            path_parameters=_part(event, "pathParameters"),
        )

    def arguments(self) -> dict[str, Any]:
        """The call's arguments: the query string's, and on POST the body's over them. Raises LaminaError."""
        given: dict[str, Any] = {name: list(v) if len(v) > 1 else v[0] for name, v in self.query.items() if v}
        return {**given, **self.json_object()} if self.method == "POST" else given

    def json_object(self) -> dict[str, Any]:
        """The body as a JSON object, `{}` if empty."""
        if len(self.body) > MAX_BODY_BYTES:
            raise LaminaError(
                "REQUEST_TOO_LARGE", f"the body is over {MAX_BODY_BYTES} bytes.", max_bytes=MAX_BODY_BYTES
            )
        if not self.body.strip():
            return {}
        media_type = self.headers.get("content-type", "application/json").split(";")[0].strip().lower()
        if media_type != "application/json" and not media_type.endswith("+json"):
            raise LaminaError("UNSUPPORTED_MEDIA_TYPE", "the body must be JSON: send content-type: application/json.")
        return arguments_of(parse_json(self.body))


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """One answer. `cache_control` is no-store unless it may be kept; `retry_after` are seconds to wait."""

    status: int
    text: str
    content_type: str = JSON_TYPE
    cache_control: str = "no-store"
    headers: Mapping[str, str] = field(default_factory=dict)
    retry_after: int | None = None

    def event(self) -> dict[str, Any]:
        """The proxy response that API Gateway reads; an error in place of one that Lambda would not carry."""
        return self._proxied() if is_carried(self.text) else _too_large()._proxied()

    def _proxied(self) -> dict[str, Any]:
        return {
            "statusCode": self.status,
            "headers": {
                **_COMMON_HEADERS,
                "Content-Type": self.content_type,
                "Cache-Control": self.cache_control,
                **self.headers,
                **({} if self.retry_after is None else {"Retry-After": str(self.retry_after)}),
            },
            "body": self.text,
            "isBase64Encoded": False,
        }


def is_carried(text: str) -> bool:
    """Whether Lambda carries an answer of this text, in which JSON makes two characters of some."""
    return len(text) * 4 <= MOST_ANSWER_BYTES or (
        len(json.dumps(text, ensure_ascii=False).encode("utf-8", "replace")) <= MOST_ANSWER_BYTES
    )


def too_large() -> LaminaError:
    """The error in place of an answer that Lambda would not carry."""
    return LaminaError(
        "RESPONSE_EXCEEDS_TOKEN_BUDGET",
        f"the answer is over {MOST_ANSWER_BYTES} bytes. Ask for one section of the document, or for fewer flags.",
        largest_limit_that_fits=0,
    )


def _too_large() -> HttpResponse:
    error = too_large()
    return HttpResponse(error.kind.http_status, json.dumps(failure(error, None)))


def parse_json(content: bytes) -> Any:
    """The JSON value of UTF-8 bytes. Raises INVALID_JSON for anything else: NaN, depth, duplicate-free or not."""
    try:
        value = json.loads(content.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise LaminaError(
            "INVALID_JSON", "the body is not valid JSON in UTF-8. Send one JSON object, without NaN or infinity."
        ) from error
    return _bounded(value)


def arguments_of(value: Any) -> dict[str, Any]:
    """The value if it is a JSON object of bounded depth. Raises INVALID_JSON."""
    if not isinstance(value, dict):
        raise LaminaError("INVALID_JSON", 'the arguments must be one JSON object, such as {"query": "…"}.')
    _bounded(value)
    return value


def preflight(methods: tuple[str, ...]) -> HttpResponse:
    """The answer to a browser that asks what it may send."""
    return HttpResponse(
        204,
        "",
        headers={
            "Access-Control-Allow-Methods": ", ".join((*methods, "OPTIONS")),
            "Access-Control-Allow-Headers": "Content-Type, If-None-Match, X-Api-Key, X-Oddkit-Client",
            "Access-Control-Max-Age": "86400",
        },
    )


def with_etag(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """The answer under its entity tag; 304 without a body where the caller has it already."""
    tag = f'"{hashlib.sha256(response.text.encode()).hexdigest()[:32]}"'
    asked = [entry.strip().removeprefix("W/") for entry in request.headers.get("if-none-match", "").split(",")]
    headers = {**response.headers, "ETag": tag}
    if tag in asked or "*" in asked:
        return HttpResponse(304, "", response.content_type, response.cache_control, headers)
    return HttpResponse(response.status, response.text, response.content_type, response.cache_control, headers)


def checked_event(event: object) -> Mapping[str, Any]:
    """The event, if it is an object. Raises MalformedEventError."""
    if not isinstance(event, Mapping):
        raise MalformedEventError("the event is no JSON object.")
    return event


def _part(event: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """An object within the event, empty where it is missing or null."""
    part = event.get(name)
    if part is None:
        return {}
    if not isinstance(part, Mapping):
        raise MalformedEventError(f"{name} of the event is no JSON object.")
    return part


def _body(event: Mapping[str, Any]) -> bytes:
    body = event.get("body")
    if not body:
        return b""
    if not event.get("isBase64Encoded"):
        return str(body).encode("utf-8", "replace")
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        return b"\xff"  # read as a body that is no JSON, never as an empty one


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _bounded(value: Any) -> Any:
    if _depth_over(value, MAX_NESTING):
        raise LaminaError("INVALID_JSON", f"the JSON nests deeper than {MAX_NESTING} levels. Send it flatter.")
    return value


def _depth_over(value: Any, limit: int) -> bool:
    layer = [value]
    for _ in range(limit):
        layer = [
            inner
            for outer in layer
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not layer:
            return False
    return True
