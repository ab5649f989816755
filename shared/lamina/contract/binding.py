"""Decides how what a caller sent becomes a request, and how a wrong one is told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from lamina.contract.coercion import encodable, only
from lamina.contract.errors import LaminaError, invalid_parameter
from lamina.contract.filters import FILTERS, STRUCTURAL_FILTERS, UNSUPPORTED_FILTERS

if TYPE_CHECKING:
    from lamina.contract.request import Request

    R = TypeVar("R", bound=Request)

MAX_BODY_BYTES = 256 * 1024
MAX_MAIN_ARGUMENT_BYTES = 128 * 1024

_NOT_GIVEN = [(name, "") for name in ("knowledge_base_url", "revision", "section", "consumer")]


def bind(cls: type[R], raw: Mapping[str, Any]) -> R:
    """The validated request. Raises LaminaError for whatever is wrong with it, most telling first."""
    _check_names(cls, raw)
    # Clients fill in an optional text that they have no value for with an empty one.
    given = {name: value for name, value in raw.items() if value is not None and (name, value) not in _NOT_GIVEN}
    if cls.main is not None:
        given = _with_main(cls, cls.main, given)
    try:
        return cls.model_validate(given)
    except ValidationError as error:
        raise _as_lamina(cls, error) from error


def _check_names(cls: type[Request], raw: Mapping[str, Any]) -> None:
    for raw_name in raw:
        if raw_name in cls.model_fields:
            continue
        name = encodable(str(raw_name)[:64])
        if name in UNSUPPORTED_FILTERS:
            raise LaminaError(
                "CATEGORY_FILTER_NOT_SUPPORTED",
                f"{name!r} is no filter. Select a slice by {', '.join(STRUCTURAL_FILTERS)}; tags narrows it further.",
                parameter=name,
                structural_filters=list(STRUCTURAL_FILTERS),
            )
        if name in FILTERS and cls.main == "uri":
            raise LaminaError(
                "FILTER_NOT_PERMITTED",
                f"filter {name!r} is not permitted on {cls.action}: the URI is the selector. "
                "Use search or catalog to select by filters.",
                parameter=name,
            )
        known = sorted(cls.model_fields)
        raise invalid_parameter(
            name,
            f"unknown parameter {name!r} on {cls.action}. It takes {', '.join(known)}.",
            parameters=known,
        )


def _with_main(cls: type[Request], main: str, given: dict[str, Any]) -> dict[str, Any]:
    """Moves `input` to the main argument's own name; both may be sent if they say the same."""
    older = only(given.pop("input", None))
    value = only(given.get(main, older))
    if older not in (None, "") and value not in (None, "") and older != value:
        raise invalid_parameter("input", f"input and {main} differ. They are one parameter: send {main} alone.")
    value = older if value in (None, "") else value
    if isinstance(value, str) and len(value.encode("utf-8", "replace")) > MAX_MAIN_ARGUMENT_BYTES:
        raise LaminaError(
            "REQUEST_TOO_LARGE",
            f"{main} is over {MAX_MAIN_ARGUMENT_BYTES} bytes. Send less text.",
            parameter=main,
            max_bytes=MAX_MAIN_ARGUMENT_BYTES,
        )
    if value is None or value == [] or (isinstance(value, str) and not value.replace("\x00", " ").strip()):
        raise LaminaError("EMPTY_QUERY", f"{main} is empty. Send some text in {main!r}.", parameter=main)
    return {**given, main: value}


def _as_lamina(cls: type[Request], error: ValidationError) -> LaminaError:
    """The first thing that pydantic found, in our words: its own would echo the whole input."""
    first = error.errors(include_url=False, include_input=False)[0]
    name = str(first["loc"][0]) if first["loc"] else cls.action
    context = first.get("ctx", {})
    if first["type"] == "value_error":
        reason = str(context["error"])
    elif first["type"] == "greater_than_equal":
        reason = f"must be at least {context['ge']}"
    elif first["type"] == "less_than_equal":
        reason = f"must be at most {context['le']}"
    elif first["type"] == "enum":
        reason = f"must be one of {context['expected']}"
    else:
        reason = first["msg"].lower()
    return invalid_parameter(name, f"{name} {reason}.")
