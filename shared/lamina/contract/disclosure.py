"""Disclosure: which tiers a caller may buy on top of the floor, and how many documents a page may then hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from lamina.contract.errors import LaminaError, invalid_parameter


class Flag(StrEnum):
    """A tier of a document, in the order in which entries carry them."""

    BLOCKQUOTE = "blockquote"
    METADATA = "metadata"
    SUMMARY = "summary"
    BODY = "body"


MEANINGS: Mapping[Flag | None, str] = {
    None: "`uri` and `title`, always",
    Flag.BLOCKQUOTE: "the one-paragraph blockquote under the H1",
    Flag.METADATA: "the whole frontmatter",
    Flag.SUMMARY: "the `## Summary` section",
    Flag.BODY: "the whole document after its frontmatter",
}
"""What a flag adds to a document; None is the floor."""

# Most documents per response; None is the floor. Chosen with the token ceiling: see contract/tokens.py.
CAPS: dict[Flag | None, int] = {
    None: 500,
    Flag.BLOCKQUOTE: 200,
    Flag.METADATA: 100,
    Flag.SUMMARY: 25,
    Flag.BODY: 1,
}

LIST_FLAGS = (Flag.BLOCKQUOTE, Flag.METADATA, Flag.SUMMARY)
DOCUMENT_FLAGS = (*LIST_FLAGS, Flag.BODY)
DEFAULT_LIMIT = 25


def ordered(flags: Iterable[Flag]) -> tuple[Flag, ...]:
    """The flags once each, in canonical order, so that equal requests give equal bytes."""
    asked = set(flags)
    return tuple(flag for flag in Flag if flag in asked)


def checked_flags(
    action: str, names: tuple[str, ...], permitted: Sequence[Flag], elsewhere: str = ""
) -> tuple[str, ...]:
    """The names, each a flag that the action permits; `elsewhere` says where to get what the others would buy.

    Raises INVALID_PARAMETER for a flag that there is not, else DISCLOSURE_FLAG_NOT_PERMITTED for the first refused.
    """
    known = [str(flag) for flag in Flag]
    offered = ", ".join(permitted)
    for name in names:
        if name not in known:
            raise invalid_parameter(
                "disclosure",
                f"disclosure flag {name!r} does not exist. Flags on {action}: {offered}.",
                requested_flag=name,
                permitted_flags=[str(flag) for flag in permitted],
            )
    for name in names:
        if name not in permitted:
            raise LaminaError(
                "DISCLOSURE_FLAG_NOT_PERMITTED",
                f"disclosure flag '{name}' is not permitted on action '{action}'. "
                f"{f'{elsewhere} ' if elsewhere else ''}Permitted flags on {action}: {offered}.",
                requested_flag=name,
                permitted_flags=[str(flag) for flag in permitted],
            )
    return names


def cap_for(flags: Iterable[Flag]) -> tuple[int, Flag | None]:
    """The most restrictive cap in play and the flag that sets it, None where it is the floor's."""
    limiting: Flag | None = min(flags, key=CAPS.__getitem__, default=None)
    return CAPS[limiting], limiting


def check_limit(limit: int, flags: Sequence[Flag]) -> None:
    """Raises LIMIT_EXCEEDS_FLAG_CAP for a limit above the cap of the active flags."""
    cap, limiting = cap_for(flags)
    if limit <= cap:
        return
    if limiting is None:
        message = f"limit {limit} exceeds the maximum {cap}. Paginate with offset."
    else:
        message = (
            f"limit {limit} exceeds the maximum {cap} for disclosure flag '{limiting}'. "
            f"Paginate with offset, or remove the '{limiting}' flag."
        )
    raise LaminaError(
        "LIMIT_EXCEEDS_FLAG_CAP",
        message,
        max_limit_for_active_flags=cap,
        limiting_flag=None if limiting is None else str(limiting),
        requested_limit=limit,
    )
