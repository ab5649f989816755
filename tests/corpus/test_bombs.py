"""Files and queries made to cost: each is taken within bounds, and what was left out is told."""

from __future__ import annotations

import random
import string
from itertools import pairwise
from urllib.parse import quote

import pytest
from tests.conftest import Corpus, Deploy
from tests.corpora import Deployed, page
from tests.transports import exchange, handler_of, stand_before

from lamina.contract.request import MAX_MAIN_ARGUMENT_BYTES
from lamina.corpus.config import InvalidSettings, parse_settings
from lamina.corpus.document import parse
from lamina.corpus.markdown import MOST_LINES, outline
from lamina.corpus.plain import MAX_CHARACTERS
from lamina.corpus.remarks import Topic
from lamina.ranking.highlight import plain

SIZE = 500_000
_LETTERS = string.ascii_lowercase[:10]
ALIASES = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]\n" for before, name in pairwise(_LETTERS)
)
MERGES = "a: &a {k: v}\n" + "".join(
    f"{name}: &{name}\n  <<: [{','.join([f'*{before}'] * 9)}]\n" for before, name in pairwise(_LETTERS)
)

# Repeated to half a megabyte; a parser that is worse than linear in any of them would not come back.
UNITS = {
    "flat list": "- a\n",
    "deep list": "- ",
    "numbers": "1. ",
    "quotes": ">",
    "quoted lines": ">>>>>>>>>> a\n",
    "links": "[a](b) ",
    "open links": "[a](",
    "brackets": "[",
    "definitions": "[a]: /b\n",
    "unfinished definitions": "[a]:\n",
    "backticks": "` `` ",
    "fences": "```\n",
    "emphasis": "*a **b ",
    "stars": "*",
    "comments": "<!--",
    "blocks of HTML": "<div>\n",
    "instructions": "<?",
    "underlines": "a\n===\n",
    "tables": "|a|b|\n|-|-|\n",
    "blank lines": "\n",
    "carriage returns": "\r",
    "spaces": " ",
    "NULs": "\0",
    "combining marks": "\u0301",
}


@pytest.mark.parametrize("name", UNITS)
def test_much_of_one_thing_is_a_document(name: str) -> None:
    body = UNITS[name] * (SIZE // len(UNITS[name]))
    found = parse("docs/a.md", f"# Title\n\n> Quote.\n\n{body}\n\n## Summary\n\nEnd.\n".encode())
    assert (found.title, found.blockquote) == ("Title", "Quote.")
    assert found.body.endswith("End.\n")


@pytest.mark.parametrize("unit", ["[a](b)", "*a **b ", "[", "`", "<a ", "\\", "&", "a "])
def test_a_heading_without_end_is_a_heading(unit: str) -> None:
    found = outline(f"# {unit * (SIZE // len(unit))}\n\n## Next\n")
    assert [heading.level for heading in found.headings] == [1, 2]


def test_a_hundred_thousand_headings_are_all_found_and_told_apart() -> None:
    body = "# Title\n\n" + "## *Same*\n\ntext\n\n" * 100_000 + "```\n## not one\n```\n\n## Summary ##\n\nThe end.\n"
    found = outline(body)
    assert len(found.headings) == 100_002
    assert len({heading.slug for heading in found.headings}) == 100_002
    assert found.summary is not None
    assert body[slice(*found.summary)] == "The end."
    assert any(f"over {MOST_LINES} lines" in remark.text for remark in found.remarks)
    for heading in (found.headings[1], found.headings[90_000], found.headings[-1]):
        assert body[heading.start : heading.end].startswith("## ")


def test_a_title_after_all_lines_that_are_parsed_has_no_quote_of_another_place() -> None:
    found = outline("> Not this.\n\n" + "text\n\n" * MOST_LINES + "# Late\n\n> Too late to be seen.\n")
    assert (found.title, found.blockquote) == ("Late", None)


@pytest.mark.parametrize(
    "block",
    {
        "aliases": ALIASES,
        "deep flow": "a: " + "[" * 100_000,
        "deep blocks": "".join(f"{' ' * n}a:\n" for n in range(2_000)),
        "a key for each line": "".join(f"k{n}: v\n" for n in range(100_000)),
        "one key": "k: v\n" * 100_000,
        "base sixty": "a: 1" + ":10" * 300_000,
        "digits": "a: " + "9" * SIZE,
        "itself": "a: &a [*a]\n",
    }.values(),
    ids=range(8),
)
def test_frontmatter_that_expands_or_nests_is_told_and_the_text_kept(block: str) -> None:
    found = parse("docs/a.md", f"---\n{block}\n---\n# Title\n".encode())
    assert found.title == "Title"
    assert not found.metadata
    assert found.remarks[0].topic in (Topic.LOST_FIELD, Topic.SALVAGED_FIELD)
    assert all(len(remark.text) < 500 for remark in found.remarks)


@pytest.mark.parametrize(
    "text",
    [
        ALIASES,
        f"ignore: {'[' * 50_000}",
        "- " * 50_000,
        "scheme: 2025-02-30",
        "scheme: !!bool maybe",
        "scheme: !!float x",
        "ignore: &a [*a]",
        f"ignore: [{'a,' * 100_000}]",
        "x: " + "y" * MAX_CHARACTERS,
        "a\0b",
    ],
    ids=range(10),
)
def test_settings_that_cannot_be_used_are_told_and_never_stop_a_build(text: str, deploy: Deploy) -> None:
    with pytest.raises(InvalidSettings):
        parse_settings(text)
    deployed = deploy({".kb.yml": text, "docs/oak.md": page("Oak")})
    stand_before(deployed)
    assert handler_of("catalog")({}, None)["total"] == 1


def test_merge_keys_that_multiply_do_not() -> None:
    found = parse("docs/a.md", f"---\n{MERGES}---\n# Title\n".encode())
    assert found.metadata is None or found.metadata["j"] == {"k": "v"}


def words_of(unit: str, count: int = 60_000) -> str:
    """Distinct words joined by `unit`, cut to the longest main argument."""
    joined = unit.join(f"w{number}" for number in range(count))
    return joined[:MAX_MAIN_ARGUMENT_BYTES]


def letters() -> str:
    """Words of letters that occur nowhere, each of which is tried against near spellings."""
    chance = random.Random(7)
    return " ".join("".join(chance.choices("abcdefghij", k=8)) for _ in range(14_000))[:MAX_MAIN_ARGUMENT_BYTES]


QUERIES = {
    "distinct words": words_of(" "),
    "unknown words": letters(),
    "one word of parts": words_of("-"),
    "one path": words_of("/"),
    "one long word": "x" * MAX_MAIN_ARGUMENT_BYTES,
    "quotes": '"' * MAX_MAIN_ARGUMENT_BYTES,
    "phrases": '"definition of done" ' * 6_000,
    "Han": "漢字仮名" * 10_000,
    "marks": "a" + "\u0301" * 60_000,
    "apostrophes": "a'" * 60_000,
    "writing": "write " * 20_000,
    "spaces": " " * (MAX_MAIN_ARGUMENT_BYTES - 1) + "x",
}


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize(
    ("action", "main"), [("search", "query"), ("preflight", "task"), ("brief", "question"), ("get", "uri")]
)
def test_a_query_of_128_kib_is_answered(sample: Corpus, name: str, action: str, main: str) -> None:
    stand_before(sample.deployed)
    envelope = handler_of(action)({main: QUERIES[name]}, None)
    assert envelope["status"] in ("FOUND", "NOT_FOUND"), envelope.get("error_code")


@pytest.mark.parametrize(
    "text",
    ["[" * 480, "> " * 240, "- " * 240, "|" * 480, "*_" * 240, "<!--" * 120, "[a](" * 120, "\\" * 480, "~~" * 240],
)
def test_marks_without_end_come_to_an_end_in_a_snippet(text: str) -> None:
    assert len(plain(text + "x" + text)) <= 2 * len(text) + 1


ODD_NAMES = (
    "docs/e\u0301.md",
    "docs/é.md",
    "docs/a b.md",
    "docs/ lead.md",
    "docs/q?x=1#y.md",
    "docs/100%.md",
    "docs/%41.md",
    "docs/a+b&c=d.md",
    "docs/漢字.md",
    "docs/😀.md",
    "docs/\u202etxt.md",
    "docs/a\u200bb.md",
    "docs/'quoted\".md",
    "docs/a;b,c.md",
    "docs/[x].md",
    "docs/a:b.md",
    "docs/https:.md",
    "docs/-.md",
    "docs/.md",
    "docs/..md",
    "docs/x.md.md",
    "docs/X.MD",
    "docs/ﬃ.md",
    "docs/\u2028.md",
    "README.markdown",
)


def test_every_odd_file_name_is_listed_and_can_be_fetched_by_the_uri_that_the_list_gives(
    deploy: Deploy, gateway: tuple[str, int]
) -> None:
    deployed = deploy({name: page(f"Title {number}") for number, name in enumerate(ODD_NAMES)})
    stand_before(deployed)
    listed = handler_of("catalog")({"limit": 100}, None)
    assert listed["total"] == len(ODD_NAMES)
    for entry in listed["data"]:
        for transport in (_direct, _over_http):
            assert transport(deployed, gateway, entry["uri"]) == entry["title"], entry


def _direct(deployed: Deployed, gateway: tuple[str, int], uri: str) -> str:
    title: str = handler_of("get")({"uri": uri}, None)["data"]["title"]
    return title


def _over_http(deployed: Deployed, gateway: tuple[str, int], uri: str) -> str:
    reply = exchange(gateway, deployed, "GET", f"/v1/get?uri={quote(uri, safe='')}")
    title: str = reply.envelope["data"]["title"]
    return title


def test_a_knowledge_base_without_a_document_answers_every_action(deploy: Deploy) -> None:
    deployed = deploy({"notes.txt": "no Markdown"}, empty={"x.txt": "none"})
    stand_before(deployed)
    for knowledge_base in ({}, {"knowledge_base_url": "empty"}):
        for action, main in {"search": "query", "preflight": "task", "brief": "question", "catalog": ""}.items():
            given = {main: "anything at all", **knowledge_base} if main else dict(knowledge_base)
            assert handler_of(action)(given, None)["status"] in ("FOUND", "NOT_FOUND")
        for action in ("get", "resolve"):
            assert handler_of(action)({"uri": "kb://a", **knowledge_base}, None)["status"] == "NOT_FOUND"


def test_an_answer_that_lambda_would_not_carry_is_refused_with_what_to_do(deploy: Deploy) -> None:
    large, five = page("Large", '"a\\ ' * 1_000_000), page("Five", "a " * 2_500_000)
    deployed = deploy({"docs/large.md": large, "docs/five.md": five})
    stand_before(deployed)
    # The line after the heading comes whole, since the caller sets no budget.
    event = {
        "httpMethod": "GET",
        "path": "/v1/get",
        "queryStringParameters": {"uri": "kb://docs/large", "from_line": "7"},
    }
    refused = handler_of("get")(event, None)
    assert refused["statusCode"] == 400
    assert "section" in refused["body"]
    event["queryStringParameters"] = {"uri": "kb://docs/five"}
    assert handler_of("get")(event, None)["statusCode"] == 200
