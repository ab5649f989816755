"""Decides whether what was asked is known at all: how much of the query the best document holds, how near it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from lamina.contract.vectors import SAME
from lamina.index.terms import fold
from lamina.ranking.calibration import STRONG_PROBABILITY, WEAK_PROBABILITY, Evidence, rule_of
from lamina.ranking.highlight import LONGEST_SEARCHED, Sought, best_passage, common_beginning
from lamina.ranking.lookup import TermMatch
from lamina.ranking.meaning import USED, MeaningState, Nearness

Signal = Literal["strong", "weak", "none"]

ENOUGH_IN_HEAD: Final = 0.75
"""The share of a query's IDF weight in a document's head from which on no passage is looked for."""
WEAK_COVERAGE: Final = 0.45
"""The share from which on a document is, by itself, evidence that its source knows the matter."""
PASSAGE_WIDTH: Final = 600
"""Characters within which a strong match says what its head does not: words scattered over a long text prove little."""
MOST_SIGHTINGS: Final = 64
"""Places of a word in the best document that are looked at."""
MOST_SPELLINGS: Final = 6
"""Spellings by which a word is looked for in a text."""


@dataclass(frozen=True, slots=True)
class Match:
    """Whether the matter is known at all, by the best hit.

    `probability`, 0 to 1, is that it answers, `signal` the same in a word. `coverage` is the share, 0 to 1, of the
    query's IDF weight that it holds. `unmatched_terms` are the words of the query, as written, of which the scope
    holds nothing, nor a correction. `meaning` says whether meaning had a say.
    """

    signal: Signal
    probability: float
    coverage: float
    unmatched_terms: tuple[str, ...]
    meaning: MeaningState


def match_of(
    best: int | None,
    matches: Sequence[TermMatch],
    text_of: Callable[[int], str],
    meaning: Nearness | MeaningState,
) -> Match:
    """The match of the best document of a ranking (None: there is none)."""
    unmatched = tuple(match.word.surface for match in matches if not match.found)
    near, state = (meaning, USED) if isinstance(meaning, Nearness) else (None, meaning)
    if best is None:
        return Match("none", 0.0, 0.0, unmatched, state)
    evidence = evidence_of(best, matches, text_of, near)
    probability = rule_of(None if near is None else near.encoder).probability(evidence)
    return Match(_signal(probability), probability, coverage_of(best, matches), unmatched, state)


def evidence_of(
    document: int, matches: Sequence[TermMatch], text_of: Callable[[int], str], near: Nearness | None
) -> Evidence:
    """What a probability is worked out from."""
    held = _together(document, matches, _shares_of(document, matches), text_of)
    return Evidence(min(held, 1.0), len(matches), 0.0 if near is None else int(near.products[document]) / SAME)


def coverage_of(document: int, matches: Sequence[TermMatch]) -> float:
    """The share, 0 to 1, of the query's IDF weight that one document holds, to six decimals."""
    return round(min(sum(_shares_of(document, matches)), 1.0), 6)


def _signal(probability: float) -> Signal:
    if probability < WEAK_PROBABILITY:
        return "none"
    return "strong" if probability >= STRONG_PROBABILITY else "weak"


def _shares_of(document: int, matches: Sequence[TermMatch]) -> list[float]:
    asked = sum(match.weight for match in matches)
    return [_held_by(document, match) / asked for match in matches]


def _held_by(document: int, match: TermMatch) -> float:
    """How much of the word's weight a document holds."""
    held = sum(share for postings, share in match.shares() if _contains(postings.documents, document))
    return min(held, match.weight) * match.trust


def _together(best: int, matches: Sequence[TermMatch], shares: Sequence[float], text_of: Callable[[int], str]) -> float:
    """The share that the head of a document holds together with its best passage."""
    in_head, sought = 0.0, []
    for match, share in zip(matches, shares, strict=True):
        if any(_contains(postings.in_head, best) for postings in match.terms):
            in_head += share
        elif share:
            sought.append(Sought(_spellings(match), share))
    if in_head >= ENOUGH_IN_HEAD or not sought:
        return in_head
    text = text_of(best)
    passage = best_passage(fold(text[:LONGEST_SEARCHED]), sought, PASSAGE_WIDTH, MOST_SIGHTINGS)
    # What the document holds but its text does not show is written in another way, joined or inflected.
    unseen = passage.unseen if len(text) <= LONGEST_SEARCHED else 0.0
    return in_head + passage.weight + unseen


def _contains(documents: NDArray[np.int32], document: int) -> bool:
    at = int(documents.searchsorted(document))
    return at < len(documents) and int(documents[at]) == document


def _spellings(match: TermMatch) -> tuple[str, ...]:
    """Beginnings of words that show the word in a text, in lower case."""
    spellings = [match.word.surface.casefold()] if match.parts else []
    spellings += [common_beginning(postings.term) for postings in match.terms]
    return tuple(dict.fromkeys(spellings))[:MOST_SPELLINGS]


def weak_or_better(coverage: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which hits are at least a weak match by themselves."""
    return coverage >= WEAK_COVERAGE
