"""What a caller may say to any action, how it becomes a request, and how a wrong one is told.

An action's request is a model that derives from `Request`. It validates a call and is published as JSON Schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from lamina.contract.coercion import Boolean, Text, encodable, only
from lamina.contract.disclosure import Flag, checked_flags, ordered
from lamina.contract.errors import LaminaError, invalid_parameter
from lamina.contract.filters import STRUCTURAL_FILTERS, UNSUPPORTED_FILTERS, Filters
from lamina.contract.ids import Revision

MAX_BODY_BYTES = 256 * 1024
MAX_MAIN_ARGUMENT_BYTES = 128 * 1024
# Each frame of a batch is a call; more of them than this would outlast the function.
MAX_BATCH = 50
PASSED_OVER: Mapping[str, str] = {
    "include_metadata": "whether hits carried their frontmatter; ask for it by `disclosure`",
    "context": "text beside the question",
    "mode": "a mode of the older assistant",
    "state": "the state of an older conversation",
    "filter_epoch": "an epoch of the older index",
    "canon_url": "where the older baseline came from; the deployment decides that",
}
"""Parameters that older callers send to every action and that say nothing here, with what they were."""
LEGACY_REMOVED_IN = "2.0"


class Grouping(StrEnum):
    """How overlay and baseline hits are ordered against each other."""

    MERGED = "merged"
    OVERLAY_FIRST = "overlay_first"
    GROUPED = "grouped"
    OVERLAY_PREFERRED = "overlay_preferred"


class SearchScope(StrEnum):
    """The corpus of a call that names a knowledge base."""

    MERGED = "merged"
    KB_WITH_REQUIRED_BASELINE = "kb_with_required_baseline"
    KB_ONLY = "kb_only"


class Request(BaseModel):
    """What all actions take.

    `main` is the parameter that a call must fill, also under the name `input`; `permitted` are the flags that the
    action's `disclosure` allows, and `elsewhere` says where to get what the other flags would buy.
    """

    # A model is built at its first call: those of other actions, and those only derived from, never cost a cold start.
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    action: ClassVar[str]
    main: ClassVar[str | None] = None
    permitted: ClassVar[tuple[Flag, ...]] = ()
    elsewhere: ClassVar[str] = ""

    knowledge_base_url: Text | None = Field(None, description="Overlay to search too: its name or URL.")
    revision: Text | None = Field(None, description="Of an earlier answer, to stay on it.")
    include_legacy_envelope: Boolean = Field(
        False,
        description=f"Adds `legacy`, the fields of the legacy shape. Removed in {LEGACY_REMOVED_IN}.",
        json_schema_extra={"deprecated": True},
    )
    consumer: Text | None = Field(None, description="Your name.")

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> Self:
        """The validated request. Raises LaminaError for whatever is wrong with it, most telling first."""
        for name in raw:
            if name not in cls.model_fields and name not in PASSED_OVER:
                raise cls.unknown(encodable(str(name)[:64]))
        known = {name: value for name, value in raw.items() if name in cls.model_fields}
        given = {name: value for name, value in known.items() if not _is_not_given(cls, name, value)}
        if cls.main is not None:
            given = _with_main(cls.main, given)
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            raise _as_lamina(cls, error) from error

    @classmethod
    def unknown(cls, name: str) -> LaminaError:
        """The error of a parameter that there is not; a request that can say more than this overrides it."""
        if name in UNSUPPORTED_FILTERS:
            return LaminaError(
                "CATEGORY_FILTER_NOT_SUPPORTED",
                f"{name!r} is no filter. Select a slice by {', '.join(STRUCTURAL_FILTERS)}; tags narrows it further.",
                parameter=name,
                structural_filters=list(STRUCTURAL_FILTERS),
            )
        known = sorted(cls.model_fields)
        message = f"unknown parameter {name!r} on {cls.action}. It takes {', '.join(known)}."
        return invalid_parameter(name, message, parameters=known)

    @property
    def flags(self) -> tuple[Flag, ...]:
        """The active flags in canonical order; none where an action takes no `disclosure`."""
        return ordered(Flag(name) for name in getattr(self, "disclosure", ()))

    @property
    def scope(self) -> SearchScope | None:
        """The scope that the action searches or lists, where it does."""
        return None

    @property
    def grouping(self) -> Grouping | None:
        """The order of overlay against baseline, where the action ranks."""
        return None

    def filters(self) -> Filters | None:
        """The filters as the ranking reads them, where the action takes any."""
        return None

    @property
    def bodies(self) -> int:
        """How many bodies, or passages of bodies, it asks for, which are counted for each caller."""
        return int(Flag.BODY in self.flags)

    @property
    def wants_receipt(self) -> bool:
        """Whether a record of the answer is to be minted and kept."""
        return False

    @field_validator("disclosure", check_fields=False)
    @classmethod
    def _flags_are_permitted(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return checked_flags(cls.action, value, cls.permitted, cls.elsewhere)

    @field_validator("revision")
    @classmethod
    def _revision_is_one(cls, value: str | None) -> str | None:
        if value is not None and Revision.parse(value) is None:
            raise ValueError(
                "must be a revision as an answer carries it: 12 hexadecimal digits, or twice 12 with a dot"
            )
        return value


def _is_not_given(cls: type[Request], name: str, value: Any) -> bool:
    """Whether a value says nothing: clients fill in an optional text that they have no value for with an empty one."""
    return value is None or (value == "" and cls.model_fields[name].annotation == (Text | None))


def _with_main(main: str, given: dict[str, Any]) -> dict[str, Any]:
    """Moves `input` to the main argument's own name; both may be sent if they say the same."""
    alias = only(given.pop("input", None))
    value = only(given.get(main, alias))
    if alias not in (None, "") and value not in (None, "") and alias != value:
        raise invalid_parameter("input", f"input and {main} differ. They are one parameter: send {main} alone.")
    value = alias if value in (None, "") else value
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
