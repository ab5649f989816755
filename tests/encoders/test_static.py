"""Static vectors: near where words are near, the same on every call, from two files that are read as data."""

from __future__ import annotations

import numpy as np

from lamina.encoders.static import TABLE, StaticEncoder, is_installed


def test_a_text_is_nearer_to_its_subject_than_to_another() -> None:
    encoder = StaticEncoder()
    texts = ["the level of the river", "water in the stream rises", "a recipe for bread", ""]
    level, water, bread, nothing = (
        np.frombuffer(vector, dtype=np.int8).astype(np.int64) for vector in encoder.passages(texts)
    )
    assert level @ water > level @ bread
    assert not nothing.any()
    assert encoder.query(texts[0]) == encoder.passages(texts)[0]
    assert len(level) == encoder.dimensions


def test_the_table_is_installed_and_of_the_expected_size() -> None:
    assert is_installed()
    assert len(TABLE.read()) == 16_384_096
