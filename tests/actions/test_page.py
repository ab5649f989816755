"""A page under its budget: all of it, the longest run that fits, a reduced entry, or a refusal that says what fits."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.corpora import page

from lamina.actions.action import QueryContext
from lamina.actions.catalog import CatalogRequest, catalog
from lamina.contract.envelope import Envelope, compact
from lamina.contract.errors import LaminaError
from lamina.contract.ports import SourceFile
from lamina.contract.tokens import count_tokens
from lamina.index.build import SourceRevision, build
from lamina.index.snapshot import Origin
from lamina.ranking.scope import Scopes


@pytest.fixture(scope="module")
def context() -> QueryContext:
    files = {
        f"docs/{number:03}.md": page(f"Document {number}", f"> {'word ' * number}.", note="x " * (number * 3))
        for number in range(1, 121)
    }
    files["docs/000.md"] = "A document without any tier.\n"
    sources = tuple(SourceFile(path, content.encode()) for path, content in files.items())
    return QueryContext(Scopes(build([SourceRevision(Origin.BASELINE, "b" * 64, sources)])[0], ()))


def listed(context: QueryContext, **arguments: object) -> Envelope:
    return catalog(CatalogRequest.of(arguments), context).envelope


@pytest.mark.parametrize("budget", [*range(150, 400, 7), 1_000, 2_500, 9_999])
def test_the_run_is_the_longest_that_fits(context: QueryContext, budget: int) -> None:
    arguments = {"max_tokens": budget, "disclosure": ["blockquote"], "limit": 100, "offset": 3}
    envelope = listed(context, **arguments)
    assert count_tokens(compact(envelope)) <= budget
    assert envelope["returned"] == len(envelope["data"]) >= 1
    assert envelope["returned"] + envelope["omitted_by_budget"] == 100
    if "omitted_flags" in envelope["data"][0] or envelope["omitted_by_budget"] == 0:
        return
    # The same run with room for one more entry would pass the budget.
    more = listed(context, **{**arguments, "max_tokens": 30_000, "limit": envelope["returned"] + 1})
    assert count_tokens(compact(more)) > budget - 5


def test_a_page_from_an_older_snapshot_says_so_within_its_budget(context: QueryContext) -> None:
    fresh = listed(context, limit=100, disclosure=["blockquote"], max_tokens=2_500)
    exact = count_tokens(compact(fresh))
    older = listed(replace(context, stale=True), limit=100, disclosure=["blockquote"], max_tokens=exact)
    assert older["stale"] is True
    assert count_tokens(compact(older)) <= exact
    assert older["returned"] < fresh["returned"]


def test_the_native_fields_of_a_reduced_entry_stay(context: QueryContext) -> None:
    envelope = listed(context, disclosure=["metadata"], offset=120, max_tokens=200)
    assert envelope["data"] == [
        {"uri": "kb://docs/120", "title": "Document 120", "position": 121, "omitted_flags": ["metadata"]}
    ]
    assert (envelope["returned"], envelope["omitted_by_budget"], envelope["next_offset"]) == (1, 0, None)


def test_a_tier_that_is_missing_is_null(context: QueryContext) -> None:
    (entry,) = listed(context, limit=1, disclosure=["blockquote", "metadata", "summary"])["data"]
    assert (entry["blockquote"], entry["metadata"], entry["summary"]) == (None, None, None)


def test_a_refusal_says_what_fits(context: QueryContext) -> None:
    with pytest.raises(LaminaError) as raised:
        listed(context, limit=100, offset=21, disclosure=["metadata", "blockquote"])
    fits = raised.value.details["largest_limit_that_fits"]
    assert 0 < fits < 100
    whole = listed(context, limit=fits, offset=21, disclosure=["metadata", "blockquote"])
    assert len(whole["data"]) == fits
    assert count_tokens(compact(whole)) <= 30_000
    with pytest.raises(LaminaError):
        listed(context, limit=fits + 1, offset=21, disclosure=["metadata", "blockquote"])
