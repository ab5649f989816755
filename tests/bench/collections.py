"""Reads a public test collection from a folder: SMART, TREC, or JSON lines with tab-separated judgements."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from tests.bench.judged import Judged, QuerySet

from lamina.corpus.document import Document, parse

_JUDGEMENTS = re.compile(r"qrel|\.rel$|rlv|judg", re.IGNORECASE)
_QUERIES = re.compile(r"qry|quer|topic", re.IGNORECASE)
_SMART_RECORD = re.compile(r"^\.I\s+(\S+)", re.MULTILINE)
_SMART_FIELD = re.compile(r"^\.([A-Z])\s*$", re.MULTILINE)
_TREC_RECORD = re.compile(r"<(doc|top)>(.*?)</\1>", re.DOTALL | re.IGNORECASE)
_TREC_NAME = re.compile(r"<(?:docno|num)>\s*(?:Number:)?\s*([^<\s]+)", re.IGNORECASE)
_TREC_LABEL = re.compile(r"(<(?:title|desc|narr)>)\s*(?:Topic|Description|Narrative):", re.IGNORECASE)
_SLASH = re.compile(r"^\s*/\s*$", re.MULTILINE)

FORMS = (
    "Files are told apart by name: *qrel*, *.rel, *rlv* or *judg* hold judgements, *qry*, *quer* or *topic* queries, "
    "all others documents. Documents and queries are records of SMART (.I, .T, .W), of TREC (<doc> with <docno>, "
    "<top> with <num>), JSON lines (_id, title, text), or closed by a slash on its own line as in NPL. Judgements are "
    "lines of query, document and perhaps a grade, of which all above nought count as one; under a line that begins "
    "with query-id, and in TREC's four columns, grades count."
)
"""How a folder must look, for people."""


def read_collection(folder: Path) -> QuerySet:
    """The judged queries of a folder of the `FORMS`; queries without a judged document are left out.

    Raises ValueError, which says what is missing.
    """
    if not folder.is_dir():
        raise ValueError(f"there is no folder {folder}")
    texts: dict[str, dict[str, tuple[str, str]]] = {"documents": {}, "queries": {}}
    grades: dict[str, dict[str, int]] = {}
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.name.lower().startswith(("readme", ".")):
            continue
        content = path.read_text(encoding="utf-8", errors="replace")
        try:
            if _JUDGEMENTS.search(path.name) or path.parent.name == "qrels":
                _read_judgements(content, grades)
                continue
            kind = "queries" if _QUERIES.search(path.name) else "documents"
            for name, title, text in _records(content):
                # Folders hold the same records in other forms too, under names that come later (NPL's `doc-vecs`).
                texts[kind].setdefault(name, (title, text))
        except (ValueError, KeyError) as error:
            raise ValueError(f"{path} cannot be read: {error!r}. {FORMS}") from error
    missing = [name for name, found in (*texts.items(), ("judgements", grades)) if not found]
    if missing:
        raise ValueError(f"{folder} holds no {' and no '.join(missing)}. {FORMS}")
    queries = {name.lstrip("0") or "0": " ".join(parts) for name, parts in texts["queries"].items()}
    places = {str(place): text for place, text in enumerate(queries.values(), 1)}
    if not set(grades) <= set(queries) and set(grades) <= set(places):
        # Cranfield's judgements count its queries, whatever their own numbers are.
        queries = places
    numbers = {name: number for number, name in enumerate(texts["documents"])}
    documents = [_document(name, *parts) for name, parts in texts["documents"].items()]
    judged = [
        Judged(" ".join(queries[query].split()), known)
        for query, by_name in grades.items()
        if query in queries and (known := {numbers[name]: grade for name, grade in by_name.items() if name in numbers})
    ]
    if not judged:
        raise ValueError(f"no judgement in {folder} names one of its queries and one of its documents. {FORMS}")
    return QuerySet(folder.resolve().name, documents, judged)


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
        for _, labelled in _TREC_RECORD.findall(content):
            record = _TREC_LABEL.sub(r"\1 ", labelled)
            name = _TREC_NAME.search(record)
            title = re.search(r"<title>(.*?)(?=<|\Z)", record, re.DOTALL | re.IGNORECASE)
            rest = re.sub(r"<title>[^<]*", " ", _TREC_NAME.sub(" ", record), flags=re.IGNORECASE)
            if name:
                yield name.group(1), title.group(1) if title else "", re.sub(r"<[^>]*>", " ", rest)
    elif content.lstrip().startswith("{"):
        for line in filter(str.strip, content.splitlines()):
            fields = json.loads(line)
            yield str(fields["_id"]), str(fields.get("title", "")), str(fields.get("text", ""))
    elif _SLASH.search(content):
        for record in _SLASH.split(content):
            name, _, text = record.strip().partition("\n")
            if name:
                yield name.strip(), "", text


def _read_judgements(content: str, grades: dict[str, dict[str, int]]) -> None:
    """Lines of query, document and grade; or of query, nought, document, grade; or records closed by a slash."""
    if _SLASH.search(content):
        for record in _SLASH.split(content):
            names = record.split()
            for name in names[1:]:
                grades.setdefault(names[0], {})[name] = 1
        return
    rows = [line.split() for line in content.splitlines()]
    rows = [row for row in rows if len(row) > 1 and row[0] != "query-id"]
    trec = all(len(row) == 4 and row[1].upper() in ("0", "Q0") for row in rows)
    tabbed = "query-id" in content[:200]
    for row in rows:
        grade = int(row[-1]) if trec or tabbed else int(len(row) != 3 or int(row[2]) > 0)
        if grade > 0:
            grades.setdefault(row[0].lstrip("0") or "0", {})[row[2] if trec else row[1]] = grade
