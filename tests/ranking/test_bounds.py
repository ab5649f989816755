"""How ranking behaves at its limits, and that the judged queries keep their quality."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from tests.bench.judged import Quality, QuerySet, documents_in, evaluation_sets, quality
from tests.corpora import NOT_AT_HAND, REAL, SAMPLES, unpacked

from lamina.corpus.document import Document, parse
from lamina.index.postings import Postings, document_terms
from lamina.index.scope_postings import ScopePostings
from lamina.ranking import phrases
from lamina.ranking.query import analyse
from lamina.ranking.rank import Ranked, rank


def ranked(query: str, *bodies: str, prefix: bool = False) -> Ranked:
    of = [parse(f"d{number}.md", body.encode()) for number, body in enumerate(bodies)]
    scope = ScopePostings.of(Postings.build(map(document_terms, of)))
    return rank(scope, query, text_of=lambda number: of[number].body, prefix=prefix)


def found(query: str, *bodies: str, prefix: bool = False) -> list[int]:
    return [int(number) for number in ranked(query, *bodies, prefix=prefix).in_order]


def filler(characters: int) -> str:
    return ("Nothing of the kind is said here. " * (characters // 30 + 1))[:characters]


@pytest.mark.parametrize(("before", "expected"), [(127, [0]), (128, [])])
def test_so_many_distinct_words_of_a_query_are_searched_and_no_more(before: int, expected: list[int]) -> None:
    query = " ".join(f"w{number}" for number in range(before)) + " zebra"
    assert found(query, "A zebra.") == expected
    assert len(analyse(query).words) == 128


def test_a_repeated_word_leaves_room_for_others() -> None:
    assert found("margin " * 500 + "zebra", "A zebra.") == [0]


@pytest.mark.parametrize(("parts", "expected"), [(31, [0]), (32, [])])
def test_so_many_parts_of_an_identifier_are_searched_and_no_more(parts: int, expected: list[int]) -> None:
    assert found("x" + "_x" * (parts - 1) + "_zebra", "A zebra.") == expected


def test_a_repeated_word_counts_again() -> None:
    bodies = ("A font.", "A margin.")
    assert found("font margin", *bodies) == [0, 1]
    assert found("font margin margin", *bodies) == [1, 0]
    assert found("font margin margin font font", *bodies) == [0, 1]


def test_a_repeated_word_counts_a_hundred_times_at_most() -> None:
    once, fifty, hundred, more = (float(ranked("font " * n, "A font.", "None.").scores[0]) for n in (1, 50, 100, 5000))
    assert fifty == pytest.approx(50 * once, rel=1e-5)
    assert hundred == pytest.approx(100 * once, rel=1e-5)
    assert more == hundred


def test_eight_quoted_phrases_are_asked_for_and_no_more() -> None:
    quoted = [f"north-{name}" for name in ["ant", "bee", "cat", "dog", "elk", "fox", "gnu", "hen", "ibis"]]
    query = " ".join(f'"{phrase}"' for phrase in quoted)
    eight, seven = " ".join(quoted[:8]), " ".join(quoted[:7])
    assert found(query, eight, seven) == [0]


@pytest.mark.parametrize(("others", "expected"), [(14, [1]), (15, [0, 1])])
def test_a_longer_text_with_quotation_marks_is_prose(others: int, expected: list[int]) -> None:
    query = '"hard failure" ' + " ".join(f"w{number}" for number in range(others))
    assert sorted(found(query, "The failure was hard.", "A hard failure.")) == expected


def test_a_phrase_far_down_a_long_text_is_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = ("A hard failure. " + filler(200), filler(200) + " A hard failure.")
    assert sorted(found('"hard failure"', *bodies)) == [0, 1]
    monkeypatch.setattr(phrases, "LONGEST_READ", 100)
    assert found('"hard failure"', *bodies) == [0]


def test_a_phrase_is_looked_for_in_so_many_texts_the_best_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phrases, "MOST_TEXTS_READ", 2)
    bodies = ("A hard failure beside words on other matters.", "# Hard failure\n\nA hard failure.", "A hard failure.")
    assert found('"hard failure"', *bodies) == [1, 2]


MISSPELT = {
    "lantern": "lanttern",
    "margin": "marrgin",
    "quartz": "quarrtz",
    "zebra": "zebbra",
    "planet": "plannet",
    "violin": "viollin",
    "bucket": "buckket",
    "forest": "forrest",
    "winter": "wintter",
}


def test_eight_words_of_a_query_are_corrected_and_no_more() -> None:
    assert sorted(found(" ".join(MISSPELT.values()), *MISSPELT)) == list(range(8))


def test_a_corrected_word_covers_seven_tenths() -> None:
    match = ranked("resoluton", "The resolution.", "A margin.").match
    assert (match.coverage, match.signal) == (0.7, "weak")
    assert ranked("resolution", "The resolution.", "A margin.").match.coverage == 1


def test_two_words_run_together_cover_seven_tenths_and_score_as_both() -> None:
    together, apart = (ranked(query, "The line has a height.", "A margin.") for query in ("lineheight", "line height"))
    assert (together.match.coverage, together.match.unmatched_terms) == (0.7, ())
    assert together.scores.tolist() == apart.scores.tolist()


def test_a_synonym_covers_four_tenths() -> None:
    assert ranked("picture", "A figure.", "A margin.").match.coverage == 0.4


def test_of_spellings_equally_near_the_one_in_more_documents_wins() -> None:
    assert sorted(found("marxin", "marlin", "martin", "martin")) == [1, 2]
    assert sorted(found("marxin", "marlin", "martin", "marlin")) == [0, 2]
    assert found("marxin", "martin", "marlin") == [1]


def test_a_synonym_is_found_and_the_word_itself_goes_before_it() -> None:
    assert found("image", "One figure stands here.", "One image stands here.") == [1, 0]


def test_the_synonym_goes_first_where_the_word_itself_is_a_mere_mention() -> None:
    mention = "An image. " + filler(3_000)
    assert found("image", mention, "# Figures\n\nA figure, and a figure beside a figure.") == [1, 0]


def test_words_of_every_subject_count_less() -> None:
    assert found("keep font", "We keep it.", "A font.") == [1, 0]


def test_function_words_are_left_out_beside_others_and_make_no_text_longer() -> None:
    bodies = ("The margin.", "Of the font. " + "And of the, with which it is. " * 20, "A font.")
    hits = ranked("of the font", *bodies)
    assert hits.found.tolist() == [1, 2]
    assert hits.scores[0] == hits.scores[1]


def test_function_words_alone_are_searched() -> None:
    assert sorted(found("which of them", "It is of use.", "A font.", "Which is it?")) == [0, 2]


@pytest.mark.parametrize(
    ("between", "signal"), [(50, "strong"), (500, "strong"), (800, "weak"), (5_000, "weak"), (50_000, "weak")]
)
def test_a_strong_match_holds_its_words_in_one_passage(between: int, signal: str) -> None:
    match = ranked("kerning ligature", f"On kerning. {filler(between)} A ligature.", "A margin.").match
    assert (match.signal, match.coverage) == (signal, 1)


@pytest.mark.parametrize("body", ["# Kerning\n\n{}", "---\ntags: [kerning]\n---\n{}"])
def test_the_head_joins_a_passage_however_far_away(body: str) -> None:
    text = body.format(f"{filler(5_000)} A ligature.")
    assert ranked("kerning ligature", text, "A margin.").match.signal == "strong"


@pytest.mark.parametrize(
    ("shares", "signal"),
    [
        ([8, 2], "strong"),
        ([5, 5], "strong"),
        ([4, 3, 3], "weak"),
        ([2, 2, 2, 2, 2], "none"),
        ([3, 1], "strong"),
        ([2, 2], "weak"),
        ([1, 1, 1, 1], "none"),
    ],
)
def test_the_signal_follows_the_share_of_the_best_document_and_a_long_query_needs_less(
    shares: Sequence[int], signal: str
) -> None:
    asked = [f"w{number}" for number in range(sum(shares))]
    starts = [sum(shares[:at]) for at in range(len(shares))]
    bodies = [" ".join(asked[at : at + share]) for at, share in zip(starts, shares, strict=True)]
    match = ranked(" ".join(asked), *bodies).match
    assert (match.signal, match.coverage) == (signal, shares[0] / len(asked))


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("שלום", "אמר שלום לכולם"),
        ("שלום", "שָׁלוֹם"),
        ("كتاب", "هذا كتاب جديد"),
        ("كتاب", "كِتَاب"),
        ("🎉", "We are done 🎉 at last."),
        ("👩‍👩‍👧", "A family 👩‍👩‍👧."),
        ("系统", "排版系统很好"),
        ("水をやり", "朝に水をやります。"),
        ("한국어", "저는 한국어를 배웁니다"),
        ("ภาษา", "เรียนภาษาไทย"),
    ],
)
def test_words_of_every_script_are_found(query: str, text: str) -> None:
    hits = ranked(query, "A font.", text)
    assert hits.in_order.tolist() == [1]
    assert (hits.match.coverage, hits.match.unmatched_terms) == (1, ())


def test_an_unfinished_word_stands_for_so_many_words_and_no_more() -> None:
    bodies = [f"zeb{first}{second}" for first in "bcdfghkq" for second in "bcdfghkq"]
    assert sorted(found("zeb", *bodies, "zebzz", prefix=True)) == list(range(64))


class Judgements:
    """A baseline and an overlay under their judged queries."""

    def __init__(self, path: Path, baseline: Sequence[Document], overlay: Sequence[Document]) -> None:
        self.path = path
        self.counted = {id(document): document_terms(document) for document in (*baseline, *overlay)}
        self.sets = evaluation_sets(path, baseline, overlay)
        self.scopes: dict[int, ScopePostings] = {}

    def asked(self, text: str, documents: Sequence[Document]) -> Ranked:
        """A query over some of the documents."""
        scope = self.scopes.get(id(documents))
        if scope is None:
            scope = ScopePostings.of(Postings.build(self.counted[id(document)] for document in documents))
            self.scopes[id(documents)] = scope
        return rank(scope, text, text_of=lambda number: documents[number].body)

    def figures(self, name: str) -> list[Quality]:
        """The figures of each query of a set, the overlay's documents first where it has one."""
        return [
            quality(self._order(judged.text, each), judged)
            for each in self.sets
            if each.name == name
            for judged in each.queries
        ]

    def _order(self, text: str, of: QuerySet) -> list[int]:
        order = self.asked(text, of.documents).in_order.tolist()
        return sorted(order, key=lambda number: number >= of.overlay) if of.overlay else order

    def signals(self, wanted: Callable[[Mapping[str, Any]], bool]) -> list[str]:
        """What the match says of each query that is wanted, over both corpora."""
        both = max((each.documents for each in self.sets), key=len)
        rows = map(json.loads, self.path.read_text(encoding="utf-8").splitlines())
        return [self.asked(row["query"], both).match.signal for row in rows if wanted(row)]


@pytest.fixture(scope="module")
def sample() -> Judgements:
    baseline, overlay = (documents_in(SAMPLES / name) for name in ("handbook", "gauge-firmware"))
    return Judgements(SAMPLES / "questions.jsonl", baseline, overlay)


@pytest.fixture(scope="module")
def judgements(tmp_path_factory: pytest.TempPathFactory) -> Judgements:
    if not REAL.is_dir():
        pytest.skip(NOT_AT_HAND)
    folder = tmp_path_factory.mktemp("judged")
    names = ("klappy.dev-2026-04-28", "ptxprint-mcp-2026-04-28")
    baseline, overlay = (documents_in(unpacked(f"{name}.tar.gz", folder / name)) for name in names)
    return Judgements(REAL.parent / "eval" / "queries.jsonl", baseline, overlay)


def test_judged_questions_on_the_sample_keep_their_quality(sample: Judgements) -> None:
    figures = sample.figures("sample")
    assert len(figures) == 46
    assert fmean(each.ndcg for each in figures) >= 0.96
    assert fmean(each.success for each in figures) >= 0.95


def test_what_the_sample_does_not_know_is_no_match_and_what_it_answers_mostly_is(sample: Judgements) -> None:
    answered = sample.signals(lambda row: bool(row["relevant"]))
    assert sample.signals(lambda row: not row["relevant"]) == ["none"] * 5
    assert answered.count("none") <= 2
    assert answered.count("strong") >= 30


@pytest.mark.parametrize(
    ("name", "queries", "ndcg", "success"),
    [("probe", 8, 0.92, 1.0), ("labelled", 24, 0.92, 0.85), ("hard", 17, 0.86, 0.88)],
)
def test_judged_queries_keep_their_quality(
    judgements: Judgements, name: str, queries: int, ndcg: float, success: float
) -> None:
    figures = judgements.figures(name)
    assert len(figures) == queries
    assert fmean(each.ndcg for each in figures) >= ndcg
    assert fmean(each.success for each in figures) >= success


def test_what_no_corpus_knows_is_never_a_strong_match_and_what_one_answers_never_none(judgements: Judgements) -> None:
    absent = judgements.signals(lambda row: row["set"] == "absent")
    probes = judgements.signals(lambda row: row["set"] == "probe")
    assert (len(absent), len(probes)) == (2, 8)
    assert "strong" not in absent
    assert "none" not in probes
