"""What every action shares that ranks: the documents of a scope that match a question and pass the filters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from lamina.actions.action import QueryContext
from lamina.actions.entry import floor
from lamina.actions.parameters import GroupedRequest, RankedRequest
from lamina.contract.envelope import CallFacts, Envelope
from lamina.contract.filters import Filters
from lamina.contract.request import Grouping
from lamina.contract.schema import COUNT, TEXT, TEXTS, AnswerField, Schema, nullable, object_of
from lamina.index.snapshot import BODY_COLUMN, Origin, Snapshot
from lamina.ranking.highlight import LONGEST_SNIPPET, snippet
from lamina.ranking.match import Signal
from lamina.ranking.meaning import MeaningState
from lamina.ranking.order import standing_first
from lamina.ranking.rank import Ranked, rank
from lamina.ranking.scope import Scope, check_values, left_out_by, passing

# Characters of a word that are told back; a word may be as long as the query.
_LONGEST_TOLD = 64
MOST_TOP = 5
"""Hits whose origin is recorded as that of the top."""

_SIGNAL: Schema = {"type": "string", "enum": list(get_args(Signal))}
MATCH = AnswerField(
    "match",
    object_of(
        AnswerField(
            "signal",
            _SIGNAL,
            "whether the matter is known at all: strong, the best hit very likely answers; weak, it may; "
            "none, the base does not know",
        ),
        AnswerField(
            "probability",
            {"type": "number", "minimum": 0, "maximum": 1},
            "how likely the best hit answers, as measured on questions with and without an answer",
        ),
        AnswerField(
            "coverage",
            {"type": "number", "minimum": 0, "maximum": 1},
            "share, 0 to 1, of the query's weight that the best hit holds",
        ),
        AnswerField(
            "unmatched_terms",
            TEXTS,
            "words of the query of which the scope holds nothing, not even a part or a near spelling",
        ),
        AnswerField(
            "meaning",
            {"type": "string", "enum": list(get_args(MeaningState))},
            "whether pages in other words were looked for: used; not_needed, words cover the query; following, the "
            "index has no vectors yet; unavailable, they or their encoder cannot be had; none, the index has none",
        ),
        AnswerField(
            "overlay_signal", _SIGNAL, "with a knowledge base: the same, asked of the overlay alone", always=False
        ),
    ),
)
SCORE = AnswerField("score", {"type": "number"}, "score by words and, as far as they fail, by meaning; six decimals")
SNIPPET = AnswerField(
    "snippet",
    {"type": "string", "maxLength": LONGEST_SNIPPET},
    f"why it matched: plain text, at most {LONGEST_SNIPPET} characters; not with `snippet` false",
    always=False,
)
BODY_TOKENS = AnswerField("body_tokens", COUNT, "with `sizes`: cl100k_base tokens of its body", always=False)
SECTION = AnswerField(
    "section",
    nullable(TEXT),
    "the section that matched, as get takes it; null where that is before the first heading or outside the body",
)
FILTERED_OUT = (
    AnswerField("filtered_out", COUNT, "matches that the filters removed"),
    AnswerField(
        "filtered_out_by",
        {"type": "object", "additionalProperties": COUNT},
        "how many of them each kind that is not included, or each filter, removed",
        always=False,
    ),
    AnswerField(
        "best_filtered",
        object_of(AnswerField("uri", TEXT), AnswerField("title", TEXT)),
        "the best of them, where it scores above all that passed",
        always=False,
    ),
)


def grouped_fields(listed: str) -> tuple[AnswerField, AnswerField]:
    """The fields that tell hits by origin; `listed` is the field that holds the hits."""
    return (
        AnswerField(
            "overlay_hits", TEXTS, f"with `result_grouping` grouped: URIs in `{listed}` from the overlay", always=False
        ),
        AnswerField(
            "baseline_hits",
            TEXTS,
            f"with `result_grouping` grouped: URIs in `{listed}` from the baseline",
            always=False,
        ),
    )


@dataclass(frozen=True, slots=True)
class Hit:
    """A document that matched: its number, its score (six decimals), and the passage that shows why.

    `position` is where in the body that passage stands, None where the body shows nothing.
    """

    document: int
    score: float
    snippet: str
    position: int | None


@dataclass(frozen=True, slots=True)
class Matches:
    """The documents that match, of which those of the mask `kept` pass.

    `first` are those that the grouping puts before the rest (None: score alone decides). `match` is the envelope's.
    """

    snapshot: Snapshot
    scope: Scope
    ranked: Ranked
    filters: Filters
    kept: NDArray[np.bool_]
    first: NDArray[np.bool_] | None
    match: Envelope

    def __len__(self) -> int:
        return int(np.count_nonzero(self.kept))

    def filtered_out(self) -> Envelope:
        """What the filters removed: see `filtered_fields`."""
        return filtered_fields(self.snapshot, self.ranked, self.filters, self.kept, ~self.kept)

    def hits(self, limit: int, offset: int = 0) -> list[Hit]:
        """At most `limit` hits from the offset on."""
        places = self.ranked.best(offset + limit, self.kept, self.first)[offset:]
        documents, scores = self.ranked.found[places].tolist(), self.ranked.scores[places].tolist()
        return [self._hit(number, score) for number, score in zip(documents, scores, strict=True)]

    def _hit(self, document: int, score: float) -> Hit:
        """A document with why it matched; the title stands beside it already."""
        snapshot, terms = self.snapshot, self.ranked.highlight_terms
        found = snippet(snapshot.body(document), terms, aside=lambda: snapshot.frontmatter(document))
        return Hit(document, score, found.text.removeprefix(f"{snapshot.titles[document]} — "), found.position)

    def facts(self, legacy: int) -> CallFacts:
        """What the telemetry record holds of them; `legacy` as in `CallFacts`."""
        best = self.ranked.best(MOST_TOP, self.kept, self.first)
        return ranked_facts(
            self.scope,
            hits=self.scope.overlay[self.ranked.found[self.kept]],
            top=self.scope.overlay[self.ranked.found[best]],
            legacy=legacy,
        )


def ranked_documents(
    question: str, filters: Filters, request: GroupedRequest, context: QueryContext, *, prefix: bool = False
) -> Matches:
    """Ranks the scope by the question, then filters and groups what matched. Raises INVALID_FILTER_VALUE."""
    snapshot = context.snapshot
    check_values(filters, snapshot)
    scope = context.scopes[request.scope]
    meaning, names = context.meaning, context.names
    ranked = rank(scope.postings, question, text_of=snapshot.text, prefix=prefix, meaning=meaning, names=names)
    kept = passing(filters, snapshot)[ranked.found]
    match: dict[str, Any] = {
        "signal": ranked.match.signal,
        "probability": ranked.match.probability,
        "coverage": ranked.match.coverage,
        "unmatched_terms": [term[:_LONGEST_TOLD] for term in ranked.match.unmatched_terms],
        "meaning": ranked.match.meaning,
    }
    if request.knowledge_base_url is not None:
        by_overlay = rank(
            context.scopes.overlay_postings,
            question,
            text_of=snapshot.text,
            prefix=prefix,
            meaning=meaning,
            names=names,
        )
        match["overlay_signal"] = by_overlay.match.signal
    first = standing_first(request.grouping, ranked, scope.overlay, kept)
    return Matches(snapshot, scope, ranked, filters, kept, first, match)


def filtered_fields(
    snapshot: Snapshot, ranked: Ranked, filters: Filters, kept: NDArray[np.bool_], removed: NDArray[np.bool_]
) -> Envelope:
    """How many matches were removed, by what, and the best of them where it scores above all that are kept.

    Both masks have an entry a place in `ranked.found`.
    """
    told: Envelope = {"filtered_out": int(np.count_nonzero(removed))}
    if not told["filtered_out"]:
        return told
    told["filtered_out_by"] = left_out_by(filters, snapshot, ranked.found[removed])
    [best] = ranked.best(1, removed)
    if ranked.steps[best] > ranked.steps[kept].max(initial=0):
        told["best_filtered"] = floor(snapshot, int(ranked.found[best]), with_source=False)
    return told


def sizes(request: RankedRequest, snapshot: Snapshot, document: int) -> dict[str, int]:
    """`body_tokens` of a hit where they were asked for."""
    return {"body_tokens": int(snapshot.tokens[document, BODY_COLUMN])} if request.sizes else {}


def applied(request: GroupedRequest, filters: Filters) -> dict[str, Any]:
    """`filters_applied`, with scope and grouping where there is a knowledge base."""
    echo: dict[str, Any] = dict(filters.echo())
    if request.knowledge_base_url is not None:
        echo["search_scope"] = str(request.scope)
        echo["result_grouping"] = str(request.grouping)
    return echo


def grouped(grouping: Grouping, snapshot: Snapshot, documents: Iterable[int]) -> Envelope:
    """The URIs of the documents by origin, where that grouping was asked for."""
    if grouping != Grouping.GROUPED:
        return {}
    by_origin: dict[bool, list[str]] = {True: [], False: []}
    for document in documents:
        by_origin[snapshot.origin[document] == Origin.OVERLAY].append(snapshot.uris[document])
    return {"overlay_hits": by_origin[True], "baseline_hits": by_origin[False]}


def ranked_facts(
    scope: Scope, *, hits: NDArray[np.bool_], top: NDArray[np.bool_] | None = None, legacy: int | None = None
) -> CallFacts:
    """Facts of an answer; `hits` has an entry a match, `top` one for each of the first: is it of the overlay.

    `top` is None where nothing is ranked.
    """
    overlay, baseline = scope.overlay_count, scope.baseline_count
    return CallFacts(
        index_size=overlay + baseline,
        overlay_documents=overlay,
        baseline_documents=baseline,
        overlay_hits=int(np.count_nonzero(hits)),
        baseline_hits=int(np.count_nonzero(~hits)),
        overlay_hits_in_top_5=None if top is None else int(np.count_nonzero(top)),
        baseline_hits_in_top_5=None if top is None else int(np.count_nonzero(~top)),
        tokens_legacy_equivalent=legacy,
    )
