"""Sources → snapshot: parses what changed, names every document, and says what was left out and why."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from lamina.contract.ids import SHORT_DIGEST, Revision, sha256_hex, without_suffix
from lamina.contract.ports import SkippedFile, SourceFile
from lamina.contract.tokens import count_each
from lamina.corpus.config import KnowledgeBaseSettings
from lamina.corpus.document import (
    DEFAULT_SCHEME,
    Document,
    common_scheme,
    parse,
    uri_of,
)
from lamina.corpus.kinds import kind_of
from lamina.index.arrays import CodedColumn
from lamina.index.collector import collector_resting
from lamina.index.parsed import ANALYSIS, ParseCache, Parsed
from lamina.index.postings import Postings, document_terms
from lamina.index.snapshot import ORIGINS, Origin, Problem, Reject, Snapshot
from lamina.index.texts import Texts

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Edition:
    """One source at one revision, with the settings that apply to it."""

    origin: Origin
    revision: str
    files: tuple[SourceFile, ...]
    settings: KnowledgeBaseSettings = field(default_factory=KnowledgeBaseSettings)
    skipped: tuple[SkippedFile, ...] = ()


@dataclass(frozen=True, slots=True)
class _Placed:
    """A parsed document in its place: what the knowledge base around it makes of it."""

    origin: Origin
    uri: str
    kind: str
    parsed: Parsed

    @property
    def document(self) -> Document:
        return self.parsed.document


def config_digest(settings: Iterable[KnowledgeBaseSettings]) -> str:
    """Digest of all that, beside the sources, decides what a snapshot holds: settings and analysis."""
    parts = [ANALYSIS, *(one.model_dump(mode="json") for one in settings)]
    return sha256_hex(json.dumps(parts, sort_keys=True).encode())[:SHORT_DIGEST]


@collector_resting()
def build(
    editions: Sequence[Edition],
    cache: ParseCache | None = None,
    progress: Progress = lambda done, total: None,
) -> tuple[Snapshot, ParseCache]:
    """The snapshot of these editions, at most one an origin, and the cache that makes the next build quick.

    A file whose path and bytes are in `cache` is not parsed again. `progress(done, total)` is told of each file.
    """
    by_origin = {edition.origin: edition for edition in editions}
    fresh = ParseCache({})
    rejects: list[Reject] = []
    total = sum(len(edition.files) for edition in editions)
    done = 0
    parsed: dict[Origin, list[Parsed]] = {}
    for edition in editions:
        rejects += [Reject(edition.origin, skipped.path, skipped.reason) for skipped in edition.skipped]
        parsed[edition.origin] = []
        for file in sorted(edition.files, key=lambda one: one.path):
            done += 1
            progress(done, total)
            try:
                one = (cache.find(file) if cache else None) or _parse(file)
            except UnicodeDecodeError:
                rejects.append(Reject(edition.origin, file.path, "not UTF-8"))
                continue
            fresh.keep(file, one)
            parsed[edition.origin].append(one)

    schemes = _schemes(by_origin, parsed)
    placed: list[_Placed] = []
    problems: list[Problem] = []
    for edition in editions:
        _place(edition, parsed[edition.origin], schemes[edition.origin], placed, rejects, problems)
    placed.sort(key=lambda one: (one.uri, ORIGINS.index(one.origin)))
    problems += _dead_ends(placed)
    overlay, baseline = by_origin.get(Origin.OVERLAY), by_origin[Origin.BASELINE]
    revision = Revision(
        baseline=baseline.revision[:SHORT_DIGEST],
        overlay=None if overlay is None else overlay.revision[:SHORT_DIGEST],
    )
    config = config_digest(edition.settings for edition in editions if edition.origin != Origin.BUNDLED)
    scheme = schemes[Origin.OVERLAY if overlay else Origin.BASELINE]
    return _assemble(placed, revision, scheme, config, rejects, problems), fresh


def _parse(file: SourceFile) -> Parsed:
    document = parse(file.path, file.content)
    return Parsed(document, document_terms(document))


def _schemes(by_origin: Mapping[Origin, Edition], parsed: Mapping[Origin, list[Parsed]]) -> dict[Origin, str]:
    """Its settings, else its own commonest, else the baseline's, else the default."""

    def own(origin: Origin) -> str | None:
        if origin not in by_origin:
            return None
        return by_origin[origin].settings.scheme or common_scheme(one.document for one in parsed[origin])

    floor = own(Origin.BASELINE) or DEFAULT_SCHEME
    return {origin: (own(origin) if origin != Origin.BUNDLED else None) or floor for origin in ORIGINS}


def _place(
    edition: Edition,
    parsed: list[Parsed],
    scheme: str,
    placed: list[_Placed],
    rejects: list[Reject],
    problems: list[Problem],
) -> None:
    prefixes = edition.settings.prefixes()
    taken: dict[str, str] = {}
    for one in parsed:
        document = one.document
        uri = uri_of(document, scheme)
        problems += [Problem(edition.origin, document.path, reason) for reason in document.problems]
        if uri in taken:
            rejects.append(Reject(edition.origin, document.path, f"duplicate URI: {taken[uri]} already has {uri}"))
            continue
        taken[uri] = document.path
        kind = kind_of(document.declared_kind, document.path, prefixes)
        placed.append(_Placed(edition.origin, uri, str(kind), one))


def _dead_ends(placed: Sequence[_Placed]) -> list[Problem]:
    """Documents whose `superseded_by` names nothing that is here."""
    known = {one.uri for one in placed} | {without_suffix(one.document.path) for one in placed}
    known |= {alias for one in placed for alias in one.document.aliases}
    return [
        Problem(one.origin, one.document.path, f"superseded_by {target!r} names no document")
        for one in placed
        if (target := one.document.superseded_by) is not None
        and target not in known
        and without_suffix(target) not in known
    ]


def _assemble(
    placed: Sequence[_Placed],
    revision: Revision,
    scheme: str,
    config: str,
    rejects: Sequence[Reject],
    problems: Sequence[Problem],
) -> Snapshot:
    documents = [one.document for one in placed]
    aliases: dict[str, int] = {}
    for number in sorted(range(len(placed)), key=lambda one: ORIGINS.index(placed[one].origin)):
        for alias in documents[number].aliases:
            aliases.setdefault(alias, number)
    floors = count_each([_floor(one) for one in placed])
    tokens = [
        (floor, *list(asdict(document.tokens).values())[1:]) for floor, document in zip(floors, documents, strict=True)
    ]
    return Snapshot(
        revision=revision,
        scheme=scheme,
        config=config,
        uris=[one.uri for one in placed],
        paths=[document.path for document in documents],
        titles=[document.title for document in documents],
        hashes=[bytes.fromhex(document.content_hash) for document in documents],
        dates=[document.date for document in documents],
        origin=CodedColumn.of([str(one.origin) for one in placed]),
        kind=CodedColumn.of([one.kind for one in placed]),
        audience=CodedColumn.of([document.audience for document in documents]),
        exposure=CodedColumn.of([document.exposure for document in documents]),
        tier=CodedColumn.of([document.tier for document in documents]),
        public=CodedColumn.of([document.public for document in documents]),
        start_here=CodedColumn.of([document.start_here for document in documents]),
        tags=CodedColumn.of([document.tags for document in documents]),
        invalidated=CodedColumn.of([document.invalidated for document in documents]),
        superseded_by={n: d.superseded_by for n, d in enumerate(documents) if d.superseded_by is not None},
        aliases=aliases,
        tokens=np.asarray(tokens, dtype=np.int32).reshape(len(placed), 5),
        cards=Texts.pack([_card(document) for document in documents]),
        bodies=Texts.pack([document.body for document in documents]),
        postings=Postings.build([one.parsed.terms for one in placed]),
        rejects=tuple(rejects),
        problems=tuple(problems),
    )


def _floor(one: _Placed) -> str:
    return json.dumps({"uri": one.uri, "title": one.document.title}, ensure_ascii=False)


def _card(document: Document) -> str:
    card: list[Any] = [document.blockquote, document.summary_span, document.metadata]
    return json.dumps(card, ensure_ascii=False, separators=(",", ":"))
