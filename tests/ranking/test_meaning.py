"""Meaning has a say as far as words fail, in whole numbers, and never where they are enough."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.fakes.encoder import SubjectEncoder

from lamina.corpus.document import Document, parse
from lamina.index.pieces import pieces
from lamina.index.postings import Postings, document_terms
from lamina.index.scope_postings import ScopePostings
from lamina.index.vectors import Vectors, piece_digest
from lamina.ranking.meaning import FOLLOWING, Meaning, Nearness, word_trust
from lamina.ranking.rank import Ranked, rank

BODIES = (
    "# The board\n\nThe river is read at the board. A stream has none.",
    "# The pack\n\nThe battery lasts five years, and its cells are dry.",
    "# The siren\n\nAn alarm is a warning, and the siren tells it.",
    "# The loaf\n\nThe dough goes into the oven.",
    "# The lamp\n\nIt is on the wall.",
)


@dataclass
class Base:
    """Documents with vectors by subject; `loaded` counts how often the vectors were asked for."""

    bodies: tuple[str, ...] = BODIES
    encoder: SubjectEncoder = field(default_factory=SubjectEncoder)
    loaded: int = 0

    def __post_init__(self) -> None:
        self.documents: list[Document] = [
            parse(f"{number}.md", body.encode()) for number, body in enumerate(self.bodies)
        ]
        self.scope = ScopePostings.of(Postings.build([document_terms(document) for document in self.documents]))
        texts = [pieces(document) for document in self.documents]
        every = [text for each in texts for text in each]
        vectors = dict(zip(map(piece_digest, every), SubjectEncoder().passages(every), strict=True))
        self.vectors = Vectors.of(self.encoder.name, texts, vectors)

    def load(self) -> Vectors:
        self.loaded += 1
        return self.vectors

    def rank(self, query: str, *, prefix: bool = False, mask: NDArray[np.bool_] | None = None) -> Ranked:
        scope = self.scope if mask is None else ScopePostings.of(self.scope.whole, mask)
        meaning = Meaning(self.load, self.encoder.query, "unavailable")
        return rank(scope, query, text_of=lambda number: self.bodies[number], prefix=prefix, meaning=meaning)


def test_a_page_is_found_in_other_words_than_its_own() -> None:
    base = Base()
    assert base.rank("accumulator").in_order.tolist()[:1] == [1]
    assert base.rank("accumulator").match.meaning == "used"
    assert rank(base.scope, "accumulator", text_of=str).in_order.tolist() == []


@pytest.mark.parametrize(
    "query", ["river board", "The pack", '"dry cells"', "E0031.2", "gauge_upload_url", "AdjList 7"]
)
def test_words_that_are_enough_names_and_phrases_never_ask_for_vectors(query: str) -> None:
    base = Base()
    with_meaning, by_words = base.rank(query), rank(base.scope, query, text_of=lambda number: BODIES[number])
    assert (base.loaded, base.encoder.asked) == (0, [])
    assert with_meaning.match.meaning == "not_needed"
    assert with_meaning.in_order.tolist() == by_words.in_order.tolist()
    assert with_meaning.scores.tolist() == by_words.scores.tolist()


def test_what_is_still_being_typed_is_looked_for_by_words() -> None:
    base = Base()
    assert base.rank("accumul", prefix=True).match.meaning == "not_needed"
    assert base.loaded == 0


def test_a_document_joins_by_meaning_only_where_it_is_near() -> None:
    """The lamp shares nothing with the question, and the loaf another subject."""
    assert Base().rank("accumulator").found.tolist() == [1]
    assert Base().rank("zebra unicorn").found.tolist() == []
    assert Base().rank("zebra unicorn").match.signal == "none"


def test_the_more_words_fail_the_more_meaning_counts() -> None:
    shares = [word_trust(coverage) for coverage in (0.0, 0.25, 0.5, 0.75, 1.0)]
    assert shares == sorted(shares)
    assert shares[0] == shares[1] < shares[2]
    assert shares[-1] == 1_000_000


def test_a_score_is_the_sum_of_its_parts_and_the_order_follows_it() -> None:
    base = Base(("# A\n\nThe zebra and the battery.", "# B\n\nThe cells.", "# C\n\nThe zebra.", "# D\n\nA lamp."))
    hits = base.rank("zebra accumulator unicorn")
    assert isinstance(hits.meaning, Nearness)
    parts = hits.scored
    assert hits.steps.tolist() == (parts.words + parts.meaning).tolist()
    assert (parts.words[hits.found != 1] > 0).all()
    assert (parts.meaning[hits.found == 1] > 0).all()
    assert (parts.words[hits.found == 1] == 0).all()
    assert hits.in_order.tolist()[0] == 0


def test_documents_outside_the_scope_neither_join_nor_say_what_is_usual() -> None:
    base = Base()
    mask = np.array([True, False, True, True, True])
    assert base.rank("accumulator", mask=mask).found.tolist() == []
    inside = base.rank("accumulator", mask=~mask | np.array([True, False, False, False, False]))
    assert inside.found.tolist() == [1]


def test_an_index_whose_vectors_are_to_come_is_searched_by_words_and_says_so() -> None:
    base = Base()
    hits = rank(base.scope, "battery accumulator", text_of=lambda number: BODIES[number], meaning=FOLLOWING)
    assert hits.in_order.tolist() == [1]
    assert hits.match.meaning == "following"


def test_vectors_or_an_encoder_that_cannot_be_had_leave_the_order_to_words() -> None:
    base = Base()
    for missing in (
        Meaning(lambda: None, base.encoder.query, "unavailable"),
        Meaning(base.load, lambda _: None, "none"),
    ):
        hits = rank(base.scope, "battery accumulator", text_of=lambda number: BODIES[number], meaning=missing)
        assert hits.in_order.tolist() == [1]
        assert hits.match.meaning == "unavailable"


def test_a_vector_of_another_length_is_not_compared() -> None:
    base = Base()
    hits = rank(base.scope, "accumulator", text_of=str, meaning=Meaning(base.load, lambda _: b"\x01" * 3, "none"))
    assert hits.match.meaning == "unavailable"


def test_the_nearest_document_of_a_question_on_its_subject_is_near() -> None:
    hits = Base().rank("accumulator")
    assert isinstance(hits.meaning, Nearness)
    assert hits.meaning.products.argmax() == 1
    assert hits.meaning.shares.tolist()[1] == 1_000_000
