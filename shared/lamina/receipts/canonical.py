"""The one form in which a record is digested: RFC 8785 JSON, SHA-256 of its bytes in 64 lowercase digits."""

from __future__ import annotations

import json
from typing import Any, NoReturn

import rfc8785
from pydantic import BaseModel, ConfigDict, ValidationError

from lamina.contract.ids import sha256_hex

DIGEST_PATTERN = "^[0-9a-f]{64}$"


class Refused(ValueError):  # noqa: N818 - named for what happened to the record
    """A record is not what it has to be; the message says where and why."""


class Fields(BaseModel):
    """Exactly the fields of a record, nothing coerced and nothing beside them."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, populate_by_name=True)


def canonical(value: Any) -> bytes:
    """The value as RFC 8785 JSON. Raises Refused for what JSON cannot carry."""
    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, RecursionError) as error:
        raise Refused(f"it has no canonical form: {error}") from error


def digest_of(value: Any) -> str:
    """The digest of a JSON value."""
    return sha256_hex(canonical(value))


def parse(content: bytes) -> Any:
    """The JSON value of UTF-8 bytes. Raises Refused, also for NaN and for a name that an object holds twice."""
    try:
        return json.loads(content.decode("utf-8"), parse_constant=_no_constant, object_pairs_hook=_each_once)
    except Refused:
        raise
    except (ValueError, RecursionError) as error:
        raise Refused("it is not JSON in UTF-8") from error


def first_fault(error: ValidationError) -> Refused:
    """What is wrong with a record, in one line."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"]) or "the record"
    context = first.get("ctx", {}).get("error")
    return Refused(f"{place}: {context or first['msg'].lower()}")


def _no_constant(name: str) -> NoReturn:
    raise Refused(f"{name} is no JSON")


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in value if names.count(name) > 1)
        raise Refused(f"it holds {twice[:64]!r} twice")
    return value
