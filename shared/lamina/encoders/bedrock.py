"""Embeddings of Amazon Bedrock: the models of Titan and Cohere, at the length that fits beside a document."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import numpy as np

from lamina.contract.ports import EncoderUnavailable
from lamina.contract.vectors import quantised

TITAN: Final = "amazon.titan-embed-text-v2:0"
COHERE_V3: Final = ("cohere.embed-english-v3", "cohere.embed-multilingual-v3")
COHERE_V4: Final = "cohere.embed-v4:0"
MODELS: Final = (TITAN, *COHERE_V3, COHERE_V4)
_DIMENSIONS = {TITAN: 512, COHERE_V4: 512, **dict.fromkeys(COHERE_V3, 1024)}
# What one call takes: Titan a text, Cohere ninety-six, of so many characters each.
_TEXTS_A_CALL = {TITAN: 1}
_MOST_TEXTS = 96
_LONGEST_TEXT = 2_048
_CALLS_AT_ONCE = 8


class BedrockEncoder:
    """One model, called through a `bedrock-runtime` client; safe for concurrent callers.

    `model` is one of MODELS, or an inference profile of one, whose id ends with the model's.
    """

    def __init__(self, model: str, client: Any) -> None:
        self._id = model
        self._model = foundation_model(model)
        self._client = client
        self.name = f"bedrock:{self._model}/{self.dimensions}"

    @property
    def dimensions(self) -> int:
        """Numbers of a vector."""
        return _DIMENSIONS[self._model]

    def passages(
        self, texts: Sequence[str], progress: Callable[[int, int], None] = lambda done, total: None
    ) -> list[bytes]:
        """The vector of each text, in order. Raises EncoderUnavailable."""
        most = _TEXTS_A_CALL.get(self._model, _MOST_TEXTS)
        batches = [texts[start : start + most] for start in range(0, len(texts), most)]
        vectors: list[bytes] = []
        with ThreadPoolExecutor(max_workers=_CALLS_AT_ONCE) as pool:
            for encoded in pool.map(lambda batch: self._encoded(batch, "search_document"), batches):
                vectors += encoded
                progress(len(vectors), len(texts))
        return vectors

    def query(self, text: str) -> bytes:
        """The vector of a question. Raises EncoderUnavailable."""
        return self._encoded([text], "search_query")[0]

    def _encoded(self, texts: Sequence[str], purpose: str) -> list[bytes]:
        # A model refuses a text of nothing.
        given = [text[:_LONGEST_TEXT].strip() or "-" for text in texts]
        answer = self._invoke(self._request(given, purpose))
        try:
            rows = [answer["embedding"]] if self._model == TITAN else answer["embeddings"]["float"]
            vectors = np.asarray(rows, dtype=np.float64).reshape(len(texts), self.dimensions)
        except (LookupError, ValueError, TypeError) as error:
            raise EncoderUnavailable(f"{self._id} answered something else than vectors") from error
        return quantised(vectors)

    def _request(self, texts: Sequence[str], purpose: str) -> dict[str, Any]:
        if self._model == TITAN:
            return {"inputText": texts[0], "dimensions": self.dimensions, "normalize": True}
        request: dict[str, Any] = {"texts": list(texts), "input_type": purpose, "embedding_types": ["float"]}
        if self._model == COHERE_V4:
            return {**request, "output_dimension": self.dimensions, "truncate": "RIGHT"}
        return {**request, "truncate": "END"}

    def _invoke(self, request: dict[str, Any]) -> dict[str, Any]:
        from botocore.exceptions import BotoCoreError, ClientError
        from botocore.parsers import ResponseParserError

        try:
            response = self._client.invoke_model(
                modelId=self._id, body=json.dumps(request), contentType="application/json", accept="application/json"
            )
            answer = json.loads(response["body"].read())
        except (BotoCoreError, ResponseParserError, ClientError, OSError, ValueError) as error:
            raise EncoderUnavailable(f"{self._id} did not answer: {type(error).__name__}") from error
        return answer if isinstance(answer, dict) else {}


def foundation_model(model: str) -> str:
    """The model that an id names, also that of an inference profile (`eu.cohere.embed-v4:0`). Raises ValueError."""
    found = next((known for known in MODELS if model == known or model.endswith(f".{known}")), None)
    if found is None:
        raise ValueError(f"{model} is no embedding model that is known here; the models are {', '.join(MODELS)}")
    return found
