"""An encoder of a few subjects: texts on one subject are near each other, whatever words they use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from lamina.contract.ports import EncoderUnavailable
from lamina.contract.vectors import quantised

SUBJECTS = (
    ("river", "stream", "water", "flood"),
    ("battery", "cells", "pack", "accumulator"),
    ("alarm", "warning", "siren", "alert"),
    ("bread", "dough", "oven", "flour"),
)


@dataclass(slots=True)
class SubjectEncoder:
    """Counts words by subject. `encoded` are the passages it was given, `fails` says that it does not answer."""

    name: str = "subjects/000000000000"
    dimensions: int = 384
    encoded: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    fails: bool = False

    def passages(
        self, texts: Sequence[str], progress: Callable[[int, int], None] = lambda done, total: None
    ) -> list[bytes]:
        """The vector of each text."""
        self.encoded += texts
        progress(len(texts), len(texts))
        return [self._vector(text) for text in texts]

    def query(self, text: str) -> bytes:
        """The vector of a question."""
        self.asked.append(text)
        return self._vector(text)

    def _vector(self, text: str) -> bytes:
        if self.fails:
            raise EncoderUnavailable("it does not answer")
        words = text.casefold().split()
        vector = np.zeros((1, self.dimensions))
        for number, subject in enumerate(SUBJECTS):
            vector[0, number] = sum(word.strip(".,?!:;#") in subject for word in words)
        # Something that all texts share, so that none is without a direction.
        vector[0, -1] = 0.5
        return quantised(vector)[0]
