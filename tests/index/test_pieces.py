"""A document's pieces: what it is about, how it opens, its first sections, each as plain text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lamina.corpus.document import parse
from lamina.index.pieces import LEAST_WORDS, LONGEST_PIECE, MOST_SECTIONS, pieces

LONG = "The level of the river is read every quarter of an hour and sent to the server by radio once in an hour."


def of(text: str, path: str = "docs/gauge.md") -> list[str]:
    return pieces(parse(path, text.encode()))


def test_the_card_holds_title_blockquote_and_headings() -> None:
    card = of(f"# A Gauge\n\n> It reads *the* level.\n\n{LONG}\n\n## How it works\n\n{LONG}\n\n## Care\n\nOil it.")[0]
    assert card == "A Gauge. It reads the level.. How it works; Care"


def test_opening_and_sections_follow_in_order_without_marks_and_addresses() -> None:
    text = (
        f"# A Gauge\n\n{LONG} [See](https://example.org/x) [[docs/care|the care]].\n\n## Parts\n\n- **Board** {LONG}\n"
    )
    _, opening, section = of(text)
    assert opening == f"{LONG} See the care. Parts Board {LONG}"
    assert section == f"Parts. Board {LONG}"


def test_short_sections_are_left_to_the_card() -> None:
    short = " ".join(["word"] * (LEAST_WORDS - 1))
    assert [piece.split(".")[0] for piece in of(f"# T\n\n## One\n\n{short}\n\n## Two\n\n{short} word\n")[2:]] == ["Two"]


def test_there_are_at_most_so_many_pieces_and_none_is_long() -> None:
    text = "# T\n\n" + "".join(f"## Part {number}\n\n{LONG * 30}\n\n" for number in range(MOST_SECTIONS + 3))
    found = of(text)
    assert len(found) == 2 + MOST_SECTIONS
    assert all(len(piece) <= LONGEST_PIECE for piece in found)


@given(st.text(max_size=300))
def test_any_document_has_a_piece(text: str) -> None:
    found = of(text.encode("utf-8", "replace").decode())
    assert found
    assert len(found) == len(set(found))
