"""Judged queries: the sets of ../shared/eval, and known-item sets that the corpora's own words make."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lamina.contract.ids import without_suffix
from lamina.corpus.document import Document, parse

Rank = Callable[[str], Sequence[int]]


@dataclass(frozen=True, slots=True)
class Judged:
    """A query, the grades of its documents by number, and the documents that must not be counted."""

    text: str
    grades: dict[int, int]
    excluded: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class QuerySet:
    """Queries over one list of documents. With an overlay, its documents are the first `overlay` ones."""

    name: str
    documents: Sequence[Document]
    queries: Sequence[Judged]
    overlay: int = 0


@dataclass(frozen=True, slots=True)
class Quality:
    """Means over queries, or the figures of one."""

    ndcg: float
    mrr: float
    recall: float
    success: float


def quality(ranking: Sequence[int], judged: Judged) -> Quality:
    """nDCG@10, MRR@10 and success@1 of a best grade, recall@5 of best grades."""
    grades = [judged.grades.get(n, 0) for n in [n for n in ranking if n not in judged.excluded][:10]]
    best = max(judged.grades.values())
    first = next((at for at, grade in enumerate(grades) if grade == best), None)
    return Quality(
        _dcg(grades) / _dcg(sorted(judged.grades.values(), reverse=True)[:10]),
        0.0 if first is None else 1 / (first + 1),
        grades[:5].count(best) / min(5, list(judged.grades.values()).count(best)),
        float(first == 0),
    )


def documents_in(root: Path) -> list[Document]:
    """Every Markdown file below a folder, by path."""
    files = sorted(path for path in root.rglob("*.md") if path.is_file())
    return [parse(path.relative_to(root).as_posix(), path.read_bytes()) for path in files]


def evaluation_sets(path: Path, baseline: Sequence[Document], overlay: Sequence[Document]) -> list[QuerySet]:
    """The sets that a file of judged queries names (else `sample`), those over an overlay apart from the others."""
    shadowed = {document.path for document in overlay}
    merged = [*overlay, *(document for document in baseline if document.path not in shadowed)]
    sets: dict[tuple[str, bool], list[Judged]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        query = json.loads(line)
        source = overlay if query["overlay"] else baseline
        numbers = {document.path: number for number, document in enumerate(source)}
        grades = {numbers[name]: grade for name, grade in query["relevant"].items()}
        if grades:
            sets.setdefault((query.get("set", "sample"), bool(query["overlay"])), []).append(
                Judged(query["query"], grades)
            )
    return [
        QuerySet(name, merged if over else baseline, queries, len(overlay) if over else 0)
        for (name, over), queries in sets.items()
    ]


def described(documents: Sequence[Document]) -> QuerySet:
    """Each document is to be found by its blockquote, which is taken out of all of them."""
    queries = [
        Judged(" ".join(document.blockquote.split()[:40]), {number: 1})
        for number, document in enumerate(documents)
        if document.blockquote and len(document.blockquote.split()) > 4
    ]
    return QuerySet("described", [_without_quote(document) for document in documents], queries)


def titled(documents: Sequence[Document]) -> QuerySet:
    """Each document is to be found by its title, which is taken out of all of them, with the path."""
    titles = sorted({d.title for d in documents if len(d.title.split()) > 2}, key=len, reverse=True)
    bare = []
    for document in documents:
        body = re.sub(r"^# .*$", "", document.body, flags=re.MULTILINE)
        for title in titles:
            body = body.replace(title, " ")
        kept = tuple(h for h in document.headings if h.level > 1 and h.text not in titles)
        bare.append(replace(document, title="", path="", body=body, headings=kept))
    asked = [Judged(d.title, {n: 1}) for n, d in enumerate(documents) if len(d.title.split()) > 1]
    return QuerySet("titled", bare, asked)


def linked(documents: Sequence[Document]) -> QuerySet:
    """Each document is to be found by the words of a line that links to it; the linking document is not counted."""
    targets = {without_suffix(document.path).lower(): number for number, document in enumerate(documents)}
    link = re.compile(r"\w+://([\w./-]+)|\]\((?:\.{0,2}/)*([\w./-]+?)(?:\.md)?\)|`([\w./-]+/[\w./-]+)\.md`")
    queries: dict[tuple[str, int], Judged] = {}
    for number, document in enumerate(documents):
        for line in document.body.splitlines():
            found = [next(filter(None, groups), "") for groups in link.findall(line)]
            target = targets.get(without_suffix(found[0]).lower()) if len(found) == 1 else None
            text = " ".join(re.findall(r"[\w'-]+", link.sub(" ", line)))
            if target is not None and target != number and 4 <= len(text.split()) <= 45:
                queries.setdefault((text, target), Judged(text, {target: 1}, frozenset({number})))
    return QuerySet("linked", documents, list(queries.values()))


def _dcg(grades: Sequence[int]) -> float:
    return sum((2.0**grade - 1) / math.log2(at + 2) for at, grade in enumerate(grades))


def _without_quote(document: Document) -> Document:
    body = re.sub(r"^(?:[ ]{0,3}>.*\n?)+", "", document.body, count=1, flags=re.MULTILINE)
    return replace(document, blockquote=None, body=body)
