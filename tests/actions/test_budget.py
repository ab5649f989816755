"""What an answer may cost: the ceiling that no list passes, and the budget that a caller sets itself."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

import pytest
from tests.actions.workloads import WORKLOADS
from tests.conftest import Ask, Corpus, Deploy
from tests.corpora import Deployed, page
from tests.transports import TRANSPORTS, Direct, Reply, Transport

from lamina.contract.tokens import count_tokens

CEILING = 30_000
CAPS = {"blockquote": 200, "metadata": 100, "summary": 25}
FLAG_SETS = [list(some) for size in range(4) for some in combinations(CAPS, size)]
KINDS = ["canon", "docs", "journals", "essays", "apocrypha"]
MAIN = {"search": {"query": "the canon of done"}, "preflight": {"task": "write an essay"}, "catalog": {}}


def cap_of(flags: list[str]) -> int:
    return min((CAPS[flag] for flag in flags), default=500)


def direct(deployed: Deployed) -> Ask:
    return lambda action, /, **arguments: Direct(("", 0)).call(deployed, action, arguments)


def within_ceiling(reply: Reply) -> bool:
    """Whether the page was given; a refused one must say so, and both must stay under the ceiling."""
    assert len(reply.text) < CEILING or count_tokens(reply.text) <= CEILING
    if reply.envelope["status"] == "ERROR":
        assert reply.envelope["error_code"] == "RESPONSE_EXCEEDS_TOKEN_BUDGET"
        return False
    return True


def test_a_catalog_without_arguments_costs_under_1300_tokens(real: Corpus, transport: Transport) -> None:
    reply = transport.call(real.deployed, "catalog", {})
    assert len(reply.envelope["data"]) == 25
    assert count_tokens(reply.text) < 1300


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda item: item.use)
def test_every_reference_workload_finds_documents_under_the_ceiling(real: Corpus, workload: Any) -> None:
    reply = direct(real.deployed)(workload.action, **workload.arguments)
    assert reply.envelope["status"] == "FOUND"
    assert count_tokens(reply.text) <= CEILING


@pytest.mark.parametrize("flags", FLAG_SETS, ids=lambda flags: "+".join(flags) or "floor")
@pytest.mark.parametrize("action", MAIN)
def test_no_page_at_its_cap_passes_the_ceiling_at_any_offset(real: Corpus, action: str, flags: list[str]) -> None:
    ask, limit = direct(real.deployed), cap_of(flags)
    outcomes: Counter[bool] = Counter()
    for extra in ({"include": KINDS}, {"include": KINDS, "knowledge_base_url": real.overlay}):
        total = ask(action, limit=1, **MAIN[action], **extra).envelope["total"]
        for offset in range(0, total, limit):
            reply = ask(action, limit=limit, offset=offset, disclosure=flags, **MAIN[action], **extra)
            outcomes[within_ceiling(reply)] += 1
    assert outcomes[True] > 0
    if action == "catalog" and "metadata" in flags and "summary" not in flags:
        assert outcomes[False] > 0, "a hundred documents with metadata are known to pass the ceiling"


@pytest.mark.parametrize("action", MAIN)
def test_no_page_with_the_older_fields_passes_the_ceiling(real: Corpus, action: str) -> None:
    ask = direct(real.deployed)
    for flags in FLAG_SETS:
        for offset in (0, 111):
            within_ceiling(
                ask(
                    action,
                    limit=cap_of(flags),
                    offset=offset,
                    disclosure=flags,
                    include_legacy_envelope=True,
                    include=KINDS,
                    **MAIN[action],
                )
            )


@pytest.mark.parametrize("arguments", [{"sort_by": "title"}, {"sort_by": "date", "order": "desc"}, {"sort_by": "tier"}])
def test_no_order_brings_a_page_past_the_ceiling(real: Corpus, arguments: dict[str, Any]) -> None:
    ask = direct(real.deployed)
    for flags in FLAG_SETS:
        within_ceiling(ask("catalog", limit=cap_of(flags), disclosure=flags, include=KINDS, **arguments))


def test_grouped_results_are_counted_with_their_groups(real: Corpus) -> None:
    ask = direct(real.deployed)
    for flags in FLAG_SETS:
        reply = ask(
            "search",
            query="the canon of done",
            knowledge_base_url=real.overlay,
            result_grouping="grouped",
            limit=cap_of(flags),
            disclosure=flags,
            include=KINDS,
        )
        within_ceiling(reply)


def refused(ask: Ask, action: str, **arguments: Any) -> list[dict[str, Any]]:
    """Every refusal of a walk at the cap."""
    found = []
    for flags in (["metadata"], ["blockquote", "metadata"]):
        for offset in range(0, 600, 100):
            reply = ask(action, limit=100, offset=offset, disclosure=flags, **arguments).envelope
            if reply.get("error_code") == "RESPONSE_EXCEEDS_TOKEN_BUDGET":
                found.append({**reply, "flags": flags})
    return found


@pytest.mark.parametrize("action", MAIN)
def test_the_largest_limit_that_fits_does_fit_and_one_more_does_not(real: Corpus, action: str) -> None:
    ask = direct(real.deployed)
    arguments = {**MAIN[action], "include": KINDS}
    refusals = refused(ask, action, **arguments)
    assert refusals
    for item in refusals:
        limit, offset, flags = item["largest_limit_that_fits"], item["offset"], item["flags"]
        assert 0 < limit < item["requested_limit"] == 100
        assert item["max_response_tokens"] == CEILING
        assert str(limit) in item["error_message"]
        fits = ask(action, limit=limit, offset=offset, disclosure=flags, **arguments)
        assert within_ceiling(fits)
        assert len(fits.envelope["data"]) == limit
        over = ask(action, limit=limit + 1, offset=offset, disclosure=flags, **arguments).envelope
        assert over["error_code"] == "RESPONSE_EXCEEDS_TOKEN_BUDGET"
        assert over["largest_limit_that_fits"] == limit


HEAVY = {
    **{f"docs/{letter}.md": page(letter.upper(), "> A quotation.\n\nText.") for letter in "abdefg"},
    "docs/c.md": page("C", "> A quotation.\n\nText.", history=" ".join(f"entry-{n}" for n in range(12_000))),
}


def test_a_document_that_is_too_large_alone_is_told_apart_from_a_page_that_is(deploy: Deploy) -> None:
    ask = direct(deploy(HEAVY))
    page_over = ask("catalog", disclosure=["metadata"]).envelope
    assert page_over["largest_limit_that_fits"] == 2
    alone = ask("catalog", disclosure=["metadata"], offset=2).envelope
    assert alone["error_code"] == "RESPONSE_EXCEEDS_TOKEN_BUDGET"
    assert alone["largest_limit_that_fits"] == 0
    assert "fewer flags or the next offset" in alone["error_message"]
    assert ask("catalog", disclosure=["metadata"], offset=2, limit=1).envelope["largest_limit_that_fits"] == 0
    assert ask("catalog", disclosure=["metadata"], offset=3).envelope["status"] == "FOUND"
    assert ask("catalog", disclosure=["blockquote"]).envelope["status"] == "FOUND"


@pytest.mark.parametrize("action", ["get", "resolve"])
def test_a_body_past_the_ceiling_comes_in_parts_of_whole_blocks_that_are_the_body(deploy: Deploy, action: str) -> None:
    blocks = [f"Block {number}.\n" + "word and word\n" * 40 for number in range(600)]
    body = "# Long\n\n" + "\n".join(blocks)
    ask = direct(deploy({"docs/long.md": f"---\ntitle: Long\n---\n{body}"}))
    parts: list[str] = []
    following: int | None = 1
    while following is not None:
        data = ask(action, uri="docs/long", from_line=following).envelope["data"]
        assert count_tokens(data["body"]) <= CEILING < data["body_tokens"]
        first, last = data["lines"]
        assert first == max(following, 4)
        assert body.split("\n")[first - 4 : last - 3] == data["body"].rstrip("\n").split("\n")
        parts.append(data["body"])
        following = data["next_line"]
    assert len(parts) > 2
    assert all(part.startswith("Block") for part in parts[1:])
    assert "".join(parts) == body
    assert ask(action, uri="docs/long").envelope["data"]["body"] == parts[0]


def test_a_line_past_the_ceiling_is_given_whole_unless_the_caller_sets_a_budget(deploy: Deploy) -> None:
    ask = direct(deploy({"docs/line.md": "word and word " * 20_000 + "\n\nLast.\n"}))
    data = ask("get", uri="docs/line").envelope["data"]
    assert (count_tokens(data["body"]) > CEILING, data["lines"], data["next_line"]) == (True, [1, 1], 2)
    cut = ask("get", uri="docs/line", max_tokens=50).envelope["data"]
    assert (count_tokens(cut["body"]), cut["next_line"]) == (50, 2)
    assert cut["omitted_by_budget"] > CEILING


@pytest.mark.parametrize("action", MAIN)
@pytest.mark.parametrize("flags", [[], ["blockquote"], ["blockquote", "metadata", "summary"]])
def test_a_budget_returns_the_longest_run_that_fits_and_says_what_it_left_out(
    corpus: Corpus, action: str, flags: list[str]
) -> None:
    ask = direct(corpus.deployed)
    arguments = {**MAIN[action], "disclosure": flags, "limit": 20, "offset": 2, "include": KINDS}
    unbounded = ask(action, **arguments).envelope
    whole = len(unbounded["data"])
    for budget in (400, 700, 1500, 4000, 29_999, 1_000_000):
        reply = ask(action, max_tokens=budget, **arguments)
        if reply.envelope["status"] == "ERROR":
            assert reply.envelope["error_code"] == "RESPONSE_EXCEEDS_TOKEN_BUDGET"
            assert budget == 400
            continue
        assert count_tokens(reply.text) <= budget
        data, returned = reply.envelope["data"], reply.envelope["returned"]
        assert returned == len(data) > 0
        assert reply.envelope["omitted_by_budget"] == whole - returned
        assert reply.envelope["next_offset"] == (2 + returned if 2 + returned < unbounded["total"] else None)
        assert reply.envelope["total"] == unbounded["total"]
        if "omitted_flags" not in data[0]:
            assert data == unbounded["data"][:returned]
        if returned < whole and "omitted_flags" not in data[0]:
            longer = ask(action, **{**arguments, "limit": returned + 1}).text
            # The account of the budget takes a few tokens of its own.
            assert count_tokens(longer) > budget - 40


def test_a_budgeted_walk_visits_everything_once(corpus: Corpus) -> None:
    ask = direct(corpus.deployed)
    expected = ask("catalog", limit=60).uris[:60]
    found: list[str] = []
    offset: int | None = 0
    while offset is not None and len(found) < 60:
        reply = ask("catalog", max_tokens=1200, disclosure=["blockquote"], limit=60, offset=offset)
        found += reply.uris
        offset = reply.envelope["next_offset"]
    assert expected == found[:60]


def test_the_last_page_has_no_next_offset(sample: Corpus, transport: Transport) -> None:
    reply = transport.call(sample.deployed, "catalog", {"max_tokens": 30_000, "limit": 500}).envelope
    assert reply["returned"] == reply["total"]
    assert reply["omitted_by_budget"] == 0
    assert reply["next_offset"] is None
    past = transport.call(sample.deployed, "catalog", {"max_tokens": 300, "offset": 9_999}).envelope
    assert (past["data"], past["returned"], past["next_offset"]) == ([], 0, None)


def test_a_single_entry_over_budget_is_reduced_and_names_the_flags_left_out(
    transport: Transport, deploy: Deploy
) -> None:
    deployed = deploy(HEAVY)
    arguments = {"offset": 2, "disclosure": ["metadata", "blockquote"], "max_tokens": 400}
    reply = transport.call(deployed, "catalog", arguments)
    (entry,) = reply.envelope["data"]
    assert entry == {
        "uri": "kb://docs/c",
        "title": "C",
        "position": 3,
        "omitted_flags": ["blockquote", "metadata"],
    }
    assert reply.envelope["returned"] == 1
    assert reply.envelope["omitted_by_budget"] == 4
    assert reply.envelope["next_offset"] == 3
    assert count_tokens(reply.text) <= 400


def test_a_budget_too_small_for_anything_is_an_error(sample: Corpus, transport: Transport) -> None:
    for action in ("search", "catalog", "preflight"):
        arguments = {"search": {"query": "gauge"}, "preflight": {"task": "gauge"}}.get(action, {})
        reply = transport.call(sample.deployed, action, {**arguments, "max_tokens": 10})
        assert reply.envelope["error_code"] == "RESPONSE_EXCEEDS_TOKEN_BUDGET"
        assert reply.envelope["largest_limit_that_fits"] == 0
        assert reply.envelope["max_response_tokens"] == 10


def test_without_a_budget_nothing_is_said_of_one(sample: Corpus) -> None:
    envelope = TRANSPORTS["direct"](("", 0)).call(sample.deployed, "catalog", {}).envelope
    assert {"returned", "omitted_by_budget", "next_offset"}.isdisjoint(envelope)
