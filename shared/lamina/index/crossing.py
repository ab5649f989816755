"""Where documents lead: their links and successors as documents of the same snapshot, and those that lead nowhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lamina.contract.ids import MARKDOWN_SUFFIXES
from lamina.corpus.document import Document
from lamina.corpus.links import Link
from lamina.corpus.remarks import Remark, Topic
from lamina.index.addresses import Addresses

Own = Callable[[int], Callable[[int], bool]]
"""For a document, whether others are of the same source."""

_NAME: Final = re.compile(r"[\w(][^;=<>{}$\\]*")
_ATTACHMENT: Final = re.compile(r"\.[A-Za-z0-9]{1,5}\Z")


@dataclass(frozen=True, slots=True)
class Crossings:
    """By document number: the documents that it links to, in order of number; its successor; what is wrong."""

    links: Mapping[int, tuple[int, ...]]
    successors: Mapping[int, int]
    dangling: Mapping[int, str]
    remarks: Mapping[int, tuple[Remark, ...]]


def crossings(documents: Sequence[Document], addresses: Addresses, own: Own) -> Crossings:
    """Looks up every link and every successor."""
    links: dict[int, tuple[int, ...]] = {}
    successors: dict[int, int] = {}
    dangling: dict[int, str] = {}
    remarks: dict[int, tuple[Remark, ...]] = {}
    for number, document in enumerate(documents):
        found: set[int] = set()
        told: list[Remark] = []
        known: dict[tuple[str, bool], int | None] = {}
        for link in document.links:
            key = (link.target, link.wiki)
            if key not in known:
                known[key] = _linked(link, document, addresses, own(number))
                if known[key] is None and _is_broken(link, document):
                    said = f"the link to {link.target!r} leads to no document"
                    told.append(Remark(Topic.BROKEN_LINK, said, link.line))
            if (target := known[key]) is not None and target != number:
                found.add(target)
        if found:
            links[number] = tuple(sorted(found))
        if document.successor is not None:
            following = _successor(document, addresses, own(number))
            if following is not None:
                successors[number] = following
            elif document.successor.declared:
                dangling[number] = document.successor.target
                said = f"superseded_by {document.successor.target[:120]!r} names no document"
                told.insert(0, Remark(Topic.DANGLING_SUPERSESSION, said))
        if told:
            remarks[number] = tuple(told)
    return Crossings(links, successors, dangling, remarks)


def _linked(link: Link, document: Document, addresses: Addresses, own: Callable[[int], bool]) -> int | None:
    found = addresses.linked(document.path, link.target, wiki=link.wiki, accepts=own)
    return found if found is not None or "://" not in link.target else addresses.literal(link.target)


def _successor(document: Document, addresses: Addresses, own: Callable[[int], bool]) -> int | None:
    """A URI means any document, a path that of the same source before others."""
    if document.successor is None:
        return None
    target = document.successor.target
    if "://" in target:
        return addresses.literal(target)
    found = addresses.successor(document.path, target, own)
    return addresses.successor(document.path, target, lambda number: True) if found is None else found


def _is_broken(link: Link, document: Document) -> bool:
    """Whether a link that leads to no document was meant to: by its suffix, or as a name between two brackets."""
    if link.bare:
        return False
    if link.wiki:
        return bool(_NAME.fullmatch(link.target)) and not _is_file(link.target)
    path = link.target
    if not path.lower().endswith(MARKDOWN_SUFFIXES) or "://" in path:
        return False
    return path.startswith("/") or not _climbs_out(path, document.path)


def _is_file(name: str) -> bool:
    return _ATTACHMENT.search(name) is not None and not name.lower().endswith(MARKDOWN_SUFFIXES)


def _climbs_out(target: str, path: str) -> bool:
    """Whether a relative path leaves the knowledge base, where others may have what it names."""
    depth = path.count("/")
    for part in target.split("/"):
        depth += -1 if part == ".." else 0 if part in ("", ".") else 1
        if depth < 0:
            return True
    return any(part.startswith(".") and part not in (".", "..") for part in target.split("/"))
