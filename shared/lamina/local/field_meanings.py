"""What each field of an answer means, for the tables of the documentation: dotted name → meaning."""

from __future__ import annotations

from collections.abc import Mapping

MEANINGS: Mapping[str, str] = {
    "status": "what came of the call",
    "action": "the action that answered",
    "total": "documents after filters, before paging",
    "limit": "the limit in force",
    "offset": "the offset in force",
    "returned": "with `max_tokens`: entries in `data`",
    "omitted_by_budget": "with `max_tokens`: entries of this page that did not fit",
    "next_offset": "with `max_tokens`: where to go on, null at the end",
    "disclosure_applied": "the flags in force, in canonical order",
    "filters_applied": "the filters in force as arrays; with a knowledge base also scope and grouping",
    "revision": "the snapshot that answered; send it back to stay on it",
    "stale": "true where a newer snapshot may exist but could not be had",
    "legacy": "only with `include_legacy_envelope`: fields of the older shape",
    "filtered_out": "matches that the filters removed",
    "overlay_hits": "with `result_grouping` grouped: URIs in `data` from the overlay",
    "baseline_hits": "with `result_grouping` grouped: URIs in `data` from the baseline",
    "match.signal": "whether the matter is known at all",
    "match.coverage": "share, 0 to 1, of the query's weight that the best hit holds",
    "match.unmatched_terms": "words of the query that occur nowhere in the scope",
    "match.overlay_signal": "with a knowledge base: the same, asked of the overlay alone",
    "governance_source": "the lowest tier that served a governance file: "
    "`knowledge_base`, `bundled`, `minimal`, `incomplete`",
    "reason": "why there is no document, where more is known than that",
    "did_you_mean": "with NOT_FOUND: up to three URIs",
    "supersession_chain": "`{uri, title}` of each document from what was asked to what answered",
    "superseded_by": "with NOT_FOUND: the link that leads nowhere",
    "data.uri": "the document's address, for get",
    "data.title": "frontmatter title, else the first H1, else the file's name",
    "data.source": "where the document comes from; with a knowledge base, and where it is the bundle",
    "data.score": "BM25 score, six decimals, above zero",
    "data.snippet": "why it matched: plain text, at most 240 characters",
    "data.position": "place in the whole listing, from 1",
    "data.role": "why it is here",
    "data.omitted_flags": "with `max_tokens`: flags that had to go so that one entry fits",
    "data.content_hash": "SHA-256 of the raw file",
}
