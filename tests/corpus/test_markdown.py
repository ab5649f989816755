"""The block structure of a body: headings, sections, the H1, its blockquote and the Summary."""

from __future__ import annotations

import pytest

from lamina.corpus.markdown import outline, plain_text


def headings(body: str) -> list[tuple[int, str]]:
    return [(heading.level, heading.text) for heading in outline(body).headings]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("# One\n\n## Two\n\n### Three\n", [(1, "One"), (2, "Two"), (3, "Three")]),
        ("One\n===\n\nTwo\n---\n", [(1, "One"), (2, "Two")]),
        ("# One #\n## Two ##\n", [(1, "One"), (2, "Two")]),
        ("```\n# fenced\n```\n# Real\n", [(1, "Real")]),
        ("````\n```\n# fenced\n```\n````\n# Real\n", [(1, "Real")]),
        ("~~~\n# fenced\n# never closed\n", []),
        ("    # indented code\n", []),
        ("> # quoted\n", []),
        ("- # in a list\n", []),
        ("<!--\n# in a comment\n-->\n# Real\n", [(1, "Real")]),
        ("<pre>\n# in HTML\n</pre>\n# Real\n", [(1, "Real")]),
        ("#No space\n", []),
        ("####### Seven\n", []),
        ("#\n", [(1, "")]),
        ("\\# escaped\n", []),
        ("text\n# Interrupts\n", [(1, "Interrupts")]),
        ("# A\r\n\r\n## B\r\n", [(1, "A"), (2, "B")]),
        ("# A\r## B\r", [(1, "A"), (2, "B")]),
        ("# *A* [b](c) `d` &amp; e\\_f\n", [(1, "A b d & e_f")]),
        ("# A\x00B\n", [(1, "A\ufffdB")]),
        ("", []),
    ],
)
def test_only_real_headings_are_headings(body: str, expected: list[tuple[int, str]]) -> None:
    assert expected == headings(body)


def test_a_section_holds_its_subsections_and_ends_at_its_equal_or_better() -> None:
    body = "# A\n\na\n\n## B\n\nb\n\n### C\n\nc\n\n## D\n\nd\n\n# E\n\ne\n"
    sections = {h.text: body[h.start : h.end] for h in outline(body).headings}
    assert sections["A"] == body[: body.index("# E")]
    assert sections["B"] == "## B\n\nb\n\n### C\n\nc\n\n"
    assert sections["C"] == "### C\n\nc\n\n"
    assert sections["D"] == "## D\n\nd\n\n"
    assert sections["E"] == "# E\n\ne\n"


def test_a_repeated_slug_is_numbered() -> None:
    assert [h.slug for h in outline("# A b\n# A b\n# A  b!\n").headings] == ["a-b", "a-b-1", "a-b-2"]
    assert [h.slug for h in outline("# A\n# A\n# A 1\n# A\n").headings] == ["a", "a-1", "a-1-1", "a-2"]


@pytest.mark.parametrize(
    ("body", "blockquote"),
    [
        ("# A\n\n> One\n> two.\n\nText\n", "One\ntwo."),
        ("# A\n> Right under it\n", "Right under it"),
        ("# A\n\n> lazy\ncontinuation\n", "lazy\ncontinuation"),
        ("# A\n\n> one\n\n> two\n", "one"),
        ("# A\n\n> one\n>\n> two\n", "one\n\ntwo"),
        ("# A\n\n>no space\n   > indented\n", "no space\nindented"),
        ("# A\n\n> > nested\n", "> nested"),
        ("# A\r\n\r\n> One\r\n> two\r\n", "One\ntwo"),
        ("# A\n\nText\n\n> later\n", None),
        ("# A\n\n## B\n\n> in a later section\n", None),
        ("> before\n\n# A\n\nText\n", None),
        ("# A\n\n---\n\n> after a rule\n", None),
        ("# A\n\n    > code\n", None),
        ("# A\n\n```\n> fenced\n```\n", None),
        ("# A\n\n# B\n\n> of the second\n", None),
        ("# A\n\nText\n\n# B\n\n> of the second\n", None),
        ("# A\n", None),
        ("> no heading\n", None),
        ("## Only a level 2\n\n> quoted\n", None),
    ],
)
def test_the_blockquote_stands_directly_under_the_first_h1(body: str, blockquote: str | None) -> None:
    assert outline(body).blockquote == blockquote


@pytest.mark.parametrize(
    ("body", "summary"),
    [
        ("# A\n\n## Summary\n\nText.\n\n## B\n", "Text."),
        ("# A\n\n## Summary — One Contract\n\nText.\n", "Text."),
        ("# A\n\n## Summary: what\n\nText.\n\n# B\n", "Text."),
        ("# A\n\n## summary\n\nText.\n", "Text."),
        ("# A\n\n## **Summary**\n\nText.\n", "Text."),
        ("# A\n\n## Summary\n\nOne.\n\n### Part\n\nTwo.\n\n## B\n", "One.\n\n### Part\n\nTwo."),
        ("# A\n\nSummary\n-------\n\nText.\n", "Text."),
        ("# A\n\n## Summary\n\nOne.\n\n## Summary\n\nTwo.\n", "One."),
        ("# A\n\n## Summary\n\n## B\n", ""),
        ("# A\n\n```\n## Summary\n```\n\nText\n", None),
        ("# A\n\n## Summary\n\n```\n## B\n```\n\nText.\n", "```\n## B\n```\n\nText."),
        ("# A\n\n### Summary\n\nText.\n", None),
        ("# Summary\n\nText.\n", None),
        ("# A\n\n## Summaryless\n\nText.\n", None),
        ("# A\n\n## Executive Summary\n\nText.\n", None),
        ("# A\n\nText.\n", None),
    ],
)
def test_the_summary_is_the_text_of_the_first_level_2_summary(body: str, summary: str | None) -> None:
    span = outline(body).summary
    assert summary == (None if span is None else body[slice(*span)])


def test_the_first_of_several_h1_is_the_title_and_the_rest_is_told() -> None:
    found = outline("# One\n\n# Two\n")
    assert found.title == "One"
    assert [remark.text for remark in found.remarks] == ["2 level-1 headings; the first is the title"]
    assert outline("text\n").remarks == ()
    assert outline("#\n").title is None


def test_the_words_of_a_heading_come_without_their_marks() -> None:
    assert plain_text("a `b` **c** [d](e) <!-- f --> ![g](h)  i") == "a b c d i"
    assert plain_text("snake_case_name") == "snake_case_name"


def test_many_headings_take_no_more_than_their_number() -> None:
    body = "# T\n" + "## H\n\ntext\n\n" * 20_000
    found = outline(body).headings
    assert len(found) == 20_001
    assert found[0].end == found[-1].end == len(body)
