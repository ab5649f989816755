"""The order of documents for a query."""

from __future__ import annotations

from collections.abc import Sequence
from unittest import mock

import numpy as np
import pytest

from lamina.corpus.document import Document, parse
from lamina.index import scope_postings
from lamina.index.arrays import packed, unpacked
from lamina.index.fields import frontmatter_lines
from lamina.index.postings import Postings, document_terms
from lamina.index.scope_postings import ScopePostings
from lamina.ranking import phrases, spelling
from lamina.ranking.rank import Ranked, rank


def documents(*bodies: str) -> list[Document]:
    return [parse(f"d{number}.md", body.encode()) for number, body in enumerate(bodies)]


def ranked(query: str, of: Sequence[Document], *, prefix: bool = False) -> Ranked:
    postings = Postings.build(map(document_terms, of))
    return rank(ScopePostings.of(postings), query, text_of=lambda n: of[n].body, prefix=prefix)


def found(query: str, *bodies: str, prefix: bool = False) -> list[int]:
    return [int(number) for number in ranked(query, documents(*bodies), prefix=prefix).in_order]


FONTS = "# Fonts\n\nHow a font is resolved."
MARGINS = "# Margins\n\nHow wide a margin is."
TABLE = "# Tables\n\nA table has columns, and submit_typeset draws them."


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("font", [0]),
        ("FONTS", [0]),
        ("margins wide", [1]),
        ("submit_typeset", [2]),
        ("submitTypeset", [2]),
        ("submit", [2]),
        ("nothing here holds xyzzy", []),
        ("", []),
        ("?!", []),
        ("\0", []),
    ],
)
def test_documents_that_hold_a_word_are_found(query: str, expected: list[int]) -> None:
    assert found(query, FONTS, MARGINS, TABLE) == expected


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_tiny_corpus_works(count: int) -> None:
    hits = ranked("font", documents(*[FONTS] * count))
    assert hits.in_order.tolist() == list(range(count))
    assert (hits.scores > 0).all()


def test_a_term_in_every_document_still_ranks() -> None:
    hits = ranked("font", documents("font words words words", "font font words", "font font font"))
    assert hits.in_order.tolist() == [2, 1, 0]
    assert (hits.scores > 0).all()


def test_ties_break_by_document_number() -> None:
    same = parse("same.md", FONTS.encode())
    assert ranked("font", [same] * 5).in_order.tolist() == [0, 1, 2, 3, 4]


def test_scores_have_six_decimals_and_fall() -> None:
    hits = ranked("how a margin table draws", documents(FONTS, MARGINS, TABLE))
    by_number = dict(zip(hits.found.tolist(), hits.scores.tolist(), strict=True))
    in_order = [by_number[number] for number in hits.in_order.tolist()]
    assert hits.in_order.tolist() == [2, 1]
    assert in_order == sorted(set(np.round(in_order, 6).tolist()), reverse=True)


def test_a_query_of_stop_words_alone_searches_them() -> None:
    assert found("how is", FONTS, MARGINS, TABLE) == found("is how", FONTS, MARGINS, TABLE) == [0, 1]


def test_the_title_counts_more_than_a_mention() -> None:
    mention = "# Other\n\nA word on kerning and on many other things."
    subject = "# Kerning\n\nA word on space and on many other things."
    assert found("kerning", mention, subject) == [1, 0]


def test_the_exact_form_goes_before_another_form_of_the_stem() -> None:
    assert found("settings", "a setting here", "the settings here") == [1, 0]


@pytest.mark.parametrize("query", ["resoluton", "resolutoin", "rezolution", "resolutions", "resoltions"])
def test_a_word_that_occurs_nowhere_is_tried_against_near_spellings(query: str) -> None:
    hits = ranked(query, documents("# Resolution\n\nof fonts", MARGINS))
    assert hits.in_order.tolist() == [0]
    assert hits.match.unmatched_terms == ()


def test_a_word_that_occurs_is_not_corrected() -> None:
    assert found("marten", "marten", "martin") == [0]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("FS55", "The FS 55 has a new cord."),
        ("EC 660", "Ask for the EC660."),
        ("sha 256", "A SHA256 of it."),
        ("Schluessel", "Die Schlüssel liegen im Kasten."),
        ("Schlüssel", "Die Schluessel liegen im Kasten."),
        ("leaf", "Brown leaves fall."),
        ("Oel", "Öl-Preis und `mein-Bär-feld`"),
        ("Baer-Feld", "siehe docs/Bär-Feld.md"),
        ("indices", "An index of terms."),
    ],
)
def test_a_word_is_found_however_it_is_spelled(query: str, text: str) -> None:
    hits = ranked(query, documents(FONTS, text))
    assert hits.in_order.tolist() == [1]
    assert hits.match.coverage == 1


def test_of_too_many_words_alike_those_nearest_in_length_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spelling, "MOST_COMPARED", 1)
    assert found("bcdfghbcfd", "bcdfghbd", "bcdfghbcdf", "bcdfghbcdfgh") == [1]


def test_words_of_other_scripts_use_up_no_corrections() -> None:
    assert ranked("排版系统很好漂亮文档 resoluton", documents(FONTS, "The resolution.")).in_order.tolist() == [1]


def test_words_run_together_are_taken_apart() -> None:
    assert found("lineheight", "# Spacing\n\nThe line has a height.", MARGINS) == [0]


def test_a_word_near_nothing_is_named_as_unmatched() -> None:
    hits = ranked("font xylophonist", documents(FONTS, MARGINS))
    assert hits.match.unmatched_terms == ("xylophonist",)


def test_an_unfinished_last_word_completes_only_where_asked() -> None:
    assert found("submit_types", FONTS, TABLE, prefix=True) == [1]
    assert found("wid", MARGINS) == []
    assert found("wid", MARGINS, prefix=True) == [0]


def test_an_unfinished_word_stands_for_the_most_frequent_that_begin_so() -> None:
    rare = " ".join(f"conab{chr(ord('a') + n // 26)}{chr(ord('a') + n % 26)}x" for n in range(80))
    assert found("con", rare, "context", "A context.", prefix=True) == [0, 1, 2]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("EC660", "The EC 660."),
        ("EC-66", "The EC660."),
        ("submit-typ", "Submit a typeset."),
        ("Übu", "Uebung."),
    ],
)
def test_an_unfinished_word_is_found_by_its_parts(query: str, text: str) -> None:
    assert 1 in found(query, FONTS, text, prefix=True)


def test_a_word_counts_once_where_its_stem_and_its_form_begin_so() -> None:
    plural, singular = ranked("polic", documents("policies x", "polici x"), prefix=True).scores.tolist()
    assert plural == singular


@pytest.mark.parametrize("query", ["submit_typset", "submitTypest", "AdjLsit"])
def test_a_misspelt_part_of_an_identifier_is_corrected(query: str) -> None:
    texts = ("Submit this form.", "The submit_typeset tool keeps an AdjList.")
    assert found(query, *texts)[0] == 1
    assert ranked(query, documents(*texts)).match.coverage == pytest.approx(0.7)


def test_a_quoted_phrase_must_stand_in_the_text() -> None:
    apart = "The state was hard and the failure soft."
    together = "It was a Hard, failure."
    assert found('"hard failure"', apart, together) == [1]
    assert found('"failure hard"', apart, together) == []
    assert sorted(found("hard failure", apart, together)) == [0, 1]


def test_a_quoted_phrase_of_a_script_without_spaces_must_stand_in_the_text() -> None:
    apart, together = "水は庭に。やりは後で。をや", "朝に水をやります。"
    assert found('"水をやり"', apart, together) == [1]
    assert sorted(found("水をやり", apart, together)) == [0, 1]


@pytest.mark.parametrize("phrase", ["the user's guide", "don't use C++ here", "a 1,000-line file", "see v1.2 of it"])
def test_a_quoted_phrase_is_found_as_it_is_written(phrase: str) -> None:
    text = "Read the user's guide. We don't use C++ here. It is a 1,000-line file; see v1.2 of it."
    assert found(f'"{phrase}"', MARGINS, text) == [1]


@pytest.mark.parametrize("phrase", ["LaminaのAPI", "れ、利用", "ค้นหาและ", "นหาและ", "어문"])
def test_a_quoted_phrase_begins_and_ends_anywhere_in_a_script_without_spaces(phrase: str) -> None:
    apart = "APIのLamina、利用れ 어 문 และหาค้น"
    assert found(f'"{phrase}"', apart, "これはLaminaのAPI。作り直され、利用者 ค้นหาและใช้ 한국어문서를") == [1]


def test_a_quoted_phrase_may_spell_its_umlauts_either_way() -> None:
    texts = ("Der Schlüssel im Kasten.", "Der Schluessel im Kasten.", "Ein Kasten, ein Schlüssel.", "Der Schlussel im")
    assert sorted(found('"Schluessel im"', *texts)) == [0, 1]
    assert sorted(found('"Schlüssel im"', *texts)) == [0, 1, 3]
    assert found('"the poet"', "A poet wrote; the pot broke.") == []


def test_a_quotation_of_more_words_than_a_search_has_is_prose() -> None:
    assert found('"' + "font-" * 16 + 'widest"', FONTS, MARGINS) != []
    assert found('"' + "font-" * 14 + 'widest"', FONTS, MARGINS) == []


def test_a_single_quoted_word_is_emphasis() -> None:
    assert found('what "font" means', FONTS, MARGINS) == [0]


@pytest.mark.parametrize(
    "query",
    [
        "word " * 10_000,
        " ".join(f"w{n}" for n in range(10_000)),
        "x" * 131_072,
        "q." * 65_536,
        '"' * 1000,
        "👩‍👩‍👧",
        "שלום",
        "é",
        "\ud800",
    ],
    ids=lambda query: repr(query[:6]),
)
def test_any_query_is_answered(query: str) -> None:
    assert found(query, FONTS, MARGINS, TABLE) == []


def test_chinese_is_found_inside_a_sentence() -> None:
    assert found("系统", "# 排版\n\n排版系统很好", FONTS) == [0]


@pytest.mark.parametrize(
    ("query", "signal"),
    [
        ("wide margins", "strong"),
        ("wide margin kubernetes", "weak"),
        ("kubernetes helm rollback margin", "none"),
        ("kubernetes", "none"),
    ],
)
def test_the_match_says_whether_the_matter_is_known(query: str, signal: str) -> None:
    assert ranked(query, documents(FONTS, MARGINS, TABLE)).match.signal == signal


def test_coverage_is_the_share_that_the_best_hit_holds() -> None:
    hits = ranked("font margin", documents(FONTS, MARGINS))
    assert hits.match.coverage == pytest.approx(0.5)
    assert hits.coverage.tolist() == pytest.approx([0.5, 0.5])
    assert ranked("font", documents(FONTS)).match.coverage == 1.0


def test_postings_survive_storage() -> None:
    postings = Postings.build(map(document_terms, documents(FONTS, MARGINS, TABLE)))
    loaded = Postings.from_data(postings.to_data())
    assert loaded.vocabulary == postings.vocabulary
    for name in ("starts", "documents", "frequencies", "lengths", "head_lengths"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(postings, name))


def test_stored_postings_are_plain_data() -> None:
    def plain(value: object) -> bool:
        if isinstance(value, tuple):
            return all(map(plain, value))
        return type(value) in (str, bytes, int, float, bool, type(None))

    for of in (documents(), documents(FONTS, TABLE)):
        assert all(plain(value) for value in Postings.build(map(document_terms, of)).to_data().values())


def test_a_scope_remembers_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scope_postings, "MOST_REMEMBERED", 100)
    scope = ScopePostings.of(Postings.build(map(document_terms, documents(FONTS, MARGINS))))
    kept = []
    for number in range(60):
        assert rank(scope, f"font w{number}", text_of=str).in_order.tolist() == [0]
        kept.append(scope.memory.views)
    assert 50 < max(kept) <= 100
    assert kept != sorted(kept)


def test_what_completes_an_unfinished_word_is_not_remembered() -> None:
    scope = ScopePostings.of(Postings.build(map(document_terms, documents(FONTS, MARGINS))))
    with mock.patch.object(
        ScopePostings, "joint_posting_list", autospec=True, side_effect=ScopePostings.joint_posting_list
    ) as joined:
        for _ in range(2):
            assert rank(scope, "fon", text_of=str, prefix=True).in_order.tolist() == [0]
    assert joined.call_count == 4


@pytest.mark.parametrize("count", [2, 4])
def test_an_array_of_another_size_than_it_says_is_refused(count: int) -> None:
    (dtype, _, content), places, numbers = packed(np.arange(3))
    with pytest.raises(ValueError, match="reshape"):
        unpacked(((dtype, (count,), content), places, numbers), np.int64)


FILLER = "Nothing of the kind is said here. " * 40


@pytest.mark.parametrize(
    ("body", "signal"),
    [
        (f"The kerning of a ligature. {FILLER}", "strong"),
        (f"On kerning. {FILLER} A ligature.", "weak"),
        (f"# Kerning\n\n{FILLER} A ligature.", "strong"),
        (f"---\ntags: [kerning]\n---\n{FILLER} A ligature.", "strong"),
        (f"{FILLER} KERNINGS, of the l\u00edgature", "strong"),
        (f"{FILLER} Ker-ning is written so. {FILLER} A ligature.", "strong"),
    ],
)
def test_words_scattered_over_a_long_text_are_no_strong_match(body: str, signal: str) -> None:
    match = ranked("kerning ligature", documents(body, MARGINS)).match
    assert match.signal == signal
    assert match.coverage == 1.0


def test_frontmatter_is_searched_by_name_and_value_at_any_depth() -> None:
    page = "---\ntitle: A\nhero_image: dune.png\nreview:\n  by: [Okonkwo, 7]\n---\nWords."
    for query in ("hero_image", "dune", "okonkwo", "review"):
        assert found(query, page, MARGINS) == [0]


def test_a_short_stem_is_not_corrected() -> None:
    assert found("zings", "the king", "a wing") == []


def test_a_phrase_is_not_found_across_the_items_of_a_list() -> None:
    page = "---\nreviewers: [Ann Lee, Bob Ray]\n---\nWords."
    text = "\n".join(frontmatter_lines({"reviewers": ["Ann Lee", "Bob Ray"]}, ()))
    postings = Postings.build([document_terms(parse("d.md", page.encode()))])
    for query, expected in (('"ann lee"', [0]), ('"lee bob"', [])):
        assert rank(ScopePostings.of(postings), query, text_of=lambda _: text).in_order.tolist() == expected


def test_words_far_apart_in_a_text_too_long_to_search_are_no_strong_match() -> None:
    long = "Nothing of the kind is said here. " * 3_500
    assert ranked("zebra unicorn", documents(f"A zebra. {long} A unicorn.", MARGINS)).match.signal == "weak"


def test_a_phrase_reads_so_much_text_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phrases, "MOST_CHARACTERS_READ", 100)
    read: list[int] = []

    def text_of(number: int) -> str:
        read.append(number)
        return "a hard failure".ljust(40)

    postings = Postings.build(map(document_terms, documents(*["a hard failure"] * 9)))
    hits = rank(ScopePostings.of(postings), '"hard failure"', text_of=text_of)
    assert hits.in_order.tolist() == [0, 1]
    assert read == [0, 1, 2]
