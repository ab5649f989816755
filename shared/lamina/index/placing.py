"""Under which URI each document of a source answers, and which are left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lamina.contract.filters import DRAFT, HIDDEN
from lamina.contract.ids import without_suffix
from lamina.corpus.config import KnowledgeBaseSettings
from lamina.corpus.document import Document, uri_of_path
from lamina.corpus.kinds import kind_of
from lamina.corpus.remarks import Remark, Topic
from lamina.index.parsed import Parsed

_SHOWN: Final = frozenset({"public", "nav"})
_UNPUBLISHED: Final = frozenset({DRAFT, HIDDEN})


@dataclass(frozen=True, slots=True)
class Placed:
    """A parsed document in its place: what the knowledge base around it makes of it."""

    uri: str
    kind: str
    parsed: Parsed
    remarks: tuple[Remark, ...]

    @property
    def document(self) -> Document:
        return self.parsed.document


def is_left_out(document: Document, settings: KnowledgeBaseSettings) -> bool:
    """Whether the knowledge base keeps its drafts to itself and this is one."""
    return settings.drafts == "leave_out" and not _UNPUBLISHED.isdisjoint(document.exposure)


def placed(parsed: Sequence[Parsed], scheme: str, settings: KnowledgeBaseSettings) -> list[Placed]:
    """Every document under a URI of its own.

    Of several that claim one URI the published page has it: exposure public or nav before others, what is no draft
    before drafts, then by path. The others answer to one made of their path.
    """
    claims: dict[str, list[Parsed]] = {}
    for each in parsed:
        claims.setdefault(_claimed(each.document, scheme), []).append(each)
    uris: dict[str, str] = {}
    remarks: dict[str, Remark] = {}
    for uri, claimants in claims.items():
        first, *others = sorted(claimants, key=lambda each: _precedence(each.document))
        uris[first.document.path] = uri
        for each in others:
            own = _free(each.document.path, scheme, claims, uris)
            uris[each.document.path] = own
            said = f"{uri} is the URI of {first.document.path} too, which answers it; this page answers {own}"
            remarks[each.document.path] = Remark(Topic.DUPLICATE_URI, said)
    prefixes = settings.prefixes()
    return [
        Placed(
            uris[each.document.path],
            str(kind_of(each.document.declared_kind, each.document.path, prefixes)),
            each,
            (*_own(remarks, each.document), *each.document.remarks, *_missing(each.document, settings)),
        )
        for each in parsed
    ]


def _own(remarks: Mapping[str, Remark], document: Document) -> tuple[Remark, ...]:
    return (remarks[document.path],) if document.path in remarks else ()


def _claimed(document: Document, scheme: str) -> str:
    return document.declared_uri or uri_of_path(document.path, scheme)


def _free(path: str, scheme: str, claims: Mapping[str, object], given: Mapping[str, str]) -> str:
    """A URI of the path that no other document has: without its suffix where that is free, else with it."""
    taken = {*claims, *given.values()}
    without = uri_of_path(path, scheme)
    if without not in taken:
        return without
    uri = f"{without}{path[len(without_suffix(path)) :]}"
    while uri in taken:
        uri += "-"
    return uri


def _precedence(document: Document) -> tuple[bool, bool, str]:
    return (
        _SHOWN.isdisjoint(document.exposure),
        not _UNPUBLISHED.isdisjoint(document.exposure),
        document.path,
    )


def _missing(document: Document, settings: KnowledgeBaseSettings) -> tuple[Remark, ...]:
    """The fields that the knowledge base asks for and the document lacks."""
    metadata = document.metadata or {}
    names = [name for name in settings.required or () if metadata.get(name) is None]
    return (Remark(Topic.MISSING_FIELD, f"frontmatter lacks {', '.join(names)}", 1),) if names else ()
