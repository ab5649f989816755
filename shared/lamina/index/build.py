"""Sources → snapshot: parses what changed, names every document, and says what was left out and why."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from lamina.contract.coercion import encodable
from lamina.contract.ids import SHORT_DIGEST, Revision, sha256_hex
from lamina.contract.ports import SkippedFile, SourceFile
from lamina.contract.tokens import BYTES_PER_TOKEN, count_each
from lamina.corpus.address import bare, spellings
from lamina.corpus.config import KnowledgeBaseSettings
from lamina.corpus.dates import instant
from lamina.corpus.document import DEFAULT_SCHEME, Document, common_scheme, shown_title
from lamina.corpus.reading import read
from lamina.corpus.remarks import Topic
from lamina.index.addresses import Addresses
from lamina.index.arrays import CodedColumn
from lamina.index.collector import collector_resting
from lamina.index.crossing import crossings
from lamina.index.parsed import ANALYSIS, ParseCache, Parsed
from lamina.index.placing import Placed, is_left_out, placed
from lamina.index.postings import Postings, document_terms
from lamina.index.snapshot import ORIGINS, Density, Origin, Problem, Reject, Snapshot
from lamina.index.structure import Structure
from lamina.index.texts import Texts

Progress = Callable[[int, int], None]

_DRAFT_LEFT_OUT = "it is a draft or hidden, and the settings of the knowledge base leave those out"


@dataclass(frozen=True, slots=True)
class SourceRevision:
    """One source at one revision, with the settings that apply to it."""

    origin: Origin
    revision: str
    files: tuple[SourceFile, ...]
    settings: KnowledgeBaseSettings = field(default_factory=KnowledgeBaseSettings)
    skipped: tuple[SkippedFile, ...] = ()
    unread: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Numbered:
    """A document with its origin, in order of URI."""

    origin: Origin
    placed: Placed

    @property
    def document(self) -> Document:
        return self.placed.document


def config_digest(settings: Iterable[KnowledgeBaseSettings]) -> str:
    """Digest of all that, beside the sources, decides what a snapshot holds: settings and analysis."""
    parts = [ANALYSIS, *(entry.model_dump(mode="json") for entry in settings)]
    return sha256_hex(json.dumps(parts, sort_keys=True).encode())[:SHORT_DIGEST]


@collector_resting()
def build(
    source_revisions: Sequence[SourceRevision],
    cache: ParseCache | None = None,
    progress: Progress = lambda done, total: None,
) -> tuple[Snapshot, ParseCache]:
    """The snapshot of these source revisions, at most one an origin, and the cache that makes the next build quick.

    A file whose path and bytes are in `cache` is not parsed again. `progress(done, total)` is told of each file.
    """
    by_origin = {source_revision.origin: source_revision for source_revision in source_revisions}
    fresh = ParseCache({})
    rejects: list[Reject] = []
    total = sum(len(source_revision.files) for source_revision in source_revisions)
    done = 0
    parsed: dict[Origin, list[Parsed]] = {}
    for source_revision in source_revisions:
        rejects += [Reject(source_revision.origin, skipped.path, skipped.reason) for skipped in source_revision.skipped]
        rejects += [
            Reject(source_revision.origin, path, unread(path), Topic.UNREAD_FORMAT) for path in source_revision.unread
        ]
        parsed[source_revision.origin] = []
        for file in sorted(source_revision.files, key=lambda entry: entry.path):
            done += 1
            progress(done, total)
            try:
                entry = (cache.find(file) if cache else None) or _parse(file)
            except UnicodeDecodeError:
                rejects.append(Reject(source_revision.origin, file.path, "not UTF-8"))
                continue
            fresh.keep(file, entry)
            if is_left_out(entry.document, source_revision.settings):
                rejects.append(Reject(source_revision.origin, file.path, _DRAFT_LEFT_OUT, Topic.DRAFT))
            else:
                parsed[source_revision.origin].append(entry)

    schemes = _schemes(by_origin, parsed)
    numbered = [
        _Numbered(source_revision.origin, each)
        for source_revision in source_revisions
        for each in placed(parsed[source_revision.origin], schemes[source_revision.origin], source_revision.settings)
    ]
    numbered.sort(key=lambda each: (each.placed.uri, ORIGINS.index(each.origin)))
    overlay, baseline = by_origin.get(Origin.OVERLAY), by_origin[Origin.BASELINE]
    revision = Revision(
        baseline=baseline.revision[:SHORT_DIGEST],
        overlay=None if overlay is None else overlay.revision[:SHORT_DIGEST],
    )
    config = config_digest(
        source_revision.settings for source_revision in source_revisions if source_revision.origin != Origin.BUNDLED
    )
    scheme = schemes[Origin.OVERLAY if overlay else Origin.BASELINE]
    return _assemble(numbered, revision, scheme, config, rejects), fresh


def _parse(file: SourceFile) -> Parsed:
    document, words = read(file.path, file.content)
    return Parsed(document, document_terms(document, words))


def unread(path: str) -> str:
    """Why a file that is no Markdown is not read."""
    suffix = path[path.rfind(".") :].lower()
    return f"{suffix} is not a format that is read"


def _schemes(by_origin: Mapping[Origin, SourceRevision], parsed: Mapping[Origin, list[Parsed]]) -> dict[Origin, str]:
    """Its settings, else its own commonest, else the baseline's, else the default."""

    def own(origin: Origin) -> str | None:
        if origin not in by_origin:
            return None
        return by_origin[origin].settings.scheme or common_scheme(entry.document for entry in parsed[origin])

    floor = own(Origin.BASELINE) or DEFAULT_SCHEME
    return {origin: (own(origin) if origin != Origin.BUNDLED else None) or floor for origin in ORIGINS}


def _assemble(
    numbered: Sequence[_Numbered],
    revision: Revision,
    scheme: str,
    config: str,
    rejects: Sequence[Reject],
) -> Snapshot:
    documents = [each.document for each in numbered]
    uris = [each.placed.uri for each in numbered]
    titles = [shown_title(document.title) for document in documents]
    origins = [each.origin for each in numbered]
    addresses = Addresses(
        uris=uris,
        paths=[document.path for document in documents],
        titles=titles,
        ranks=[ORIGINS.index(origin) for origin in origins],
        aliases=_aliases(documents, origins),
        scheme=scheme,
    )
    crossed = crossings(documents, addresses, lambda number: lambda other: origins[other] == origins[number])
    remarks = [
        Problem(each.origin, each.document.path, remark)
        for number, each in enumerate(numbered)
        for remark in (*each.placed.remarks, *crossed.remarks.get(number, ()))
    ]
    shown = [_floor(uri, title) for uri, title in zip(uris, titles, strict=True)]
    floors = count_each(shown)
    tokens = [
        (floor, *list(asdict(document.tokens).values())[1:]) for floor, document in zip(floors, documents, strict=True)
    ]
    return Snapshot(
        revision=revision,
        scheme=scheme,
        config=config,
        encoder=None,
        uris=uris,
        paths=[document.path for document in documents],
        titles=titles,
        hashes=[bytes.fromhex(document.content_hash) for document in documents],
        dates=[None if d.date is None else instant(d.date) for d in documents],
        origin=CodedColumn.of([str(origin) for origin in origins]),
        kind=CodedColumn.of([each.placed.kind for each in numbered]),
        audience=CodedColumn.of([document.audience for document in documents]),
        exposure=CodedColumn.of([document.exposure for document in documents]),
        tier=CodedColumn.of([document.tier for document in documents]),
        public=CodedColumn.of([document.public for document in documents]),
        start_here=CodedColumn.of([document.start_here for document in documents]),
        language=CodedColumn.of([(document.language,) for document in documents]),
        tags=CodedColumn.of([tuple(dict.fromkeys((*d.tags, *d.hashtags))) for d in documents]),
        invalidated=CodedColumn.of([document.invalidated for document in documents]),
        successors=dict(crossed.successors),
        dangling=dict(crossed.dangling),
        links=dict(crossed.links),
        aliases=dict(addresses.aliases),
        tokens=np.asarray(tokens, dtype=np.int32).reshape(len(numbered), 5),
        density=Density(
            _mean_bytes(shown, sum(floors)),
            _mean_bytes([document.body for document in documents], sum(document.tokens.body for document in documents)),
        ),
        cards=Texts.pack([_card(document) for document in documents]),
        structures=Texts.pack([Structure.of(document).written() for document in documents]),
        bodies=Texts.pack([document.body for document in documents]),
        postings=Postings.build(
            [each.placed.parsed.terms for each in numbered], [document.language for document in documents]
        ),
        rejects=tuple(rejects),
        problems=tuple(remarks),
    )


def _mean_bytes(texts: Sequence[str], tokens: int) -> float:
    return sum(len(encodable(text).encode()) for text in texts) / tokens if tokens else BYTES_PER_TOKEN


def _aliases(documents: Sequence[Document], origins: Sequence[Origin]) -> dict[str, int]:
    """Further names of documents as they are compared, the overlay's before the baseline's before the bundle's."""
    aliases: dict[str, int] = {}
    order = sorted(range(len(documents)), key=lambda number: ORIGINS.index(origins[number]))
    for number in order:
        folder = documents[number].path.rpartition("/")[0]
        for name in documents[number].names:
            for key in spellings(name):
                if key:
                    aliases.setdefault(key, number)
        for name in documents[number].names:
            # A slug without a slash before it stands in the folder of its page.
            if "://" not in name and not name.startswith("/"):
                aliases.setdefault(bare(f"{folder}/{name}"), number)
    return aliases


def _floor(uri: str, title: str) -> str:
    return json.dumps({"uri": uri, "title": title}, ensure_ascii=False)


def _card(document: Document) -> str:
    preview: list[Any] = [document.blockquote, document.summary_span, document.metadata]
    return json.dumps(preview, ensure_ascii=False, separators=(",", ":"))
