"""preflight: before a task, its definition of done, the constraints that govern it, and the relevant documents."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import ClassVar

import numpy as np
from pydantic import Field

from lamina.actions.action import Action, QueryContext
from lamina.actions.entry import Entry
from lamina.actions.legacy import legacy_tokens, start_here
from lamina.actions.page import Page, Row, cached_by_all, page_answer
from lamina.actions.parameters import RankedRequest
from lamina.actions.ranked import (
    BODY_TOKENS,
    FILTERED_OUT,
    MOST_TOP,
    applied,
    filtered_fields,
    grouped,
    grouped_fields,
    ranked_facts,
    sizes,
)
from lamina.contract.coercion import Text
from lamina.contract.envelope import Answer, Envelope
from lamina.contract.request import Grouping
from lamina.contract.schema import AnswerField
from lamina.governance.manifest import DEFINITION_OF_DONE, WRITING_CANON
from lamina.governance.resolution import GOVERNANCE_SOURCE, lowest, read_required
from lamina.index.snapshot import Snapshot
from lamina.ranking.match import weak_or_better
from lamina.ranking.order import standing_first
from lamina.ranking.rank import Ranked, rank
from lamina.ranking.scope import Scope, check_values, passing

DONE, CONSTRAINT, RELEVANT = "definition_of_done", "constraint", "relevant"

# Beyond a few, constraints would push the documents that the task is about off the first page.
MOST_CONSTRAINTS = 3

_CONSTRAINT_TAGS = ("constraint", "constraints")
_WRITING = re.compile(
    r"\b(?:writ(?:e|es|ing)|rewrit(?:e|ing)|draft(?:ing)?|edit(?:ing)?|author(?:ing)?|revis(?:e|ing)|updat(?:e|ing)"
    r"|add(?:ing)?|publish(?:ing)?|compose|composing)\b.*"
    r"\b(?:doc|docs|documents?|documentation|articles?|essays?|pages?|readme|notes?|guides?|posts?|blogs?|canon"
    r"|markdown|specs?|specifications?|changelog|handoffs?|summary|summaries|manuals?|reports?|proposals?|adrs?"
    r"|runbooks?|tutorials?)\b|\.md\b|^\s*document(?:ing)?\s",
    re.IGNORECASE | re.DOTALL,
)


class PreflightRequest(RankedRequest):
    """The parameters of preflight."""

    action: ClassVar[str] = "preflight"
    main: ClassVar[str | None] = "task"

    task: Text = Field("", description="What is about to be done.")
    input: Text = Field(
        "", description="The same as task, under its older name.", json_schema_extra={"deprecated": True}
    )


def preflight(request: PreflightRequest, context: QueryContext) -> Answer:
    """One list, paged and counted as one: definition of done, constraints, relevant documents."""
    snapshot, filters = context.snapshot, request.filters()
    check_values(filters, snapshot)
    scope = context.scopes[request.scope]
    ranked = rank(
        scope.postings,
        request.task,
        text_of=snapshot.text,
        prefix=request.prefix,
        meaning=context.meaning,
        names=context.names,
    )

    done, tier = read_required(snapshot, DEFINITION_OF_DONE, request.scope, context.knowledge_base)
    tiers = [tier]
    constraints = _constraints(snapshot, ranked, scope, request.grouping, done)
    if _WRITING.search(request.task[:2_000]):
        writing, tier = read_required(snapshot, WRITING_CANON, request.scope, context.knowledge_base)
        tiers.append(tier)
        if writing is not None and writing not in constraints:
            constraints = [writing, *constraints]
    finished = [] if done is None else [done]
    named = np.array([*finished, *constraints], dtype=np.int64)

    other = ~np.isin(ranked.found, named)
    passes = passing(filters, snapshot)[ranked.found]
    first = standing_first(request.grouping, ranked, scope.overlay, passes)
    relevant = other & passes
    places = ranked.best(max(request.offset + request.limit, MOST_TOP), relevant, first)
    listed = [
        *((number, DONE) for number in finished),
        *((number, CONSTRAINT) for number in constraints),
        *((number, RELEVANT) for number in ranked.found[places].tolist()),
    ]
    total = len(named) + int(np.count_nonzero(relevant))
    rows = [
        Row(number, {"role": role, **sizes(request, snapshot, number)})
        for number, role in listed[request.offset : request.offset + request.limit]
    ]

    def native(shown: Sequence[Row], entries: list[Entry]) -> Envelope:
        removed = filtered_fields(snapshot, ranked, filters, relevant, other & ~passes)
        fields: Envelope = {**removed, "governance_source": str(lowest(tiers))}
        return fields | grouped(request.grouping, snapshot, [row.document for row in shown])

    def legacy(entries: list[Entry]) -> Envelope:
        return {
            "start_here": start_here(snapshot, scope),
            "constraints": [entry for entry in entries if entry["role"] == CONSTRAINT],
            "dod": next((entry for entry in entries if entry["role"] == DONE), None),
        }

    envelope = Page(context, request, rows, total, applied(request, filters), native, legacy).envelope()
    facts = ranked_facts(
        scope,
        hits=scope.overlay[np.concatenate([named, ranked.found[relevant]])],
        top=scope.overlay[np.array([number for number, _ in listed[:MOST_TOP]], dtype=np.int64)],
        legacy=legacy_tokens(snapshot, [row.document for row in rows]),
    )
    return Answer(envelope, snapshot.revision, facts)


def _constraints(snapshot: Snapshot, ranked: Ranked, scope: Scope, grouping: Grouping, done: int | None) -> list[int]:
    """The best-matching constraint documents that hold real evidence for the task."""
    known = weak_or_better(ranked.coverage)
    every = np.ones(len(ranked.found), dtype=np.bool_)
    order = ranked.best(len(known), known, standing_first(grouping, ranked, scope.overlay, every))
    numbers = ranked.found[order].tolist()
    return list(islice((n for n in numbers if n != done and _is_constraint(snapshot, n)), MOST_CONSTRAINTS))


def _is_constraint(snapshot: Snapshot, number: int) -> bool:
    folders = snapshot.paths[number].split("/")[:-1]
    return "constraints" in folders or any(tag.casefold() in _CONSTRAINT_TAGS for tag in snapshot.tags[number])


_ROLE = AnswerField("role", {"type": "string", "enum": [DONE, CONSTRAINT, RELEVANT]}, "why it is here")

ACTION = Action(
    PreflightRequest.action,
    "What to read before a task: definition of done, constraints, the documents about it.",
    PreflightRequest,
    preflight,
    page_answer(PreflightRequest, (_ROLE, BODY_TOKENS), *FILTERED_OUT, *grouped_fields("data"), GOVERNANCE_SOURCE),
    cached=cached_by_all,
    encodes_queries=True,
)
