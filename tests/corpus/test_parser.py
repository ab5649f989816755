"""What holds of any text at all: parsing never raises, loses nothing, and points where it says."""

from __future__ import annotations

import json
import re
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from lamina.corpus.document import parse
from lamina.corpus.frontmatter import split
from lamina.corpus.markdown import outline

# Pieces of which trouble is made, among any other text.
PIECES = [
    "---\n",
    "---",
    "\n",
    "\r\n",
    "\r",
    "# ",
    "## ",
    "## Summary\n",
    "# H1\n",
    "> ",
    "```\n",
    "````",
    "~~~\n",
    "    ",
    "\t",
    "- ",
    "1. ",
    "===\n",
    "<!--",
    "-->",
    "<pre>",
    "[a]: b\n",
    "\\",
    "*",
    "_",
    "`",
    "\x00",
    "\ufeff",
    "\u2028",
    "\x0b",
    "\x0c",
    "\x85",
    "İ",
    "ﬃ",
    "é",
    "漢字",
    "\U0001f600",
    "title: ",
    "tier: ",
    "&a ",
    "*a",
    "<<: ",
    "? ",
    ": ",
    "!!set ",
    "!!int ",
    "!!float ",
    "!!bool ",
    "!!timestamp ",
    "!!binary ",
    "!!map ",
    "!!omap ",
    "!!python/name:os.system ",
    "{",
    "}",
    "[",
    "]",
    ",",
    "'",
    '"',
    "|\n",
    "@",
    "%",
    "0x",
    "1e999",
    ".nan",
    "2025-02-30",
    "12:61:61",
    "yes",
    "~",
]
text = st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=30).map("".join)
scalar = st.lists(st.sampled_from(PIECES), min_size=1, max_size=8).map("".join)
file = text | st.tuples(scalar, text).map(lambda parts: f"---\nx: {parts[0]}\n---\n{parts[1]}")


def encodable(content: str) -> bool:
    return content == content.encode("utf-8", "replace").decode()


@settings(max_examples=600, deadline=None)
@given(file.filter(encodable))
def test_parsing_never_raises_and_its_document_is_json(content: str) -> None:
    found = parse("docs/a.md", content.encode())
    assert found.title
    json.dumps([found.metadata, found.blockquote, found.summary], allow_nan=False).encode()
    assert all(remark.text and (remark.line or 1) > 0 for remark in found.remarks)


@settings(max_examples=400, deadline=None)
@given(file)
def test_the_body_is_the_end_of_the_text_unchanged(content: str) -> None:
    found = split(content)
    assert content.endswith(found.body)
    if not content.removeprefix("\ufeff").startswith("---"):
        assert found.body == content.removeprefix("\ufeff")


@settings(max_examples=400, deadline=None)
@given(text)
def test_every_heading_points_at_its_heading(body: str) -> None:
    found = outline(body)
    for heading in found.headings:
        section = body[heading.start : heading.end]
        lines = re.split(r"\r\n|\n|\r", section)
        if not re.match(rf" {{0,3}}#{{{heading.level}}}([ \t]|$)", lines[0]):
            underline = r" {0,3}=+[ \t]*" if heading.level == 1 else r" {0,3}-+[ \t]*"
            assert any(re.fullmatch(underline, line) for line in lines[1:])
        assert outline(section).headings[0].text == heading.text


@settings(max_examples=300, deadline=None)
@given(text)
def test_sections_nest_and_their_slugs_differ(body: str) -> None:
    headings = outline(body).headings
    assert [heading.start for heading in headings] == sorted(heading.start for heading in headings)
    for first, second in pairwise(headings):
        assert first.end <= len(body)
        assert second.start < first.end or first.end == second.start
    slugs = [heading.slug for heading in headings]
    assert len(slugs) == len(set(slugs))
