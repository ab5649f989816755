"""What text costs in cl100k_base tokens, and the ceiling that no list-shaped response passes."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from lamina.contract.coercion import encodable

# Most tokens of the compact JSON envelope on search, catalog and preflight.
RESPONSE_CEILING = 30_000

ENCODING = "cl100k_base"
# English text, on the mean: an estimate where no corpus tells its own.
BYTES_PER_TOKEN = 4.0
# The name under which the knowledge contract offers the tokenizer; the second is an older client's.
TOKENIZER_NAMES = ("cl100k_base:toktok-rs", "cl100k_base:tiktoken-rs-0.12.1")


def count_tokens(text: str) -> int:
    """Number of cl100k_base tokens in `text`, special tokens counted as ordinary text."""
    return count_each((text,))[0]


def count_each(texts: Sequence[str]) -> list[int]:
    """Number of cl100k_base tokens of each text, in order."""
    import toktok  # loading the vocabulary costs 0.1 s, which only callers that count should pay

    return [int(count) for count in toktok.batch_count([encodable(text) for text in texts], ENCODING, threads=1)]


def counting_is_free() -> bool:
    """Whether the vocabulary is loaded already, since some answer of this process had to be counted."""
    return "toktok" in sys.modules
