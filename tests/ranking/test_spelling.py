"""Near spellings against the plain table of edits."""

from __future__ import annotations

from unittest import mock

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lamina.corpus.document import parse
from lamina.index.postings import Postings, document_terms
from lamina.index.scope_postings import ScopePostings
from lamina.index.terms import term
from lamina.index.vocabulary import LONGEST_COMPARED, SHORTEST_COMPARED
from lamina.ranking import spelling
from lamina.ranking.spelling import MOST_EDITS, SHORTEST_CORRECTED, SHORTEST_TWO_EDITS, corrections

# Few letters, so that many words are near; none that a stemmer would take for an ending.
LETTERS = "kqz"
known_words = st.text(LETTERS, min_size=SHORTEST_COMPARED, max_size=LONGEST_COMPARED)


def alignment(entry: str, other: str) -> int:
    """Edits by the whole table: a letter dropped, added, replaced, or two neighbours swapped."""
    table = np.zeros((len(entry) + 1, len(other) + 1), dtype=int)
    table[:, 0], table[0] = range(len(entry) + 1), range(len(other) + 1)
    for i in range(1, len(entry) + 1):
        for j in range(1, len(other) + 1):
            table[i, j] = min(
                table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + (entry[i - 1] != other[j - 1])
            )
            if i > 1 and j > 1 and entry[i - 2 : i] == other[j - 1] + other[j - 2]:
                table[i, j] = min(table[i, j], table[i - 2, j - 2] + 1)
    return int(table[-1, -1])


@st.composite
def misspelt(draw: st.DrawFn) -> tuple[list[str], str]:
    """Known words, and one of them with up to three edits."""
    known = draw(st.lists(known_words, min_size=1, max_size=12, unique=True))
    name = draw(st.sampled_from(known))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(name) - 2))
        swapped = name[:at] + name[at + 1] + name[at] + name[at + 2 :]
        edits = [name[:at] + name[at + 1 :], name[:at] + "j" + name[at:], name[:at] + "j" + name[at + 1 :], swapped]
        name = draw(st.sampled_from([edit for edit in edits if len(edit) > 1]))
    return known, name


@given(misspelt(), st.sampled_from([1, 3, 2_000]))
@settings(deadline=None, max_examples=300)
def test_the_nearest_word_is_the_one_with_the_fewest_edits(example: tuple[list[str], str], at_once: int) -> None:
    known, name = example
    assume(SHORTEST_CORRECTED <= len(name) < LONGEST_COMPARED)
    postings = Postings.build([document_terms(parse("d.md", " ".join(known).encode()))])
    with mock.patch.object(spelling, "_COMPARED_AT_ONCE", at_once):
        found = corrections(term(name), ScopePostings.of(postings))
    edits = {word: alignment(name, word) for word in known}
    most = MOST_EDITS if len(name) >= SHORTEST_TWO_EDITS else 1
    near = {word: count for word, count in edits.items() if 1 <= count <= most and (count == 1 or word[0] == name[0])}
    if near:
        assert found == (min(word for word, count in near.items() if count == min(near.values())),)
    else:
        assert len(found) != 1
