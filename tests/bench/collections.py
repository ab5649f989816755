"""Reads a public test collection from a folder: SMART, TREC, or JSON lines with tab-separated judgements."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from tests.bench.judged import Judged, QuerySet

from lamina.corpus.document import Document, parse

_SMART_RECORD = re.compile(r"^\.I\s+(\S+)", re.MULTILINE)
_SMART_FIELD = re.compile(r"^\.([A-Z])\s*$", re.MULTILINE)
_TREC_RECORD = re.compile(r"<(doc|top)>(.*?)</\1>", re.DOTALL | re.IGNORECASE)
_TREC_NAME = re.compile(r"<(?:docno|num)>\s*(?:Number:)?\s*([^<\s]+)", re.IGNORECASE)


def read_collection(folder: Path) -> QuerySet:
    """Documents, queries and judgements, told apart by file name: `*rel*` or `*rlv*`, `*qry*`, `*que*` or
    `*topic*`, and the rest. Raises ValueError where one of the three is missing.
    """
    texts: dict[str, dict[str, tuple[str, str]]] = {"documents": {}, "queries": {}}
    grades: dict[str, dict[str, int]] = {}
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.name.lower().startswith(("readme", ".")):
            continue
        content = path.read_text(encoding="utf-8", errors="replace")
        if re.search(r"rel|rlv|judg", path.name, re.IGNORECASE) or path.parent.name == "qrels":
            _read_judgements(content, grades)
        else:
            kind = "queries" if re.search(r"qry|que|topic", path.name, re.IGNORECASE) else "documents"
            for name, title, text in _records(content):
                # Folders hold the same records in other forms too, under names that come later (NPL's `doc-vecs`).
                texts[kind].setdefault(name, (title, text))
    if not (texts["documents"] and texts["queries"] and grades):
        raise ValueError(f"{folder} lacks documents, queries or judgements")
    queries = {name.lstrip("0") or "0": " ".join(parts) for name, parts in texts["queries"].items()}
    if not set(grades) <= set(queries):
        # Cranfield's judgements count its queries, whatever their own numbers are.
        queries = {str(place): text for place, text in enumerate(queries.values(), 1)}
    numbers = {name: number for number, name in enumerate(texts["documents"])}
    documents = [_document(name, *parts) for name, parts in texts["documents"].items()]
    judged = [
        Judged(" ".join(queries[query].split()), known)
        for query, by_name in grades.items()
        if query in queries and (known := {numbers[name]: grade for name, grade in by_name.items() if name in numbers})
    ]
    return QuerySet(folder.name, documents, judged)


def _document(name: str, title: str, text: str) -> Document:
    heading = f"# {' '.join(title.split())}\n\n" if title.strip() else ""
    return parse(f"{name}.md", (heading + text).encode("utf-8", "replace"))


def _records(content: str) -> Iterator[tuple[str, str, str]]:
    """Name, title and text of each record of a file."""
    if _SMART_RECORD.search(content):
        pieces = _SMART_RECORD.split(content)[1:]
        for name, record in zip(pieces[::2], pieces[1::2], strict=True):
            fields = _SMART_FIELD.split(record)[1:]
            by_mark = dict(zip(fields[::2], fields[1::2], strict=True))
            yield name, by_mark.get("T", ""), by_mark.get("W", "")
    elif _TREC_RECORD.search(content):
        for _, record in _TREC_RECORD.findall(content):
            name = _TREC_NAME.search(record)
            title = re.search(r"<title>(.*?)(?=<|\Z)", record, re.DOTALL | re.IGNORECASE)
            rest = re.sub(r"<title>[^<]*", " ", _TREC_NAME.sub(" ", record), flags=re.IGNORECASE)
            if name:
                yield name.group(1), title.group(1) if title else "", re.sub(r"<[^>]*>", " ", rest)
    elif content.lstrip().startswith("{"):
        for line in filter(str.strip, content.splitlines()):
            fields = json.loads(line)
            yield str(fields["_id"]), str(fields.get("title", "")), str(fields.get("text", ""))
    else:
        for record in re.split(r"^\s*/\s*$", content, flags=re.MULTILINE):
            name, _, text = record.strip().partition("\n")
            if name:
                yield name.strip(), "", text


def _read_judgements(content: str, grades: dict[str, dict[str, int]]) -> None:
    """Lines of query, document and grade; or of query, nought, document, grade; or records closed by a slash."""
    if re.search(r"^\s*/\s*$", content, re.MULTILINE):
        for record in re.split(r"^\s*/\s*$", content, flags=re.MULTILINE):
            names = record.split()
            for name in names[1:]:
                grades.setdefault(names[0], {})[name] = 1
        return
    rows = [line.split() for line in content.splitlines()]
    rows = [row for row in rows if len(row) > 1 and row[0] != "query-id"]
    trec = all(len(row) == 4 and row[1].upper() in ("0", "Q0") for row in rows)
    tabbed = "query-id" in content[:200]
    for row in rows:
        grade = int(row[-1]) if trec or tabbed else 1
        if grade > 0:
            grades.setdefault(row[0].lstrip("0") or "0", {})[row[2] if trec else row[1]] = grade
