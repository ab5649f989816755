"""Our word pieces are those of the library that the model was trained with."""

from __future__ import annotations

import unicodedata
from functools import cache

from hypothesis import given
from hypothesis import strategies as st
from tests.corpora import SAMPLES
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from lamina.encoders.wordpiece import FIRST, LAST, LONGEST_WORD, UNKNOWN, _vocabulary, token_ids

# The library knows the characters of an older Unicode; these are assigned in both.
_OLD = unicodedata.ucd_3_2_0
CHARACTERS = st.characters(exclude_categories=["Cs"]).filter(
    lambda character: _OLD.category(character) != "Cn" and _OLD.category(character) == unicodedata.category(character)
)


@cache
def peer() -> Tokenizer:
    tokenizer = Tokenizer(
        models.WordPiece(dict(_vocabulary()), unk_token="[UNK]", max_input_chars_per_word=LONGEST_WORD)
    )
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def agrees(text: str) -> bool:
    return token_ids(text, 10**9) == [FIRST, *peer().encode(text).ids, LAST]


@given(st.text(CHARACTERS, max_size=60))
def test_any_text_is_cut_as_the_library_cuts_it(text: str) -> None:
    assert agrees(text)


@given(st.text(st.sampled_from("abcdefghij éüñ-_.,'’#@ΣσİıßÅ本語ก\t\n\u200b\ufffd0123"), max_size=60))
def test_accents_marks_and_ideographs_too(text: str) -> None:
    assert agrees(text)


def test_every_page_of_the_samples_is_cut_as_the_library_cuts_it() -> None:
    pages = sorted(SAMPLES.rglob("*.md"))
    assert len(pages) > 50
    for page in pages:
        assert agrees(page.read_text("utf-8")), page


def test_a_text_is_cut_to_length_with_its_end_mark() -> None:
    assert token_ids("the river rises", 4) == [FIRST, *peer().encode("the river").ids, LAST]
    assert token_ids("x" * (LONGEST_WORD + 1), 9) == [FIRST, UNKNOWN, LAST]
    assert token_ids("", 9) == [FIRST, LAST]
