"""How sure a match is: questions that a base answers against those that it does not know; fits the rules anew.

`python -m tests.bench.calibration [--json FILE]`
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.bench.judged import documents_in
from tests.corpora import SAMPLES

from lamina.contract.ports import Encoder
from lamina.corpus.document import Document
from lamina.encoders.small import SmallEncoder
from lamina.encoders.static import StaticEncoder
from lamina.index.pieces import pieces
from lamina.index.postings import Postings, document_terms
from lamina.index.scope_postings import ScopePostings
from lamina.index.vectors import Vectors, piece_digest
from lamina.ranking.calibration import WEAK_PROBABILITY, Evidence
from lamina.ranking.match import evidence_of
from lamina.ranking.meaning import Meaning, Nearness
from lamina.ranking.rank import rank

ENCODERS: dict[str, Callable[[], Encoder] | None] = {"words": None, "static": StaticEncoder, "small": SmallEncoder}
BINS = np.linspace(0, 1, 6)
_STEPS, _PENALTY = 60, 1.0


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of a base: whether the base answers it, what the best hit shows, and how sure the match is."""

    base: str
    answered: bool
    evidence: Evidence | None
    by_meaning: bool
    probability: float


def questions(name: str) -> Iterator[tuple[bool, str]]:
    """Questions of a sample, each with whether it answers: its own, those of nobody, none of the other sample's."""
    for file in ("questions.jsonl", "other-words.jsonl"):
        for line in (SAMPLES / file).read_text("utf-8").splitlines():
            entry = json.loads(line)
            if (entry["overlay"] or "handbook") == name:
                yield bool(entry["relevant"]), entry["query"]
    for line in (SAMPLES / "foreign.txt").read_text("utf-8").splitlines():
        yield False, line


def asked(name: str, encoder: Encoder | None) -> list[Asked]:
    """Every question of a sample, ranked by words alone or with an encoder."""
    documents = documents_in(SAMPLES / name)
    scope = ScopePostings.of(Postings.build([document_terms(document) for document in documents]))
    meaning = None if encoder is None else Meaning(lambda: vectors, encoder.query, "unavailable")
    vectors = None if encoder is None else _vectors(documents, encoder)
    rows = []
    for answered, query in questions(name):
        hits = rank(scope, query, text_of=lambda number: documents[number].body, meaning=meaning)
        near = hits.meaning if isinstance(hits.meaning, Nearness) else None
        evidence = None
        if len(hits.found):
            best = int(hits.found[hits.steps.argmax()])
            evidence = evidence_of(best, hits.matches, hits.text_of, near)
        rows.append(Asked(name, answered, evidence, near is not None, hits.match.probability))
    return rows


def area(rows: Sequence[Asked]) -> float:
    """How often an answered question is surer than one that is not: the area under the curve."""
    own = np.array([row.probability for row in rows if row.answered])[:, None]
    foreign = np.array([row.probability for row in rows if not row.answered])[None, :]
    return float(((own > foreign) + 0.5 * (own == foreign)).mean())


def figures(rows: Sequence[Asked]) -> dict[str, Any]:
    """The figures of one base: area under the curve, Brier score, false alarms of both kinds, reliability by bins."""
    sure = np.array([row.probability for row in rows])
    answered = np.array([row.answered for row in rows], dtype=np.float64)
    bins = np.clip(np.digitize(sure, BINS) - 1, 0, len(BINS) - 2)
    return {
        "questions": len(rows),
        "auc": round(area(rows), 3),
        "brier": round(float(((sure - answered) ** 2).mean()), 3),
        "answered, none": round(float((sure[answered == 1] < WEAK_PROBABILITY).mean()), 3),
        "foreign, not none": round(float((sure[answered == 0] >= WEAK_PROBABILITY).mean()), 3),
        "reliability": [
            [round(float(sure[bins == at].mean()), 2), round(float(answered[bins == at].mean()), 2), int(count)]
            for at in range(len(BINS) - 1)
            if (count := (bins == at).sum())
        ],
    }


def fitted(rows: Sequence[Asked], *, by_meaning: bool) -> list[float]:
    """Constant and weights of the logistic rule, by Newton's method with a small penalty; each side weighs the same."""
    used = [row for row in rows if row.evidence is not None and row.by_meaning == by_meaning]
    shown = [row.evidence for row in used if row.evidence is not None]
    held = np.array([evidence.held for evidence in shown])
    other = [e.near if by_meaning else e.held * np.log1p(e.words) for e in shown]
    features: NDArray[np.float64] = np.column_stack([np.ones(len(shown)), held, other])
    answered = np.array([row.answered for row in used], dtype=np.float64)
    weight = np.where(answered == 1, 0.5 / max(answered.sum(), 1), 0.5 / max((1 - answered).sum(), 1)) * len(used)
    penalty = np.diag([0.0, _PENALTY, _PENALTY])
    rule = np.zeros(3)
    for _ in range(_STEPS):
        sure = 1 / (1 + np.exp(-features @ rule))
        slope = features.T @ (weight * (answered - sure)) - penalty @ rule
        curve = (features * (weight * sure * (1 - sure))[:, None]).T @ features + penalty
        rule += np.linalg.solve(curve, slope)
    return [round(float(value), 2) for value in rule]


def report() -> dict[str, Any]:
    """The figures of both samples by words, with static vectors and with the small encoder."""
    result: dict[str, Any] = {}
    for kind, make in ENCODERS.items():
        encoder = None if make is None else make()
        rows = {name: asked(name, encoder) for name in ("handbook", "gauge-firmware")}
        result[kind] = {name: figures(each) for name, each in rows.items()}
        every = [row for each in rows.values() for row in each]
        result[kind]["fitted here"] = fitted(every, by_meaning=encoder is not None)
    return result


def _vectors(documents: Sequence[Document], encoder: Encoder) -> Vectors:
    texts = [pieces(document) for document in documents]
    every = list(dict.fromkeys(text for each in texts for text in each))
    made = dict(zip(map(piece_digest, every), encoder.passages(every), strict=True))
    return Vectors.of(encoder.name, texts, made)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here as well")
    given = parser.parse_args(arguments)
    text = json.dumps(report(), indent=1)
    sys.stdout.write(text + "\n")
    if given.json:
        given.json.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
