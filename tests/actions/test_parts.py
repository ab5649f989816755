"""Parts of a document: sections by name, those that answer a question, the outline, a budget; and passages of hits."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import Ask, Corpus, Deploy
from tests.corpora import Deployed
from tests.transports import Transport

from lamina.contract.tokens import count_tokens
from lamina.corpus.blocks import blocks, fitting

FILLER = "Nothing of note happens here, and so it goes on for a while.\n\n" * 6
GUIDE = f"""---
title: The Guide
---
# The Guide

What the guide is about.

## Batteries

{FILLER}
### Charging

The charger wants 48 volts, never more.

| Pack | Volts |
| --- | --- |
| small | 12 |

## Antennas

{FILLER}
## [1.2.0] - 2024-05-01, revised

The mast grew.

## Antenna cables

Coax of ten metres.
"""
LINES = GUIDE.split("\n")


@pytest.fixture
def guide(deploy: Deploy) -> Deployed:
    """A page with sections, and one without."""
    return deploy({"docs/guide.md": GUIDE, "docs/plain.md": f"{FILLER}The whistle is blue.\n\n{FILLER}"})


def in_file(lines: list[int]) -> str:
    """The lines of the guide, first to last."""
    return "\n".join(LINES[lines[0] - 1 : lines[1]])


def test_one_section_is_the_body_and_several_come_each_with_its_own(guide: Deployed, transport: Transport) -> None:
    one = transport.call(guide, "get", {"uri": "docs/guide", "section": "charging"}).envelope["data"]
    assert one["body"].startswith("### Charging")
    [section] = one["sections"]
    assert (section["slug"], section["heading"]) == ("charging", "Charging")
    assert in_file(section["lines"]) == one["body"].rstrip()
    assert "body" not in section
    names = ["Antenna cables", "[1.2.0] - 2024-05-01, revised", "charging"]
    several = transport.call(guide, "get", {"uri": "docs/guide", "section": names}).envelope["data"]
    assert [entry["heading"] for entry in several["sections"]] == [*names[:2], "Charging"]
    assert all(entry["body"].rstrip() == in_file(entry["lines"]) for entry in several["sections"])
    assert all(entry["tokens"] == count_tokens(entry["body"]) for entry in several["sections"])
    assert "body" not in several


def test_a_unique_part_of_a_heading_is_enough_and_a_part_of_two_is_told(guide: Deployed, transport: Transport) -> None:
    for part in ("charg", "Cables", "1.2.0", "antenna-cab"):
        data = transport.call(guide, "get", {"uri": "docs/guide", "section": part}).envelope["data"]
        assert len(data["sections"]) == 1, part
    refused = transport.call(guide, "get", {"uri": "docs/guide", "section": "anten"}).envelope
    assert refused["error_code"] == "SECTION_NOT_FOUND"
    assert "Antennas" in refused["headings"]
    assert json.dumps(refused).count("Antenna cables") == 1


def test_an_outline_stands_in_for_the_body_and_tells_what_each_section_costs(
    guide: Deployed, transport: Transport
) -> None:
    reply = transport.call(guide, "get", {"uri": "docs/guide", "outline": True})
    data = reply.envelope["data"]
    assert "body" not in data and reply.envelope["disclosure_applied"] == []
    assert [entry["level"] for entry in data["outline"]] == [1, 2, 3, 2, 2, 2]
    for entry in data["outline"]:
        assert entry["heading"] in LINES[entry["line"] - 1]
        section = transport.call(guide, "get", {"uri": "docs/guide", "section": entry["slug"]}).envelope["data"]
        assert entry["tokens"] == count_tokens(section["body"])


def test_about_gives_the_sections_that_answer_best_first(guide: Deployed, transport: Transport) -> None:
    asked = {"uri": "docs/guide", "about": "how many volts does the charger want"}
    data = transport.call(guide, "resolve", asked).envelope["data"]
    assert data["sections"][0]["slug"] == "charging"
    assert "48 volts" in data["sections"][0]["body"]
    plain = transport.call(guide, "get", {"uri": "docs/plain", "about": "whistle"}).envelope["data"]
    assert plain["sections"][0]["slug"] is None
    assert "whistle" in plain["sections"][0]["body"]
    nothing = transport.call(guide, "get", {"uri": "docs/guide", "about": "zebra"}).envelope["data"]
    assert nothing["sections"] == []


def test_a_budget_gives_whole_blocks_and_says_where_to_go_on(guide: Deployed, transport: Transport) -> None:
    data: dict[str, Any] = {"next_line": 1}
    parts = []
    while data["next_line"] is not None:
        asked = {"uri": "docs/guide", "max_tokens": 60, "from_line": data["next_line"]}
        data = transport.call(guide, "get", asked).envelope["data"]
        assert count_tokens(data["body"]) <= 60
        assert in_file(data["lines"]) == data["body"].rstrip("\n")
        parts.append(data["body"])
    assert "".join(parts) == GUIDE.partition("---\ntitle: The Guide\n---\n")[2]
    assert data["omitted_by_budget"] == 0
    within = transport.call(guide, "get", {"uri": "docs/guide", "section": "batteries", "max_tokens": 40}).envelope
    assert within["data"]["sections"][0]["next_line"] is not None
    assert within["data"]["omitted_by_budget"] > 0


@pytest.mark.parametrize(
    ("arguments", "parameter"),
    [
        ({"outline": True, "section": "Charging"}, "outline"),
        ({"outline": True, "about": "volts"}, "outline"),
        ({"section": "Charging", "about": "volts"}, "about"),
        ({"section": "Charging", "from_line": 5}, "from_line"),
        ({"from_line": 10_000}, "from_line"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"section": [str(number) for number in range(21)]}, "section"),
    ],
)
def test_what_does_not_go_together_is_refused(
    guide: Deployed, asking: Any, arguments: dict[str, Any], parameter: str
) -> None:
    ask: Ask = asking(guide)
    envelope = ask("get", uri="docs/guide", **arguments).envelope
    assert (envelope["error_code"], envelope["parameter"]) == ("INVALID_PARAMETER", parameter)


def test_a_hit_names_its_section_ready_for_get_and_brings_the_passage(guide: Deployed, transport: Transport) -> None:
    asked = {"query": "charger 48 volts", "passage": 1, "sizes": True}
    [hit] = transport.call(guide, "search", asked).envelope["data"][:1]
    assert hit["section"] == "charging"
    section = transport.call(guide, "get", {"uri": hit["uri"], "section": hit["section"]}).envelope["data"]
    passage = hit["passage"]
    assert passage["text"] == section["body"]
    assert (passage["heading"], passage["lines"]) == ("Charging", section["sections"][0]["lines"])
    assert passage["sha256"] == section["content_hash"] == hashlib.sha256(GUIDE.encode()).hexdigest()
    assert hit["body_tokens"] > 100
    bare = transport.call(guide, "search", {"query": "charger 48 volts", "snippet": False}).envelope["data"][0]
    assert set(bare) == {"uri", "title", "score", "section"}


@pytest.mark.parametrize("budget", [400, 500, 700, 900, 1500])
def test_passages_fit_in_the_budget_of_the_caller(sample: Corpus, asking: Any, budget: int) -> None:
    ask: Ask = asking(sample.deployed)
    reply = ask("search", query=sample.query, passage=2, limit=5, max_tokens=budget)
    assert reply.envelope["status"] == "FOUND", reply.text
    assert count_tokens(reply.text) <= budget
    assert sum("passage" in hit for hit in reply.envelope["data"]) == (2 if budget >= 700 else 0)


def test_a_passage_is_cut_around_what_matched(deploy: Deploy, asking: Any) -> None:
    body = "# Long\n\n" + "Filler of many words.\n\n" * 400 + "The whistle is blue.\n\n" + "And more of it.\n\n" * 400
    ask: Ask = asking(deploy({"docs/long.md": body}))
    [hit] = ask("search", query="blue whistle", passage=1).envelope["data"]
    assert "The whistle is blue." in hit["passage"]["text"]
    assert count_tokens(hit["passage"]["text"]) <= 600
    first, last = hit["passage"]["lines"]
    assert "\n".join(body.split("\n")[first - 1 : last]) == hit["passage"]["text"].rstrip()


def test_what_the_filters_removed_is_told_by_kind_and_filter_with_the_best_of_it(
    deploy: Deploy, transport: Transport
) -> None:
    text = "The whistle is blue."
    deployed = deploy(
        {
            "odd/best.md": "# Blue whistle\n\nBlue whistle.\n",
            "odd/other.md": f"# Other\n\n{text}\n",
            "docs/draft.md": f"---\nexposure: draft\n---\n# Draft\n\n{text}\n",
            "docs/public.md": f"---\nexposure: public\n---\n# Public\n\n{text} {FILLER}\n",
        }
    )
    for action, asked in (("search", {"query": "blue whistle"}), ("brief", {"question": "blue whistle"})):
        extra = {"exposure": "public"} if action == "search" else {}
        envelope = transport.call(deployed, action, {**asked, **extra}).envelope
        expected = {"journals": 2, **({"exposure": 1} if extra else {})}
        assert (envelope["filtered_out_by"], envelope["filtered_out"]) == (expected, sum(expected.values()))
        assert envelope["best_filtered"] == {"uri": "kb://odd/best", "title": "Blue whistle"}
    everything = {"query": "blue whistle", "include": ["docs", "journals"]}
    found = transport.call(deployed, "search", everything).envelope
    assert {"filtered_out_by", "best_filtered"}.isdisjoint(found)
    task = transport.call(deployed, "preflight", {"task": "blue whistle"}).envelope
    assert task["filtered_out_by"] == {"journals": 2}


@given(st.text(st.sampled_from("ab`~ \n\r#>-"), max_size=200), st.integers(1, 60))
def test_blocks_are_the_text_and_what_fits_is_its_beginning(text: str, budget: int) -> None:
    assert "".join(blocks(text)) == text
    taken = fitting(text, budget)
    assert text.startswith(taken)
    assert count_tokens(taken) <= max(budget, len(taken.encode()) * (len(taken.encode()) <= budget))


def test_a_block_holds_a_whole_code_fence() -> None:
    text = "Before.\n\n```\ncode\n\nmore\n```\n\nAfter.\n"
    assert blocks(text) == ["Before.\n\n", "```\ncode\n\nmore\n```\n\n", "After.\n"]
