"""Numbers, flags and lists as callers send them."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from lamina.contract.coercion import Boolean, Integer, IntegerList, Text, TextList, encodable

INTEGER: TypeAdapter[int] = TypeAdapter(Integer)
BOOLEAN: TypeAdapter[bool] = TypeAdapter(Boolean)
TEXT: TypeAdapter[str] = TypeAdapter(Text)
TEXTS: TypeAdapter[tuple[str, ...]] = TypeAdapter(TextList)
INTEGERS: TypeAdapter[tuple[int, ...]] = TypeAdapter(IntegerList)


@pytest.mark.parametrize(
    ("adapter", "sent", "meant"),
    [
        (INTEGER, 25, 25),
        (INTEGER, "25", 25),
        (INTEGER, " -3 ", -3),
        (INTEGER, 25.0, 25),
        (BOOLEAN, True, True),
        (BOOLEAN, "FALSE", False),
        (BOOLEAN, "1", True),
        (TEXT, "a", "a"),
        (TEXT, ["a"], "a"),
        (TEXT, 5, "5"),
        (TEXT, "a\ud800b", "a?b"),
        (TEXTS, "a", ("a",)),
        (TEXTS, "a, b,,a", ("a", "b")),
        (TEXTS, '["a", "b"]', ("a", "b")),
        (TEXTS, ["a", " b "], ("a", "b")),
        (TEXTS, [], ()),
        (TEXTS, "", ()),
        (TEXTS, [1, "b"], ("1", "b")),
        (TEXTS, "\ud800", ("?",)),
        (INTEGERS, "[1, 2]", (1, 2)),
        (INTEGERS, 1, (1,)),
        (INTEGERS, ["1", 2.0], (1, 2)),
    ],
)
def test_what_is_clearly_meant_is_understood(adapter: TypeAdapter[Any], sent: Any, meant: Any) -> None:
    assert adapter.validate_python(sent) == meant


@pytest.mark.parametrize(
    ("adapter", "sent"),
    [
        (INTEGER, "ten"),
        (INTEGER, "1e400"),
        (INTEGER, ""),
        (INTEGER, "1_000"),
        (INTEGER, "9" * 19),
        (INTEGER, True),
        (INTEGER, 2.5),
        (INTEGER, float("inf")),
        (INTEGER, float("nan")),
        (INTEGER, [1]),
        (INTEGER, None),
        (BOOLEAN, "perhaps"),
        (BOOLEAN, 1),
        (BOOLEAN, None),
        (TEXT, ["a", "b"]),
        (TEXT, []),
        (TEXT, {}),
        (TEXT, True),
        (TEXTS, [["a"]]),
        (TEXTS, [None]),
        (TEXTS, {"a": 1}),
        (TEXTS, True),
        (TEXTS, "[broken"),
        (TEXTS, "[" * 100_000),
        (TEXTS, ["x" * 1025]),
        (TEXTS, [str(number) for number in range(101)]),
        (INTEGERS, "1,two"),
        (INTEGERS, [True]),
        (INTEGERS, "[1e400]"),
    ],
)
def test_what_is_not_clear_is_refused(adapter: TypeAdapter[Any], sent: Any) -> None:
    with pytest.raises(ValidationError):
        adapter.validate_python(sent)


def test_only_lone_surrogates_are_replaced() -> None:
    assert encodable("é漢\U0001f600\x00") == "é漢\U0001f600\x00"
    assert encodable("\ud800\udc00") == "??"
