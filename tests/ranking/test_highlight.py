"""The passage that shows why a document matched."""

from __future__ import annotations

import pytest

from lamina.ranking.highlight import LONGEST_SNIPPET, plain, snippet

LONG = (
    "# Title\n\n"
    + "Nothing of note stands here. " * 60
    + "Then the **kerning** of `AdjList` is [set](x.md). "
    + "More. " * 200
)


def test_it_comes_from_the_best_passage() -> None:
    text = snippet(LONG, (("kern", 2.0), ("adjlist", 3.0))).text
    assert text.startswith("Then the kerning of AdjList is set.")


def test_it_prefers_a_passage_with_more_of_the_words() -> None:
    body = "alpha alone. " + "filler words here. " * 40 + "alpha with beta. " + "filler words here. " * 40
    assert "alpha with beta" in snippet(body, (("alpha", 1.0), ("beta", 1.0))).text


@pytest.mark.parametrize("body", [LONG, "word " * 500, "排版" * 500, "x" * 2000, "", "# Only a title", "---\n\n***"])
def test_it_is_short_and_cut_between_words(body: str) -> None:
    text = snippet(body, (("word", 1.0),)).text
    assert len(text) <= LONGEST_SNIPPET
    assert text == text.strip()
    if " " in body and text:
        assert set(text.split()) <= set(plain(body).split())


def test_without_a_sighting_it_is_the_beginning() -> None:
    assert snippet("# Title\n\n> What it is.\n\nText.", (("absent", 1.0),)).text == "Title — What it is. Text."


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("## A *b* **c** `d`", "A b c d"),
        ("> quoted\n> lines", "quoted lines"),
        ("- one\n- two\n1. three", "one two three"),
        ("[text](http://x.y 'z') and ![alt](i.png) and [ref][1]", "text and alt and ref"),
        ("| a | b |\n|---|---|\n| c | d |", "a b c d"),
        ("```python\ncode()\n```", "code()"),
        ("a\n\n---\n\nb", "a b"),
        ("<b>bold</b> <!-- gone -->", "bold"),
        ("submit_typeset stays _whole_", "submit_typeset stays whole"),
    ],
)
def test_markdown_marks_are_removed(markdown: str, text: str) -> None:
    assert plain(markdown) == text


def test_a_highlight_term_of_few_letters_is_a_whole_word() -> None:
    body = "Category first. " + "Filler. " * 60 + "The cat sat. " + "Filler. " * 60
    assert snippet(body, (("cat", 1.0),)).text.startswith("The cat sat.")


@pytest.mark.parametrize("body", ["\ud800 word \udfff", "İİİ word", "\0word", "é — word " * 300])
def test_any_body_is_safe(body: str) -> None:
    assert "word" in snippet(body, (("word", 1.0), ("wörd", 0.5))).text
    assert "word" in snippet(body, (("word", 1.0),)).text


@pytest.mark.parametrize("word", ["café", "ＣＡＦＥ"])
def test_a_word_is_seen_under_its_accents(word: str) -> None:
    body = "Filler. " * 60 + f"The {word} is open. " + "Filler. " * 60
    assert word in snippet(body, (("cafe", 1.0),)).text
