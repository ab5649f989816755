"""The answer of brief as JSON Schema, with what each field means."""

from __future__ import annotations

from typing import Any

from lamina.contract.envelope import FOUND, NOT_FOUND
from lamina.contract.schema import MATCH_SCHEMA
from lamina.index.snapshot import Origin
from lamina.ranking.highlight import LONGEST_SNIPPET
from lamina.receipts.canonical import DIGEST_PATTERN


def _of(kind: str, meaning: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "description": meaning, **more}


_DIGEST: dict[str, Any] = {"type": "string", "pattern": DIGEST_PATTERN}
_ORIGINS = [str(origin) for origin in Origin]
_HIT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "uri": _of("string", "the document's address, for get"),
        "title": _of("string", "its title"),
        "score": _of("number", "BM25 score, six decimals, above zero"),
        "snippet": _of("string", "why it matched: plain text", maxLength=LONGEST_SNIPPET),
        "source": _of("string", "where it comes from", enum=_ORIGINS),
    },
    "required": ["uri", "title", "score", "snippet", "source"],
    "additionalProperties": False,
}
_RESULT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "rank": _of("integer", "place, from 1", minimum=1),
        "id": _of("string", "the document's URI"),
        "origin": _of("string", "where it comes from", enum=_ORIGINS),
        "path": _of("string", "its path in its repository"),
        "digest": {**_DIGEST, "description": "SHA-256 of the raw file"},
        "score": _of("number", "as in `hits`"),
        "snippet": _of("string", "as in `hits`", maxLength=LONGEST_SNIPPET),
        "evidence": _of("array", "references to evidence; the brief has none", items={"type": "string"}),
        "attributes": _of("object", "further scalars; the brief has none"),
    },
    "required": ["rank", "id", "origin", "path", "digest", "score", "snippet", "evidence", "attributes"],
    "additionalProperties": False,
}
_DATA_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "question": _of("string", "the question, exactly"),
        "retriever_id": _of("string", "what ranked"),
        "retriever_config_digest": {**_DIGEST, "description": "digest of its settings and of the options in force"},
        "hits": {"type": "array", "items": _HIT_SCHEMA},
        "citation_ids": _of("array", "the URIs to cite, in rank order", items={"type": "string"}),
        "results": {"type": "array", "items": _RESULT_SCHEMA},
        "text": _of("string", "the brief as Markdown: `- [id] title — snippet`, one line a document"),
    },
    "required": [
        "question",
        "retriever_id",
        "retriever_config_digest",
        "hits",
        "citation_ids",
        "results",
        "text",
    ],
    "additionalProperties": False,
}

_URIS: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
RESULT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "status": {"type": "string", "enum": [FOUND, NOT_FOUND]},
        "action": {"type": "string", "const": "brief"},
        "data": _DATA_SCHEMA,
        "filters_applied": {"type": "object"},
        "match": MATCH_SCHEMA,
        "filtered_out": {"type": "integer", "minimum": 0},
        "omitted_by_budget": _of("integer", "with `max_chars`: documents within `limit` that did not fit", minimum=0),
        "overlay_hits": {**_URIS, "description": "with `result_grouping` grouped: URIs of `hits` from the overlay"},
        "baseline_hits": {**_URIS, "description": "with `result_grouping` grouped: URIs of `hits` from the baseline"},
        "revision": {"type": "string"},
        "stale": {"type": "boolean"},
        "receipt": _of("object", "with `receipt`: the retrieval receipt that was minted and kept"),
    },
    "required": ["status", "action", "data", "filters_applied", "match", "filtered_out", "revision"],
    "additionalProperties": False,
}
