"""Lamina and the engines it is measured beside, each over the same texts."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Sequence
from typing import Any

import bm25s
import numpy as np
import tantivy
from rank_bm25 import BM25Okapi
from tests.bench.bm25s_words import bm25s_words

from lamina.corpus.document import Document
from lamina.index.fields import searched_frontmatter
from lamina.index.postings import Postings, document_terms
from lamina.index.scope_postings import ScopePostings
from lamina.ranking.rank import rank

Search = Callable[[str], Sequence[int]]
"""A query's document numbers, best first."""
DEPTH = 1_000


def lamina(documents: Sequence[Document]) -> Search:
    """This package's own ranking."""
    postings = Postings.build(map(document_terms, documents))
    scope = ScopePostings.of(postings)

    def search(query: str) -> list[int]:
        hits = rank(scope, query, text_of=lambda number: documents[number].body)
        return [int(number) for number in hits.found[hits.best(DEPTH)]]

    return search


def rank_bm25(documents: Sequence[Document]) -> Search:
    """rank-bm25's Okapi over lower-case words."""
    engine = BM25Okapi([_tokens(searched(document)) for document in documents])
    return lambda query: _positive(np.asarray(engine.get_scores(_tokens(query))))


def bm25s_stemmed(documents: Sequence[Document]) -> Search:
    """bm25s with its English stop words and Snowball stems."""
    engine = bm25s.BM25()
    engine.index(bm25s_words([searched(document) for document in documents]), show_progress=False)

    def search(query: str) -> list[int]:
        (tokens,) = bm25s_words([query])
        return _positive(engine.get_scores(tokens)) if tokens else []

    return search


def sqlite_fts5(documents: Sequence[Document]) -> Search:
    """SQLite FTS5 with the Porter tokeniser, the title counting five times; terms joined by OR."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE texts USING fts5(title, path, tags, metadata, body, tokenize='porter')")
    database.executemany(
        "INSERT INTO texts(rowid, title, path, tags, metadata, body) VALUES (?, ?, ?, ?, ?, ?)",
        [(n, d.title, d.path, " ".join(d.tags), searched_frontmatter(d), d.body) for n, d in enumerate(documents)],
    )
    statement = "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY bm25(texts, 5, 2, 2, 1, 1), rowid LIMIT ?"

    def search(query: str) -> list[int]:
        asked = " OR ".join(f'"{token}"' for token in _tokens(query))
        return [row[0] for row in database.execute(statement, (asked, DEPTH))] if asked else []

    return search


def tantivy_stemmed(documents: Sequence[Document]) -> Search:
    """tantivy with its English stems over one field, which serves it better than weighted ones; terms joined by OR."""
    schema = tantivy.SchemaBuilder()
    schema.add_integer_field("number", stored=True)
    schema.add_text_field("text", tokenizer_name="en_stem")
    index = tantivy.Index(schema.build())
    writer = index.writer(num_threads=1)
    for number, document in enumerate(documents):
        writer.add_document(tantivy.Document(number=number, text=searched(document)))
    writer.commit()
    index.reload()
    searcher = index.searcher()

    def search(query: str) -> list[int]:
        asked = index.parse_query(" ".join(_tokens(query)), ["text"])
        return [int(searcher.doc(address)["number"][0]) for _, address in searcher.search(asked, DEPTH).hits]

    return search


ENGINES: dict[str, Callable[[Sequence[Document]], Search]] = {
    "lamina": lamina,
    "rank-bm25": rank_bm25,
    "bm25s": bm25s_stemmed,
    "sqlite-fts5": sqlite_fts5,
    "tantivy": tantivy_stemmed,
}


def searched(document: Document) -> str:
    """What the engines without fields search of a document."""
    return "\n".join(
        [document.title, document.path, " ".join(document.tags), searched_frontmatter(document), document.body]
    )


def _tokens(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _positive(scores: np.ndarray[Any, Any]) -> list[int]:
    order = np.argsort(-scores, kind="stable")[:DEPTH]
    return [int(number) for number in order if scores[number] > 0]
