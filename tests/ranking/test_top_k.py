"""The best of many against all of them sorted."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lamina.ranking.rank import Ranked
from lamina.ranking.score import Scores

hits = st.lists(st.tuples(st.integers(1, 9), st.booleans(), st.booleans()), max_size=150)


@given(hits, st.integers(0, 45))
def test_the_best_are_the_first_of_all_in_order(rows: list[tuple[int, bool, bool]], most: int) -> None:
    steps = np.array([step for step, _, _ in rows], dtype=np.int64)
    among = np.array([kept for _, kept, _ in rows], dtype=np.bool_)
    first = np.array([before for _, _, before in rows], dtype=np.bool_)
    scored = Scores.by_words(np.arange(len(rows), dtype=np.int32) * 3, steps)
    ranked = Ranked(scored, "none", (), 3 * len(rows), str)
    by_score = sorted(range(len(rows)), key=lambda place: (-rows[place][0], place))
    assert ranked.best(most).tolist() == by_score[:most]
    assert ranked.in_order.tolist() == [3 * place for place in by_score]
    kept = [place for place in by_score if rows[place][1]]
    assert ranked.best(most, among).tolist() == kept[:most]
    grouped = sorted(kept, key=lambda place: not rows[place][2])
    assert ranked.best(most, among, first).tolist() == grouped[:most]
