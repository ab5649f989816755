"""Flags and caps: the most restrictive one decides, and its error says so."""

from __future__ import annotations

import pytest

from lamina.contract.disclosure import (
    CAPS,
    DOCUMENT_FLAGS,
    LIST_FLAGS,
    Flag,
    cap_for,
    check_limit,
    checked_flags,
    ordered,
)
from lamina.contract.errors import LaminaError


def test_the_caps_are_those_of_the_contract() -> None:
    assert {str(flag) if flag else None: cap for flag, cap in CAPS.items()} == {
        None: 500,
        "blockquote": 200,
        "metadata": 100,
        "summary": 25,
        "body": 1,
    }


@pytest.mark.parametrize(
    ("flags", "cap", "limiting"),
    [
        ([], 500, None),
        ([Flag.BLOCKQUOTE], 200, Flag.BLOCKQUOTE),
        ([Flag.BLOCKQUOTE, Flag.METADATA], 100, Flag.METADATA),
        ([Flag.SUMMARY, Flag.BLOCKQUOTE], 25, Flag.SUMMARY),
        (list(Flag), 1, Flag.BODY),
    ],
)
def test_the_most_restrictive_flag_sets_the_cap(flags: list[Flag], cap: int, limiting: Flag | None) -> None:
    assert cap_for(flags) == (cap, limiting)
    check_limit(cap, flags)
    with pytest.raises(LaminaError) as raised:
        check_limit(cap + 1, flags)
    assert raised.value.kind.code == "LIMIT_EXCEEDS_FLAG_CAP"
    assert raised.value.details["limiting_flag"] == limiting


def test_flags_come_once_and_in_one_order() -> None:
    assert ordered([Flag.BODY, Flag.SUMMARY, Flag.BLOCKQUOTE, Flag.SUMMARY]) == (
        Flag.BLOCKQUOTE,
        Flag.SUMMARY,
        Flag.BODY,
    )


def test_a_body_is_for_single_documents() -> None:
    assert checked_flags("get", ("body",), DOCUMENT_FLAGS) == ("body",)
    with pytest.raises(LaminaError, match="Permitted flags on search: blockquote, metadata, summary"):
        checked_flags("search", ("summary", "body"), LIST_FLAGS)
