"""How a vector is written down: one byte a number, at one scale, so that comparing two is whole arithmetic."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

SCALE: Final = 300
"""A vector of length one is multiplied by this and rounded. Of the numbers that encoders give hardly one passes 127."""
SAME: Final = SCALE * SCALE
"""The product of a vector with itself, but for rounding."""
MOST_DIMENSIONS: Final = 1040
"""Products of so many bytes add up to less than 2^24, so that 32-bit floats hold every sum exactly, in any order."""


def quantised(vectors: NDArray[Any]) -> list[bytes]:
    """Each row, whatever its length, as signed bytes; a row of nothing stays nothing.

    >>> [list(vector) for vector in quantised(np.array([[3.0, 4.0], [0.0, 0.0]]))]
    [[127, 127], [0, 0]]
    >>> list(quantised(np.array([[1.0, 0.1] + [1.0] * 98]))[0][:2])
    [30, 3]
    """
    if vectors.shape[1] > MOST_DIMENSIONS:
        raise ValueError(f"vectors of more than {MOST_DIMENSIONS} numbers are not compared exactly")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = np.divide(vectors, lengths, out=np.zeros_like(vectors, dtype=np.float64), where=lengths > 0)
    return [row.tobytes() for row in np.clip(np.rint(units * SCALE), -127, 127).astype(np.int8)]
