"""How sure a match is: the fitted rules from what the best document holds, and how near it is, to a probability.

`python -m tests.bench.calibration` fits them anew; docs/ranking.md says on which questions, and how well they hold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, NamedTuple

STRONG_PROBABILITY: Final = 0.8
WEAK_PROBABILITY: Final = 0.42
"""From these on a match is strong, or weak. Below the second the base is taken not to know."""


class Evidence(NamedTuple):
    """What the best document shows: the share of the query that its head and one passage hold, how many words the
    query has, and how near the document is to it, 1 being the same and 0 where meaning had no say."""

    held: float
    words: int
    near: float


@dataclass(frozen=True, slots=True)
class Rule:
    """A logistic rule: what each part of the evidence weighs, and `held` once more by log(1 + words)."""

    constant: float
    held: float
    held_by_length: float
    near: float

    def probability(self, evidence: Evidence) -> float:
        """That the best hit answers, 0 to 1, to three decimals."""
        by_length = evidence.held * math.log1p(evidence.words)
        weight = self.constant + self.held * evidence.held + self.held_by_length * by_length
        return round(1 / (1 + math.exp(-weight - self.near * evidence.near)), 3)


WORDS: Final = "words"
RULES: Final = {
    WORDS: Rule(constant=-3.07, held=2.68, held_by_length=2.75, near=0.0),
    "all-MiniLM-L6-v2-int8": Rule(constant=-5.77, held=4.40, held_by_length=0.0, near=15.86),
    "wordllama-256": Rule(constant=-3.85, held=4.80, held_by_length=0.0, near=10.45),
}
"""The rule by words, and with meaning by the name of its encoder without the digest. With an encoder that is not here,
meaning has a say in the order alone."""


def rule_of(encoder: str | None) -> Rule:
    """The rule for an encoder; that for words alone where there is none, or none was fitted."""
    name = WORDS if encoder is None else encoder.partition("/")[0]
    return RULES.get(name, RULES[WORDS])
