"""What callers send for a number, a flag or a list, and the value that is clearly meant by it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator

# A list is echoed in the answer, so it is bounded; no path of a knowledge base is longer than a value may be.
MOST_VALUES = 100
LONGEST_VALUE = 1024

_INTEGER = re.compile(r"[+-]?\d{1,18}")
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def _integer(value: Any) -> Any:
    _refuse_several(value)
    if isinstance(value, str) and _INTEGER.fullmatch(value.strip()):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError("must be a whole number")
    return value


def _boolean(value: Any) -> Any:
    _refuse_several(value)
    if isinstance(value, str) and value.strip().lower() in _BOOLEANS:
        return _BOOLEANS[value.strip().lower()]
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def _list(value: Any) -> Any:
    """A list of scalars: sent as one, as its JSON text, comma-separated, or as its only item."""
    if isinstance(value, str):
        text = value.strip()
        if text.startswith("["):
            try:
                value = json.loads(text)
            except (ValueError, RecursionError) as error:
                raise ValueError("must be a list, its JSON text, or comma-separated values") from error
        else:
            value = text.split(",")
    if not isinstance(value, list | tuple):
        value = [value]
    items = [item.strip() if isinstance(item, str) else item for item in value]
    scalars = tuple(dict.fromkeys(_scalar(item) for item in items if item != ""))
    if len(scalars) > MOST_VALUES:
        raise ValueError(f"must hold at most {MOST_VALUES} values")
    return scalars


def _scalar(item: Any) -> Any:
    if isinstance(item, bool) or not isinstance(item, str | int | float):
        raise ValueError("must hold text or numbers only")
    if isinstance(item, str) and len(item) > LONGEST_VALUE:
        raise ValueError(f"must hold values of at most {LONGEST_VALUE} characters")
    return item


def only(value: Any) -> Any:
    """The item of a list of one, which is how some callers send a text; anything else as it is."""
    return value[0] if isinstance(value, list | tuple) and len(value) == 1 else value


def _refuse_several(value: Any) -> None:
    if isinstance(value, list | tuple) and len(value) > 1:
        raise ValueError(f"was given {len(value)} values and takes one")


def _text(value: Any) -> Any:
    value = only(value)
    _refuse_several(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise ValueError("must be text")
    return encodable(value)


def _string_list(value: Any) -> Any:
    return tuple(encodable(str(item)) for item in _list(value))


def _names(value: Any) -> Any:
    """Texts with any signs in them, commas too: one, a list, or the JSON text of a list."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            read = json.loads(value)
        except (ValueError, RecursionError):
            read = None
        # A heading may begin with a bracket.
        if isinstance(read, list) and all(isinstance(item, str) for item in read):
            value = read
    items = value if isinstance(value, list | tuple) else [value]
    return tuple(dict.fromkeys(text for text in map(_text, items) if text.strip()))


def _integer_list(value: Any) -> Any:
    return tuple(_integer(item) for item in _list(value))


def encodable(text: str) -> str:
    """The text with lone surrogates, which UTF-8 cannot carry, replaced."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def takes_names(metadata: Sequence[Any]) -> bool:
    """Whether a field, by its metadata, is of names, whose commas are their own."""
    return any(isinstance(entry, BeforeValidator) and entry.func is _names for entry in metadata)


Integer = Annotated[int, BeforeValidator(_integer)]
Boolean = Annotated[bool, BeforeValidator(_boolean)]
Text = Annotated[str, BeforeValidator(_text)]
Names = Annotated[tuple[str, ...], BeforeValidator(_names)]
TextList = Annotated[tuple[str, ...], BeforeValidator(_string_list)]
IntegerList = Annotated[tuple[int, ...], BeforeValidator(_integer_list)]
