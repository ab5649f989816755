"""catalog: a structural listing of the documents that pass the filters."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from lamina.actions.action import Action, QueryContext
from lamina.actions.legacy import catalog_fields, legacy_tokens
from lamina.actions.page import Page, Row, cached_by_all, page_answer
from lamina.actions.parameters import ListRequest
from lamina.actions.ranked import ranked_facts
from lamina.contract.envelope import Answer
from lamina.contract.schema import AnswerField
from lamina.index.snapshot import Snapshot
from lamina.ranking.scope import check_values, passing


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


class CatalogRequest(ListRequest):
    """The parameters of catalog."""

    action: ClassVar[str] = "catalog"

    sort_by: SortBy = Field(SortBy.PATH, description="What to sort by; undated and untiered documents come last.")
    order: Order | None = Field(None, description="Not given: asc, by date desc.")

    @property
    def is_descending(self) -> bool:
        """Whether the last comes first."""
        return (self.order or (Order.DESC if self.sort_by == SortBy.DATE else Order.ASC)) == Order.DESC


def catalog(request: CatalogRequest, context: QueryContext) -> Answer:
    """Lists a slice of the scope."""
    snapshot, filters = context.snapshot, request.filters()
    check_values(filters, snapshot)
    scope = context.scopes[request.scope]
    found = _sorted(snapshot, np.flatnonzero(scope.searched & passing(filters, snapshot)).tolist(), request)
    page = found[request.offset : request.offset + request.limit]
    rows = [Row(number, {"position": request.offset + at}) for at, number in enumerate(page, start=1)]
    echo: dict[str, Any] = dict(filters.echo())
    if request.knowledge_base_url is not None:
        echo["search_scope"] = str(request.scope)

    envelope = Page(
        context,
        request,
        rows,
        len(found),
        echo,
        native=lambda shown, entries: {},
        legacy=lambda entries: catalog_fields(snapshot, scope),
    ).envelope()
    # The legacy catalog answered every document of the corpus with its whole frontmatter, whatever was asked.
    whole = legacy_tokens(snapshot, np.flatnonzero(scope.searched).tolist())
    listed = scope.overlay[np.array(found, dtype=np.int64)]
    facts = ranked_facts(scope, hits=listed, legacy=whole)
    return Answer(envelope, snapshot.revision, facts)


def _sorted(snapshot: Snapshot, documents: list[int], request: CatalogRequest) -> list[int]:
    """By the key, what has none last, ties by URI: documents come in order of URI and sorting is stable."""
    key = _KEYS[request.sort_by](snapshot)
    having = [number for number in documents if key(number) is not None]
    lacking = [number for number in documents if key(number) is None]
    # Sorting in reverse is stable too: equal keys keep the order of their URIs.
    return sorted(having, key=key, reverse=request.is_descending) + lacking


_KEYS: dict[SortBy, Callable[[Snapshot], Callable[[int], Any]]] = {
    SortBy.PATH: lambda snapshot: snapshot.paths.__getitem__,
    SortBy.TITLE: lambda snapshot: lambda number: snapshot.titles[number].casefold(),
    SortBy.DATE: lambda snapshot: snapshot.dates.__getitem__,
    SortBy.TIER: lambda snapshot: lambda number: min(snapshot.tier[number], default=None),
}

_POSITION = AnswerField("position", {"type": "integer", "minimum": 1}, "place in the whole listing, from 1")

ACTION = Action(
    CatalogRequest.action,
    "The documents of a slice, sorted: the cheapest way to see what there is.",
    CatalogRequest,
    catalog,
    page_answer(CatalogRequest, (_POSITION,)),
    cached=cached_by_all,
)
