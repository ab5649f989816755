"""The parameters that several actions share, their defaults and bounds: a request is made of these parts."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, field_validator, model_validator

from lamina.contract.coercion import Boolean, Integer, IntegerList, TextList
from lamina.contract.disclosure import CAPS, DEFAULT_LIMIT, LIST_FLAGS, Flag, check_limit
from lamina.contract.errors import LaminaError, invalid_parameter
from lamina.contract.filters import DEFAULT_INCLUDE, KINDS, Filters, Kind
from lamina.contract.request import Grouping, Request, SearchScope
from lamina.corpus.languages import code_of


def _told_caps() -> str:
    """The cap of each flag that a list permits, the floor's first."""
    return f"At most {CAPS[None]}; with {', '.join(f'{flag} {CAPS[flag]}' for flag in LIST_FLAGS)}."


class ScopedRequest(Request):
    """What every action takes that searches or lists: the corpus."""

    search_scope: SearchScope | None = Field(None, description="Corpus under an overlay; default merged.")
    baseline_in_search: Boolean | None = Field(
        None, description="Older form of search_scope.", json_schema_extra={"deprecated": True}
    )
    include_full_baseline: Boolean | None = Field(
        None, description="Older form of search_scope.", json_schema_extra={"deprecated": True}
    )

    @property
    def scope(self) -> SearchScope:
        """The scope in force, legacy spellings included."""
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

    result_grouping: Grouping | None = Field(None, description="Order under an overlay; default overlay_first.")

    @property
    def grouping(self) -> Grouping:
        """The grouping in force."""
        if self.result_grouping is not None:
            return self.result_grouping
        return Grouping.MERGED if self.knowledge_base_url is None else Grouping.OVERLAY_FIRST


class ListRequest(ScopedRequest):
    """What every action takes that lists documents: disclosure, filters, paging."""

    permitted: ClassVar[tuple[Flag, ...]] = LIST_FLAGS
    elsewhere: ClassVar[str] = "Use oddkit_get with a URI for full-body retrieval."

    disclosure: TextList = Field(
        (),
        description="Tiers to add.",
        json_schema_extra={"items": {"type": "string", "enum": [str(flag) for flag in LIST_FLAGS]}},
    )
    limit: Integer = Field(
        DEFAULT_LIMIT,
        ge=1,
        description=_told_caps(),
        json_schema_extra={"maximum": CAPS[None]},
    )
    offset: Integer = Field(0, ge=0, description="Documents to skip.")
    max_tokens: Annotated[Integer, Field(ge=1)] | None = Field(None, description="Most tokens of the answer.")
    # A filter that is not given filters nothing: an empty default would cost callers of tools and tell them nothing.
    audience: TextList = Field(default_factory=tuple, description="Readers, such as public.")
    exposure: TextList = Field(default_factory=tuple, description="Such as public, draft.")
    tier: IntegerList = Field(default_factory=tuple, description="Importance, 1 to 4.")
    public: Boolean | None = Field(None, description="Marked public.")
    start_here: Boolean | None = Field(None, description="Marked as a start.")
    path_prefix: TextList = Field(default_factory=tuple, description="Beginnings of paths.")
    language: TextList = Field(default_factory=tuple, description="Such as de, ja.")
    include: TextList = Field(
        DEFAULT_INCLUDE,
        description="Kinds to allow.",
        json_schema_extra={"items": {"type": "string", "enum": list(KINDS)}, "minItems": 1},
    )
    exclude: TextList = Field(
        default_factory=tuple,
        description="Kinds to deny.",
        json_schema_extra={"items": {"type": "string", "enum": list(KINDS)}},
    )
    tags: TextList = Field(default_factory=tuple, description="Carries all of them.")
    exclude_invalidated: Boolean = Field(False, description="Leave out refuted and superseded ones.")

    def filters(self) -> Filters:
        """The filters as the ranking reads them."""
        return Filters(
            audience=self.audience,
            exposure=self.exposure,
            tier=self.tier,
            public=self.public,
            start_here=self.start_here,
            path_prefix=tuple(prefix.lstrip("/") for prefix in self.path_prefix),
            language=tuple(code_of(tag) or tag for tag in self.language),
            tags=self.tags,
            include=tuple(KINDS[name] for name in self.include),
            exclude=tuple(KINDS[name] for name in self.exclude),
            exclude_invalidated=self.exclude_invalidated,
        )

    @field_validator("include", "exclude")
    @classmethod
    def _kinds_exist(cls, value: tuple[str, ...], info: Any) -> tuple[str, ...]:
        check_kinds(info.field_name, value)
        if info.field_name == "include":
            check_some_kind(info.field_name, value)
        return value

    @model_validator(mode="after")
    def _limit_is_under_the_cap(self) -> Self:
        check_limit(self.limit, self.flags)
        return self


class RankedRequest(ListRequest, GroupedRequest):
    """What every action takes that lists documents by a text."""

    prefix: Boolean = Field(False, description="The last word is unfinished.")
    sizes: Boolean = Field(False, description="Add `body_tokens` to each hit.")


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


def check_some_kind(parameter: str, names: tuple[str, ...]) -> None:
    """Raises INVALID_PARAMETER where nothing is allowed, which no document could pass."""
    if not names:
        usual = ", ".join(DEFAULT_INCLUDE)
        raise invalid_parameter(parameter, f"{parameter} is empty and lets nothing through. Leave it out for {usual}.")


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
