"""What a caller may say: the parameters that actions share, their defaults and bounds.

An action's request is a model made of these parts. The same model validates a call and is published as JSON Schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from lamina.contract.binding import bind
from lamina.contract.coercion import Boolean, Integer, IntegerList, Text, TextList
from lamina.contract.disclosure import (
    DEFAULT_LIMIT,
    DOCUMENT_FLAGS,
    LIST_FLAGS,
    Flag,
    check_limit,
    check_permitted,
    ordered,
)
from lamina.contract.errors import LaminaError, invalid_parameter
from lamina.contract.filters import KINDS, Filters, Kind
from lamina.contract.ids import Revision

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


class SortBy(StrEnum):
    """The order of a catalog."""

    PATH = "path"
    TITLE = "title"
    DATE = "date"
    TIER = "tier"


class Order(StrEnum):
    """The direction of a catalog."""

    ASC = "asc"
    DESC = "desc"


class Request(BaseModel):
    """What all actions take."""

    # A model is built at its first call: those of other actions, and those only derived from, never cost a cold start.
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    action: ClassVar[str]
    main: ClassVar[str | None] = None
    permitted: ClassVar[tuple[Flag, ...]]

    knowledge_base_url: Text | None = Field(
        None, description="A knowledge base on the allow list, by name or URL, laid over the baseline."
    )
    revision: Text | None = Field(
        None, description="The `revision` of an earlier answer: the same snapshot answers again."
    )
    include_legacy_envelope: Boolean = Field(
        False,
        description=f"Adds `legacy`, the fields of the older shape. Removed in {LEGACY_REMOVED_IN}.",
        json_schema_extra={"deprecated": True},
    )
    consumer: Text | None = Field(None, description="A label for the caller, for telemetry alone.")

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> Self:
        """The validated request. Raises LaminaError for whatever is wrong with it, most telling first."""
        return bind(cls, raw)

    @property
    def wants_receipt(self) -> bool:
        """Whether a record of the answer is to be minted and kept."""
        return False

    @field_validator("revision")
    @classmethod
    def _revision_is_one(cls, value: str | None) -> str | None:
        if value is not None and Revision.parse(value) is None:
            raise ValueError(
                "must be a revision as an answer carries it: 12 hexadecimal digits, or twice 12 with a dot"
            )
        return value


class ScopedRequest(Request):
    """What every action takes that searches or lists: the corpus."""

    search_scope: SearchScope | None = Field(
        None, description="With a knowledge base: which corpus is searched. Default merged."
    )
    baseline_in_search: Boolean | None = Field(
        None, description="Older form of search_scope.", json_schema_extra={"deprecated": True}
    )
    include_full_baseline: Boolean | None = Field(
        None, description="Older form of search_scope.", json_schema_extra={"deprecated": True}
    )

    @property
    def scope(self) -> SearchScope:
        """The scope in force, older spellings included."""
        return self.search_scope or _scope_of_booleans(self) or SearchScope.MERGED

    @model_validator(mode="after")
    def _scope_is_one(self) -> Self:
        meant = _scope_of_booleans(self)
        if self.search_scope is not None and meant is not None and self.search_scope != meant:
            raise invalid_parameter(
                "search_scope",
                f"search_scope {self.search_scope} contradicts the older boolean beside it, which means {meant}. "
                "Send search_scope alone.",
            )
        if self.knowledge_base_url is None and self.scope != SearchScope.MERGED:
            raise invalid_parameter(
                "search_scope",
                f"search_scope {self.scope} needs knowledge_base_url: without one the baseline is the whole corpus.",
            )
        return self


class GroupedRequest(ScopedRequest):
    """What every action takes that ranks: the order of overlay against baseline."""

    result_grouping: Grouping | None = Field(
        None,
        description="Order of overlay against baseline hits. Default overlay_first with a knowledge base.",
    )

    @property
    def grouping(self) -> Grouping:
        """The grouping in force."""
        if self.result_grouping is not None:
            return self.result_grouping
        return Grouping.MERGED if self.knowledge_base_url is None else Grouping.OVERLAY_FIRST


class ListRequest(ScopedRequest):
    """What search, catalog and preflight share: disclosure, filters, paging."""

    permitted: ClassVar[tuple[Flag, ...]] = LIST_FLAGS

    disclosure: TextList = Field(
        (),
        description="Tiers to add to uri and title.",
        json_schema_extra={"items": {"type": "string", "enum": [str(flag) for flag in LIST_FLAGS]}},
    )
    limit: Integer = Field(
        DEFAULT_LIMIT,
        ge=1,
        description="Documents per page: at most 500, with blockquote 200, metadata 100, summary 25.",
    )
    offset: Integer = Field(0, ge=0, description="Documents to pass over.")
    max_tokens: Annotated[Integer, Field(ge=1)] | None = Field(
        None, description="Budget of the response in cl100k_base tokens: the longest run that fits."
    )
    audience: TextList = Field((), description="Reader: canonical values or any that occurs in the corpus.")
    exposure: TextList = Field((), description="Visibility: canonical values or any that occurs in the corpus.")
    tier: IntegerList = Field((), description="Importance, 1 to 4, or any that occurs in the corpus.")
    public: Boolean | None = Field(None, description="Only documents whose `public` is this.")
    start_here: Boolean | None = Field(None, description="Only documents whose `start_here` is this.")
    path_prefix: TextList = Field((), description="Only documents whose repository path begins with one of these.")
    include: TextList = Field(
        (),
        description="Kinds to allow; without it canon, docs and essays.",
        json_schema_extra={"items": {"type": "string", "enum": list(KINDS)}},
    )
    exclude: TextList = Field(
        (),
        description="Kinds to deny, after include.",
        json_schema_extra={"items": {"type": "string", "enum": list(KINDS)}},
    )
    tags: TextList = Field((), description="Only documents that carry all of these, within the slice.")
    exclude_invalidated: Boolean = Field(False, description="Leave out refuted and superseded documents.")

    @property
    def flags(self) -> tuple[Flag, ...]:
        """The active flags in canonical order."""
        return ordered(Flag(name) for name in self.disclosure)

    def filters(self) -> Filters:
        """The filters as the ranking reads them."""
        return Filters(
            audience=self.audience,
            exposure=self.exposure,
            tier=self.tier,
            public=self.public,
            start_here=self.start_here,
            path_prefix=tuple(prefix.lstrip("/") for prefix in self.path_prefix),
            tags=self.tags,
            include=tuple(KINDS[name] for name in self.include),
            exclude=tuple(KINDS[name] for name in self.exclude),
            exclude_invalidated=self.exclude_invalidated,
        )

    @field_validator("disclosure")
    @classmethod
    def _flags_are_permitted(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return _flags(cls, value)

    @field_validator("include", "exclude")
    @classmethod
    def _kinds_exist(cls, value: tuple[str, ...], info: Any) -> tuple[str, ...]:
        check_kinds(info.field_name, value)
        return value

    @model_validator(mode="after")
    def _limit_is_under_the_cap(self) -> Self:
        check_limit(self.limit, self.flags)
        return self


class RankedRequest(ListRequest, GroupedRequest):
    """What search and preflight add."""

    prefix: Boolean = Field(False, description="Take the last word as unfinished.")


class DocumentRequest(Request):
    """What get and resolve share."""

    main: ClassVar[str | None] = "uri"
    permitted: ClassVar[tuple[Flag, ...]] = DOCUMENT_FLAGS

    uri: Text = Field("", description="The document: a URI, an alias or a repository path.")
    input: Text = Field("", description="The same as uri, under its older name.")
    disclosure: TextList = Field(
        (str(Flag.BODY),),
        description="Tiers to add to uri and title.",
        json_schema_extra={"items": {"type": "string", "enum": [str(flag) for flag in DOCUMENT_FLAGS]}},
    )
    section: Text | None = Field(
        None, description="Narrows body to one section with its subsections: a heading's text or slug."
    )

    @property
    def flags(self) -> tuple[Flag, ...]:
        """The active flags in canonical order."""
        return ordered(Flag(name) for name in self.disclosure)

    @field_validator("disclosure")
    @classmethod
    def _flags_are_permitted(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return _flags(cls, value)


def check_kinds(parameter: str, names: tuple[str, ...]) -> None:
    """Raises INVALID_FILTER_VALUE for a name outside the five kinds."""
    for name in names:
        if name not in KINDS:
            raise LaminaError(
                "INVALID_FILTER_VALUE",
                f"{parameter} {name!r} is no kind. The kinds are {', '.join(Kind)}.",
                parameter=parameter,
                requested_value=name,
                possible_values=list(KINDS),
            )


def _flags(cls: type[Request], names: tuple[str, ...]) -> tuple[str, ...]:
    known = [str(flag) for flag in Flag]
    for name in names:
        if name not in known:
            raise invalid_parameter(
                "disclosure",
                f"disclosure flag {name!r} does not exist. Flags on {cls.action}: {', '.join(cls.permitted)}.",
                requested_flag=name,
                permitted_flags=[str(flag) for flag in cls.permitted],
            )
    check_permitted(cls.action, [Flag(name) for name in names], cls.permitted)
    return names


def _scope_of_booleans(request: ScopedRequest) -> SearchScope | None:
    given = {value for value in (request.baseline_in_search, request.include_full_baseline) if value is not None}
    if len(given) > 1:
        raise invalid_parameter(
            "include_full_baseline",
            "baseline_in_search and include_full_baseline contradict each other. Send search_scope instead.",
        )
    if not given:
        return None
    return SearchScope.MERGED if given.pop() else SearchScope.KB_WITH_REQUIRED_BASELINE
