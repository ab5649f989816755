"""A snapshot: every document of an overlay, a baseline and the bundled files at one revision, ready to be asked."""

from __future__ import annotations

import json
import zlib
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamina.contract.ids import Revision
from lamina.corpus.remarks import Remark, Topic
from lamina.index.addresses import Addresses
from lamina.index.arrays import CodedColumn, from_plain, to_plain
from lamina.index.fields import APART, frontmatter_lines
from lamina.index.postings import Postings
from lamina.index.signed import SnapshotRefused
from lamina.index.structure import Structure
from lamina.index.texts import Texts


class Origin(StrEnum):
    """Where a document comes from, first the one that shadows the others under the same URI."""

    OVERLAY = "overlay"
    BASELINE = "baseline"
    BUNDLED = "bundled"


ORIGINS = tuple(Origin)


@dataclass(frozen=True, slots=True)
class Reject:
    """A file that is present but not in the index, and why."""

    origin: Origin
    path: str
    reason: str
    topic: Topic = Topic.UNREADABLE


@dataclass(frozen=True, slots=True)
class Problem:
    """What the corpus check says of an indexed document."""

    origin: Origin
    path: str
    remark: Remark


@dataclass(frozen=True, slots=True)
class Preview:
    """What a listing may show of a document beside its floor."""

    blockquote: str | None
    summary_span: tuple[int, int] | None
    metadata: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Density:
    """Mean bytes a cl100k_base token: `floor` of URIs and titles as they are sent, `body` of whole documents."""

    floor: float
    body: float


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Columns over documents, which are numbered in order of (URI, origin): equal scores so tie by URI.

    `tokens` has a row a document: floor, blockquote, metadata, summary, body, in cl100k_base tokens. `density` says how
    many bytes a token of floors and one of bodies takes on the mean, to estimate by without counting. `encoder` names
    what turns its pieces into vectors, None where nothing does; the vectors lie beside the snapshot and are there once
    `revision` tells their digest.
    """

    revision: Revision
    scheme: str
    config: str
    encoder: str | None
    uris: list[str]
    paths: list[str]
    titles: list[str]
    hashes: list[bytes]
    dates: list[str | None]
    origin: CodedColumn
    kind: CodedColumn
    audience: CodedColumn
    exposure: CodedColumn
    tier: CodedColumn
    public: CodedColumn
    start_here: CodedColumn
    language: CodedColumn
    tags: CodedColumn
    invalidated: CodedColumn
    successors: dict[int, int]
    dangling: dict[int, str]
    links: dict[int, tuple[int, ...]]
    aliases: dict[str, int]
    tokens: NDArray[np.int32]
    density: Density
    cards: Texts
    structures: Texts
    bodies: Texts
    postings: Postings
    rejects: tuple[Reject, ...]
    problems: tuple[Problem, ...]
    _known: list[Addresses] = field(default_factory=list, compare=False, repr=False)

    def __len__(self) -> int:
        return len(self.uris)

    def mask(self, origin: Origin) -> NDArray[np.bool_]:
        """The documents of one origin."""
        return self.origin.where(lambda value: bool(value == origin))

    def preview(self, document: int) -> Preview:
        """Blockquote, summary span and metadata of a document."""
        blockquote, span, metadata = json.loads(self.cards[document])
        return Preview(blockquote, None if span is None else (span[0], span[1]), metadata)

    def structure(self, document: int) -> Structure:
        """The sections of a document's body, and where in its file they stand."""
        return Structure.read(self.structures[document])

    def body(self, document: int) -> str:
        """The whole body, unchanged."""
        return self.bodies[document]

    def text(self, document: int) -> str:
        """What a quoted phrase is looked for in: title, frontmatter and body, too far apart to be one phrase."""
        return f"\n{APART}".join((self.titles[document], self.frontmatter(document), self.bodies[document]))

    def frontmatter(self, document: int) -> str:
        """What the frontmatter says beside title and URI, a line a field."""
        metadata = self.preview(document).metadata or {}
        return f"\n{APART}".join(frontmatter_lines(metadata, apart=("title", "uri")))

    def content_hash(self, document: int) -> str:
        """SHA-256 of the raw file."""
        return self.hashes[document].hex()

    def with_uri(self, uri: str) -> Iterable[int]:
        """The documents under a URI, the shadowing one first."""
        at = bisect_left(self.uris, uri)
        while at < len(self.uris) and self.uris[at] == uri:
            yield at
            at += 1

    def with_path(self, path: str) -> Iterable[int]:
        """The documents under a repository path."""
        return (number for number, other in enumerate(self.paths) if other == path)

    def linked_from(self, document: int) -> list[int]:
        """The documents that link to a document."""
        return [number for number, targets in self.links.items() if document in targets]

    @property
    def addresses(self) -> Addresses:
        """All names of the documents, gathered when the first one is looked for."""
        if not self._known:
            ranks = [ORIGINS.index(self.origin[number]) for number in range(len(self))]
            self._known.append(Addresses(self.uris, self.paths, self.titles, ranks, self.aliases, self.scheme))
        return self._known[0]

    def find(self, name: str, among: NDArray[np.bool_] | None = None) -> int | None:
        """The document that a name means: URI, path, alias, folder, wiki name; overlay before baseline."""
        exact = next((number for number in self.with_uri(name) if among is None or among[number]), None)
        if exact is not None:
            return exact
        return self.addresses.find(name, lambda number: among is None or bool(among[number]))

    def aliased(self, alias: str) -> int | None:
        """The document that lists an alias, in whatever letter case."""
        return self.addresses.aliased(alias) if self.aliases else None

    def to_data(self) -> dict[str, Any]:
        """Plain data, to be signed."""
        return {
            "revision": str(self.revision),
            "scheme": self.scheme,
            "config": self.config,
            "encoder": self.encoder,
            **{name: getattr(self, name) for name in _PLAIN},
            **{name: getattr(self, name).to_plain() for name in _CODED},
            "successors": self.successors,
            "dangling": self.dangling,
            "links": self.links,
            "aliases": self.aliases,
            "tokens": to_plain(self.tokens),
            "density": (self.density.floor, self.density.body),
            "cards": (self.cards.dictionary, self.cards.packed),
            "structures": (self.structures.dictionary, self.structures.packed),
            "bodies": (self.bodies.dictionary, self.bodies.packed),
            "postings": self.postings.to_data(),
            "rejects": tuple((str(r.origin), r.path, r.reason, str(r.topic)) for r in self.rejects),
            "problems": tuple(
                (str(p.origin), p.path, str(p.remark.topic), p.remark.text, p.remark.line) for p in self.problems
            ),
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Snapshot:
        """The snapshot of plain data that `to_data` made. Raises SnapshotRefused for data of another shape."""
        try:
            return cls._from_data(data)
        except (LookupError, ValueError, TypeError, AttributeError, zlib.error) as error:
            raise SnapshotRefused("its data is of another shape") from error

    @classmethod
    def _from_data(cls, data: dict[str, Any]) -> Snapshot:
        revision = Revision.parse(data["revision"])
        if revision is None:
            raise ValueError("a snapshot without a revision")
        columns: dict[str, Any] = {name: CodedColumn.from_plain(data[name]) for name in _CODED}
        made = cls(
            revision=revision,
            scheme=data["scheme"],
            config=data["config"],
            encoder=data["encoder"],
            **{name: data[name] for name in _PLAIN},
            **columns,
            successors=data["successors"],
            dangling=data["dangling"],
            links=data["links"],
            aliases=data["aliases"],
            tokens=from_plain(data["tokens"]),
            density=Density(*map(float, data["density"])),
            cards=Texts(*data["cards"]),
            structures=Texts(*data["structures"]),
            bodies=Texts(*data["bodies"]),
            postings=Postings.from_data(data["postings"]),
            rejects=tuple(Reject(Origin(o), path, reason, Topic(topic)) for o, path, reason, topic in data["rejects"]),
            problems=tuple(
                Problem(Origin(o), path, Remark(Topic(topic), text, line))
                for o, path, topic, text, line in data["problems"]
            ),
        )
        made._check_shape()
        return made

    def _check_shape(self) -> None:
        """Raises ValueError where a column has another length, or other values, than documents call for."""
        count = len(self)
        columns: list[CodedColumn] = [getattr(self, name) for name in _CODED]
        if any(
            column.codes.shape != (count,)
            or column.codes.dtype.kind != "u"
            or column.codes.max(initial=0) >= max(len(column.values), 1)
            for column in columns
        ):
            raise ValueError("a column's codes do not fit its documents and values")
        lists: list[tuple[list[Any], type]] = [(column, str) for column in (self.uris, self.paths, self.titles)]
        texts = (self.cards.packed, self.structures.packed, self.bodies.packed)
        lists += [(column, bytes) for column in (self.hashes, *texts)]
        if any(len(column) != count or not set(map(type, column)) <= {kind} for column, kind in lists):
            raise ValueError("a list does not hold a value for each document")
        if (len(self.dates), self.postings.count, self.tokens.shape) != (count, count, (count, TIERS)):
            raise ValueError("dates, postings or tokens do not fit the documents")


TIERS = 5
BODY_COLUMN = 4
"""The column of `tokens` that is of the body."""
_PLAIN = ("uris", "paths", "titles", "hashes", "dates")
_CODED = ("origin", "kind", "audience", "exposure", "tier", "public", "start_here", "language", "tags", "invalidated")
