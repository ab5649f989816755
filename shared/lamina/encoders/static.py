"""Static word vectors: the mean of the vectors of a text's tokens, which costs next to nothing to work out.

The table and its tokenizer are files of the package wordllama, read as data.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib.util import find_spec
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lamina.contract.ports import EncoderUnavailable
from lamina.contract.vectors import quantised
from lamina.encoders.packaged import PackagedFile

TABLE: Final = PackagedFile(
    "wordllama",
    "wordllama/weights/l2_supercat_256.safetensors",
    "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
)
TOKENIZER: Final = PackagedFile(
    "wordllama",
    "wordllama/tokenizers/l2_supercat_tokenizer_config.json",
    "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68",
)
_TENSOR = "embedding.weight"
_BATCH = 1_024


def is_installed() -> bool:
    """Whether table and tokenizer are there, without importing any of them."""
    return find_spec("tokenizers") is not None and TABLE.is_there and TOKENIZER.is_there


class StaticEncoder:
    """Looks tokens up in a table and takes their mean; safe for concurrent callers."""

    name = f"wordllama-256/{TABLE.sha256[:12]}"
    dimensions = 256

    def passages(
        self, texts: Sequence[str], progress: Callable[[int, int], None] = lambda done, total: None
    ) -> list[bytes]:
        """The vector of each text, in order. Raises EncoderUnavailable."""
        vectors: list[bytes] = []
        for start in range(0, len(texts), _BATCH):
            vectors += self._encoded(texts[start : start + _BATCH])
            progress(len(vectors), len(texts))
        return vectors

    def query(self, text: str) -> bytes:
        """The vector of a question. Raises EncoderUnavailable."""
        return self._encoded([text])[0]

    def _encoded(self, texts: Sequence[str]) -> list[bytes]:
        table, tokenizer = self._table, self._tokenizer
        rows = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, encoded in zip(rows, tokenizer.encode_batch(list(texts), add_special_tokens=False), strict=True):
            if encoded.ids:
                row[:] = table[encoded.ids].mean(axis=0, dtype=np.float32)
        return quantised(rows)

    @cached_property
    def _table(self) -> NDArray[np.float16]:
        """The one tensor of the file: eight bytes that say how long its JSON header is, the header, the numbers."""
        content = TABLE.read()
        start = 8 + int.from_bytes(content[:8], "little")
        tensor = json.loads(content[8:start])[_TENSOR]
        first, last = tensor["data_offsets"]
        return np.frombuffer(content[start + first : start + last], dtype="<f2").reshape(tensor["shape"])

    @cached_property
    def _tokenizer(self) -> Any:
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise EncoderUnavailable("tokenizers is not installed: pip install 'lamina[static]'") from error
        tokenizer = Tokenizer.from_str(TOKENIZER.read().decode("utf-8"))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer
