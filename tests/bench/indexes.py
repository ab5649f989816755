"""What an index of the same texts costs in each engine: building it, its bytes, and a fresh process that asks it once.

`python -m tests.bench.indexes ENGINE FOLDER QUERY` is that process. Libraries are imported by the function that uses
them, so that no engine pays for another's.
"""

from __future__ import annotations

import json
import pickle
import re
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.figures import Line
from tests.bench.served import most_memory

_CHECKOUT = Path(__file__).resolve().parents[2]
TOP = 25
_ROUNDS = 3
_PROCESSES = 5
_KEY = b"a key for benchmarks, 32 bytes.."

Ask = Callable[[str], list[int]]


@dataclass(frozen=True, slots=True)
class Text:
    """A file of Markdown; for the others than Lamina its `words` are what its fields say."""

    path: str
    content: bytes
    words: str


@dataclass(frozen=True, slots=True)
class Engine:
    """`load` imports the libraries, `write` makes an index in an empty folder, `read` opens it to be asked."""

    load: Callable[[], object]
    write: Callable[[Sequence[Text], Path], None]
    read: Callable[[Path], Ask]


def indexes(texts: Sequence[Text], query: str, scratch: Path) -> Iterator[Line]:
    """Every engine: seconds to build, bytes, and milliseconds and memory of a fresh process up to its answer."""
    for name, engine in ENGINES.items():
        part = f"Index of {len(texts)} documents in {name}"
        seconds = []
        for attempt in range(_ROUNDS):
            folder = scratch / f"{name}-{attempt}"
            folder.mkdir(parents=True)
            started = time.perf_counter()
            engine.write(texts, folder)
            seconds.append(time.perf_counter() - started)
        yield Line(part, "build", statistics.median(seconds), "s")
        yield Line(part, "index", sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6, "MB")
        runs = [_fresh(name, folder, query) for _ in range(_PROCESSES)]
        for what in ("import", "open", "answer", "total"):
            yield Line(part, f"fresh process, {what}", statistics.median(run[what] for run in runs), "ms")
        yield Line(part, "memory after the first answer", max(run["memory"] for run in runs), "MB")


def _fresh(name: str, folder: Path, query: str) -> dict[str, float]:
    command = [sys.executable, "-m", "tests.bench.indexes", name, str(folder), query]
    answer = subprocess.run(command, cwd=_CHECKOUT, capture_output=True, text=True, check=True)
    figures: dict[str, float] = json.loads(answer.stdout)
    return figures


def _load_lamina() -> object:
    from lamina.index import signed, snapshot
    from lamina.ranking import rank

    return signed, snapshot, rank


def _write_lamina(texts: Sequence[Text], folder: Path) -> None:
    from lamina.contract.ports import SourceFile
    from lamina.index.build import SourceRevision, build
    from lamina.index.signed import sign
    from lamina.index.snapshot import Origin

    files = tuple(SourceFile(text.path, text.content) for text in texts)
    made, _ = build([SourceRevision(Origin.BASELINE, "0" * 12, files)])
    sealed = sign(made.to_data(), _KEY, kind="snapshot", documents=len(made), revision="0" * 12, config=made.config)
    (folder / "snapshot").write_bytes(sealed)


def _read_lamina(folder: Path) -> Ask:
    from lamina.index.scope_postings import ScopePostings
    from lamina.index.signed import verify
    from lamina.index.snapshot import Snapshot
    from lamina.ranking.rank import rank

    opened = Snapshot.from_data(verify((folder / "snapshot").read_bytes(), _KEY, kind="snapshot")[1])
    scope = ScopePostings.of(opened.postings)

    def ask(query: str) -> list[int]:
        hits = rank(scope, query, text_of=opened.text)
        found: list[int] = hits.found[hits.best(TOP)].tolist()
        return found

    return ask


def _load_rank_bm25() -> object:
    import rank_bm25

    return rank_bm25


def _write_rank_bm25(texts: Sequence[Text], folder: Path) -> None:
    from rank_bm25 import BM25Okapi

    with (folder / "engine").open("wb") as file:
        pickle.dump(BM25Okapi([_words(text.words) for text in texts]), file)


def _read_rank_bm25(folder: Path) -> Ask:
    with (folder / "engine").open("rb") as file:
        engine = pickle.load(file)
    return lambda query: engine.get_scores(_words(query)).argsort()[::-1][:TOP].tolist()


def _load_bm25s() -> object:
    from tests.bench import bm25s_words

    return bm25s_words


def _write_bm25s(texts: Sequence[Text], folder: Path) -> None:
    import bm25s
    from tests.bench.bm25s_words import bm25s_words

    engine = bm25s.BM25()
    engine.index(bm25s_words([text.words for text in texts]), show_progress=False)
    engine.save(str(folder), show_progress=False)


def _read_bm25s(folder: Path) -> Ask:
    import bm25s
    from tests.bench.bm25s_words import bm25s_words

    engine = bm25s.BM25.load(str(folder), show_progress=False)
    return lambda query: engine.retrieve(bm25s_words([query]), k=TOP, show_progress=False, n_threads=0)[0][0].tolist()


def _write_fts5(texts: Sequence[Text], folder: Path) -> None:
    database = sqlite3.connect(folder / "index.sqlite")
    database.execute("CREATE VIRTUAL TABLE texts USING fts5(words, tokenize='porter')")
    database.executemany("INSERT INTO texts(rowid, words) VALUES (?, ?)", enumerate(text.words for text in texts))
    database.commit()
    database.close()


def _read_fts5(folder: Path) -> Ask:
    database = sqlite3.connect(folder / "index.sqlite")
    statement = f"SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT {TOP}"  # noqa: S608

    def ask(query: str) -> list[int]:
        asked = " OR ".join(f'"{entry}"' for entry in _words(query))
        return [number for (number,) in database.execute(statement, (asked,))]

    return ask


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


ENGINES = {
    "lamina": Engine(_load_lamina, _write_lamina, _read_lamina),
    "rank-bm25": Engine(_load_rank_bm25, _write_rank_bm25, _read_rank_bm25),
    "bm25s": Engine(_load_bm25s, _write_bm25s, _read_bm25s),
    "sqlite-fts5": Engine(lambda: sqlite3, _write_fts5, _read_fts5),
}


def main(name: str, folder: str, query: str) -> None:
    """Opens an index and asks it once; prints milliseconds and megabytes as JSON."""
    engine = ENGINES[name]
    moments = [time.perf_counter()]
    engine.load()
    moments.append(time.perf_counter())
    ask = engine.read(Path(folder))
    moments.append(time.perf_counter())
    ask(query)
    moments.append(time.perf_counter())
    parts = {what: (moments[at + 1] - moments[at]) * 1000 for at, what in enumerate(("import", "open", "answer"))}
    sys.stdout.write(json.dumps({**parts, "total": sum(parts.values()), "memory": most_memory()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
