"""What a term is, for documents and queries alike."""

from __future__ import annotations

import pytest

from lamina.index.terms import LONGEST_TERM, names, terms_of


def analyse(text: str) -> list[str]:
    """The index terms of a text in order, wholes before their parts, stems before their exact forms."""
    return [term for name in names(text) for term in terms_of(name)]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("policies", ["polici", "=policies"]),
        ("FONT font", ["font", "font"]),
        ("user's", ["user"]),
        ("users' don’t", ["user", "=users", "dont"]),
        ("Café naïve", ["cafe", "naiv", "=naive"]),
        ("ＦＵＬＬ ﬁt", ["full", "fit"]),
        ("LLMs", ["llm", "=llms"]),
        ("children matrices", ["child", "=children", "matrix", "=matrices"]),
        ("Schlüssel Straße", ["schlussel", "schluessel", "strass", "=strasse"]),
        ("C++ and C#", ["c++", "and", "c#"]),
        ("1,000", ["1000", "1", "000"]),
        ("✅ ⭐ ⏰", ["✅", "⭐", "⏰"]),
        ("", []),
        ("-- ... ___ '", []),
    ],
)
def test_words_become_stems_beside_their_exact_forms(text: str, terms: list[str]) -> None:
    assert analyse(text) == terms


@pytest.mark.parametrize(
    ("identifier", "parts"),
    [
        ("submit_typeset", ["submit", "typeset"]),
        ("AdjList", ["adj", "list"]),
        ("JobStateDO", ["job", "state", "do"]),
        ("knowledge_base_url", ["knowledg", "base", "url"]),
        ("payload-construction", ["payload", "construct"]),
        ("dotted.name", ["dot", "name"]),
        ("E0008.4", ["e0008", "4"]),
        ("v1.2", ["v1", "2"]),
        ("EC660", ["ec", "660"]),
        ("CT41G", ["ct", "41", "g"]),
        ("500ms", ["500", "ms"]),
        ("HTTPServer2", ["http", "server", "2"]),
        ("4242-v2", ["4242", "v2"]),
        ("canon/articles/payload-construction.md", ["canon", "articl", "payload", "construct", "md"]),
        ("klappy://canon/axioms", ["klappi", "canon", "axiom"]),
    ],
)
def test_an_identifier_is_found_whole_and_by_each_part(identifier: str, parts: list[str]) -> None:
    terms = analyse(identifier)
    assert terms[0] not in parts
    assert set(parts) <= set(terms[1:])


def test_every_way_of_joining_the_same_words_gives_the_same_whole() -> None:
    joined = ["front-matter", "front_matter", "frontMatter", "FrontMatter", "front.matter", "frontmatter"]
    assert len({analyse(text)[0] for text in joined}) == 1


@pytest.mark.parametrize("text", ["v2", "a1b2c3d4", "i18n", "x86"])
def test_a_single_letter_beside_figures_is_no_word(text: str) -> None:
    assert analyse(text) == [text]


def test_a_dot_between_digits_means_something() -> None:
    assert analyse("1.2")[0] != analyse("12")[0]


@pytest.mark.parametrize(
    ("text", "query"), [("排版系统很好", "系统"), ("ドキュメントを検索する", "検索"), ("한국어문서", "문서")]
)
def test_text_without_spaces_is_found_by_pairs_of_characters(text: str, query: str) -> None:
    assert set(analyse(query)) <= set(analyse(text))


def test_pointing_does_not_hide_a_word() -> None:
    assert analyse("שָׁלוֹם") == analyse("שלום")
    assert analyse("مُحَمَّد") == analyse("محمد")


@pytest.mark.parametrize(
    "text",
    [
        "\0",
        "a\0b",
        "\ud800 lone \udfff",
        "a" * 300_000,
        "a." * 150_000,
        "a-" * 150_000,
        "aB" * 150_000,
        "-" * 300_000,
        "\u0301" * 300_000,
        "'" * 1000 + "s",
        "\u200b\ufeff\u00ad",
        "👩‍👩‍👧‍👦 🇫🇷",
        "/".join("ab" for _ in range(100_000)),
    ],
    ids=lambda text: repr(text[:8]),
)
def test_any_string_is_safe(text: str) -> None:
    terms = analyse(text)
    assert all(0 < len(term) <= LONGEST_TERM + 1 for term in terms)
    assert not any(character.isspace() for term in terms for character in term)
    "\n".join(terms).encode()
