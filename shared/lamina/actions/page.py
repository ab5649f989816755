"""One page of documents: what each entry discloses, and how many of them the token budget lets through."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from lamina.actions.action import Cached, QueryContext
from lamina.actions.entry import Entry, disclosed, entry_fields, floor
from lamina.actions.parameters import ListRequest
from lamina.contract.envelope import FOUND, NOT_FOUND, Envelope, compact
from lamina.contract.errors import LaminaError
from lamina.contract.schema import (
    COUNT,
    LEGACY,
    REVISION,
    STALE,
    TEXTS,
    AnswerField,
    Schema,
    list_of,
    object_of,
    opening,
)
from lamina.contract.tokens import RESPONSE_CEILING, count_each, count_tokens

# What older callers read from the envelope itself.
_READ_BESIDE = ("hits",)
_OMITTED_FLAGS = AnswerField(
    "omitted_flags", TEXTS, "with `max_tokens`: flags that had to go so that one entry fits", always=False
)


@dataclass(frozen=True, slots=True)
class Row:
    """A document on a page with the fields that its action adds by nature."""

    document: int
    native: Mapping[str, Any]


def page_answer(request: type[ListRequest], native: Sequence[AnswerField], *fields: AnswerField) -> Schema:
    """The answer that is a page of documents: `native` in each entry, `fields` beside the page's own."""
    entry = object_of(*entry_fields(request.permitted, *native), _OMITTED_FLAGS)
    return object_of(
        *opening(request.action, FOUND, NOT_FOUND),
        AnswerField("data", list_of(entry)),
        AnswerField("total", COUNT, "documents after filters, before paging"),
        AnswerField("limit", COUNT, "the limit in force"),
        AnswerField("offset", COUNT, "the offset in force"),
        AnswerField("returned", COUNT, "with `max_tokens`: entries in `data`", always=False),
        AnswerField(
            "omitted_by_budget", COUNT, "with `max_tokens`: entries of this page that did not fit", always=False
        ),
        AnswerField(
            "next_offset",
            {"type": ["integer", "null"]},
            "with `max_tokens`: where to go on, null at the end",
            always=False,
        ),
        AnswerField("disclosure_applied", TEXTS, "the flags in force, in canonical order"),
        AnswerField(
            "filters_applied",
            {"type": "object"},
            "the filters in force as arrays; with a knowledge base also scope and grouping",
        ),
        REVISION,
        STALE,
        LEGACY,
        *fields,
    )


def cached_by_all(envelope: Envelope) -> Cached:
    """A page is the same for everybody who may read it."""
    return Cached.BY_ALL


@dataclass(frozen=True, slots=True)
class Page:
    """Rows from the offset on, and how to make an envelope of any first few of them.

    `native` gives the fields that the action adds for the rows and entries that are shown, `legacy` those of the
    legacy shape for the entries.
    """

    context: QueryContext
    request: ListRequest
    rows: Sequence[Row]
    total: int
    filters_applied: Mapping[str, Any]
    native: Callable[[Sequence[Row], list[Entry]], Envelope]
    legacy: Callable[[list[Entry]], Envelope]

    def entries(self) -> list[Entry]:
        """Every row's entry: floor, native fields, disclosed tiers."""
        with_source = self.request.knowledge_base_url is not None
        return [
            {
                **floor(self.context.snapshot, row.document, with_source=with_source),
                **row.native,
                **disclosed(self.context.snapshot, row.document, self.request.flags),
            }
            for row in self.rows
        ]

    def envelope(self) -> Envelope:
        """The page under its budget. Raises RESPONSE_EXCEEDS_TOKEN_BUDGET where it cannot be had."""
        entries = self.entries()
        if self.request.max_tokens is not None:
            return self._budgeted(entries, min(self.request.max_tokens, RESPONSE_CEILING))
        whole = self._of(entries)
        if _may_fit(compact(whole), RESPONSE_CEILING):
            return whole
        fitting = self._largest(entries, RESPONSE_CEILING, self._of)
        raise _exceeds(self.request, RESPONSE_CEILING, fitting)

    def _of(self, entries: list[Entry], account: Envelope | None = None) -> Envelope:
        envelope: Envelope = {
            "status": FOUND if self.total else NOT_FOUND,
            "action": self.request.action,
            "data": entries,
            "total": self.total,
            "limit": self.request.limit,
            "offset": self.request.offset,
            **(account or {}),
            "disclosure_applied": [str(flag) for flag in self.request.flags],
            "filters_applied": self.filters_applied,
            **self.native(self.rows[: len(entries)], entries),
            "revision": str(self.context.snapshot.revision),
        }
        if self.context.stale:
            envelope["stale"] = True
        if self.request.include_legacy_envelope:
            older = self.legacy(entries)
            envelope |= {"legacy": older, **{name: older[name] for name in _READ_BESIDE if name in older}}
        return envelope

    def _of_budget(self, entries: list[Entry]) -> Envelope:
        """The envelope with its account of what the caller's own budget left out."""
        returned = len(entries)
        reached = self.request.offset + returned
        account = {
            "returned": returned,
            "omitted_by_budget": len(self.rows) - returned,
            "next_offset": reached if reached < self.total else None,
        }
        return self._of(entries, account)

    def _budgeted(self, entries: list[Entry], budget: int) -> Envelope:
        count = self._largest(entries, budget, self._of_budget)
        if count > 0 or (not entries and _may_fit(compact(self._of_budget([])), budget)):
            return self._of_budget(entries[:count])
        if entries and self.request.flags:
            bare = {name: value for name, value in entries[0].items() if name not in set(self.request.flags)}
            bare["omitted_flags"] = [str(flag) for flag in self.request.flags]
            reduced = self._of_budget([bare])
            if _may_fit(compact(reduced), budget):
                return reduced
        raise _exceeds(self.request, budget, 0)

    def _largest(self, entries: list[Entry], budget: int, assemble: Callable[[list[Entry]], Envelope]) -> int:
        """The most first entries whose envelope fits; the sum of parts is a guess, the whole is measured."""
        sums = list(accumulate(count_each([compact(entry) for entry in entries])))
        count = bisect_right(sums, budget - count_tokens(compact(assemble([]))))
        while count < len(entries) and _may_fit(compact(assemble(entries[: count + 1])), budget):
            count += 1
        while count > 0 and not _may_fit(compact(assemble(entries[:count])), budget):
            count -= 1
        return count


def _may_fit(text: str, budget: int) -> bool:
    """A token is at least one byte, so short texts need no counting."""
    return len(text.encode()) <= budget or count_tokens(text) <= budget


def _exceeds(request: ListRequest, budget: int, fitting: int) -> LaminaError:
    if fitting:
        advice = f"The largest limit that fits at offset {request.offset} is {fitting}."
    else:
        fewer = "use fewer flags or the next offset" if request.flags else "use the next offset"
        more = "" if budget == RESPONSE_CEILING else ", or raise max_tokens"
        advice = f"The first document alone is too large: {fewer}{more}."
    return LaminaError(
        "RESPONSE_EXCEEDS_TOKEN_BUDGET",
        f"this page would cost more than {budget} tokens. {advice}",
        largest_limit_that_fits=fitting,
        max_response_tokens=budget,
        requested_limit=request.limit,
        offset=request.offset,
    )
