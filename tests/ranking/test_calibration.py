"""The rules rise with the evidence, and tell what the samples answer from what nobody asked them about."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.bench.calibration import asked, figures

from lamina.ranking.calibration import RULES, Evidence, rule_of

shares = st.floats(0, 1)


@given(st.sampled_from(sorted(RULES)), shares, shares, shares, shares, st.integers(1, 128))
def test_more_held_or_nearer_is_never_less_sure(
    name: str, less: float, more: float, near: float, nearer: float, words: int
) -> None:
    rule = RULES[name]
    first = rule.probability(Evidence(min(less, more), words, min(near, nearer)))
    second = rule.probability(Evidence(max(less, more), words, max(near, nearer)))
    assert 0 <= first <= second <= 1


def test_an_encoder_without_a_rule_of_its_own_is_judged_by_words() -> None:
    assert rule_of("bedrock:cohere.embed-v4:0/512") == rule_of(None) == RULES["words"]
    assert rule_of("all-MiniLM-L6-v2-int8/000000000000") == RULES["all-MiniLM-L6-v2-int8"]


@pytest.mark.parametrize("base", ["handbook", "gauge-firmware"])
def test_by_words_the_samples_questions_are_told_from_foreign_ones(base: str) -> None:
    measured = figures(asked(base, None))
    assert measured["auc"] >= 0.9
    assert measured["foreign, not none"] <= 0.12
