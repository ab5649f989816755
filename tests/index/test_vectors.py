"""Vectors are compared in whole numbers, kept signed, and told apart by what they hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.contract.ids import Revision
from lamina.contract.vectors import MOST_DIMENSIONS, SAME, quantised
from lamina.index.signed import SnapshotRefused, sign
from lamina.index.vectors import Vectors, piece_digest, unknown_pieces

KEY = b"k" * 32
PIECES = [["a river", "it rises"], ["a battery"]]


def vectors_of(rows: list[list[int]], counts: list[int]) -> Vectors:
    names = iter(f"piece {number}" for number in range(len(rows)))
    pieces = [[next(names) for _ in range(count)] for count in counts]
    known = {
        piece_digest(text): np.array(row, dtype=np.int8).tobytes()
        for text, row in zip((text for each in pieces for text in each), rows, strict=True)
    }
    return Vectors.of("subjects/1", pieces, known)


@given(st.data())
def test_nearness_is_exact_to_the_last_unit(data: st.DataObject) -> None:
    """Against plain integers, with the largest numbers and lengths that there can be."""
    dimensions = data.draw(st.sampled_from([2, 384, MOST_DIMENSIONS]))
    number = st.sampled_from([-127, -126, -1, 0, 1, 126, 127])
    counts = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    cycle = data.draw(st.lists(number, min_size=1, max_size=9))
    rows = [[cycle[(row + at) % len(cycle)] for at in range(dimensions)] for row in range(sum(counts))]
    query = [cycle[at % len(cycle)] for at in range(dimensions)]
    products = [sum(a * b for a, b in zip(row, query, strict=True)) for row in rows]
    expected, start = [], 0
    for count in counts:
        own = products[start : start + count]
        expected.append((max(own) + sum(own) // count) // 2)
        start += count
    near = vectors_of(rows, counts).nearness(np.array(query, dtype=np.int8).tobytes())
    assert near.tolist() == expected


@given(st.lists(st.lists(st.floats(-1, 1, width=32), min_size=5, max_size=5), min_size=1, max_size=4))
def test_a_vector_is_the_same_as_itself_and_its_length_says_nothing(rows: list[list[float]]) -> None:
    array = np.array(rows, dtype=np.float64)
    assert quantised(array * 2**20) == quantised(array)
    for row, vector in zip(array, quantised(array), strict=True):
        numbers = np.frombuffer(vector, dtype=np.int8).astype(np.int64)
        length = float(np.linalg.norm(row))
        # Where one number is most of a vector it passes 127 and is cut.
        if length and np.abs(row).max() / length < 0.4:
            assert abs(int(numbers @ numbers) - SAME) <= SAME * 0.05


def test_vectors_too_long_to_compare_exactly_are_refused() -> None:
    with pytest.raises(ValueError, match="not compared exactly"):
        quantised(np.ones((1, MOST_DIMENSIONS + 1)))


def test_only_pieces_without_a_vector_are_left_to_encode_each_once() -> None:
    texts = [["a", "b"], ["b", "c"]]
    missing = unknown_pieces(texts, {piece_digest("a"): b""})
    assert sorted(missing.values()) == ["b", "c"]


def test_signed_vectors_come_back_as_they_were() -> None:
    made = vectors_of([[1, 2], [3, 4], [5, -6]], [2, 1])
    read = Vectors.verified(made.signed(KEY), KEY)
    assert read.digest == made.digest
    assert read.by_digest() == made.by_digest()
    assert read.nearness(b"\x01\x01").tolist() == made.nearness(b"\x01\x01").tolist()


def test_a_digest_follows_encoder_numbers_and_documents() -> None:
    made = vectors_of([[1, 2], [3, 4], [5, -6]], [2, 1])
    others = [
        vectors_of([[1, 2], [3, 4], [5, -7]], [2, 1]),
        vectors_of([[1, 2], [3, 4], [5, -6]], [1, 2]),
        Vectors("other/1", made.counts, made.digests, made.matrix),
    ]
    assert len({made.digest, *(other.digest for other in others)}) == 4


@pytest.mark.parametrize(
    "change",
    [
        {"counts": ("<i4", (2,), b"\x02\0\0\0\x02\0\0\0")},
        {"counts": ("<i4", (3,), b"\x03\0\0\0\0\0\0\0\0\0\0\0")},
        {"counts": ("<i8", (1,), b"\x03" + b"\0" * 7)},
        {"matrix": ("|i1", (6,), b"\0" * 6)},
        {"digests": b"short"},
        {"matrix": None},
        {},
    ],
)
def test_vectors_that_do_not_fit_each_other_are_refused(change: dict[str, object]) -> None:
    data: dict[str, object] = {
        "encoder": "subjects/1",
        "counts": ("<i4", (2,), b"\x02\0\0\0\x01\0\0\0"),
        "digests": b"d" * 48,
        "matrix": ("|i1", (3, 2), b"\x01\x02\x03\x04\x05\x06"),
    }
    signed = sign(data | change, KEY, kind="vectors", documents=2, revision="", config="")
    if not change:
        assert Vectors.verified(signed, KEY).nearness(b"\x01\x01").tolist() == [6, 11]
        return
    with pytest.raises(SnapshotRefused, match="vectors"):
        Vectors.verified(signed, KEY)


def test_a_revision_tells_its_vectors() -> None:
    for text in ("0" * 12, f"{'1' * 12}.{'0' * 12}", f"{'0' * 12}~{'a' * 12}", f"{'1' * 12}.{'0' * 12}~{'a' * 12}"):
        revision = Revision.parse(text)
        assert revision is not None
        assert str(revision) == text
        assert revision.vectors == ("a" * 12 if "~" in text else None)
    for text in (f"{'0' * 12}~", f"{'0' * 12}~{'A' * 12}", f"{'0' * 12}~{'a' * 12}~{'a' * 12}", "~" + "a" * 12):
        assert Revision.parse(text) is None
