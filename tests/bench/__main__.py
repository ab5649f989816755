"""`python -m tests.bench [--quality] [--agent] [--speed] [--collections FOLDER…] [--python PATH…] [--json FOLDER]`.

Prints tables and writes them as JSON with their provenance; without `--quality`, `--agent` or `--speed`, all.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.bench.agent import agent, walked_corpora
from tests.bench.collections import FORMS
from tests.bench.figures import show
from tests.bench.growth import SIZES
from tests.bench.provenance import provenance
from tests.bench.quality import report
from tests.bench.speed import speed
from tests.corpora import CHECKOUT


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Quality and speed, as tables and JSON.")
    parser.add_argument("--quality", action="store_true", help="only how good the ranking is")
    parser.add_argument("--agent", action="store_true", help="only what facts cost an agent")
    parser.add_argument("--speed", action="store_true", help="only how fast and how large everything is")
    parser.add_argument("--collections", type=Path, nargs="+", default=[], help=FORMS)
    parser.add_argument("--python", action="append", default=[], help="further interpreters for the cold start")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="documents that ranking is timed at")
    parser.add_argument("--json", type=Path, default=CHECKOUT / "bench-results", help="folder for the JSON")
    given = parser.parse_args(arguments)
    everything = not (given.quality or given.agent or given.speed)
    found: dict[str, Any] = {"provenance": provenance()}
    if given.quality or everything:
        try:
            found["quality"] = report(given.collections)
        except ValueError as error:
            parser.error(str(error))
    if given.agent or everything:
        with tempfile.TemporaryDirectory() as folder:
            walked = [line for deployed in walked_corpora(Path(folder)) for line in show(agent(deployed))]
        found["agent"] = [line.data() for line in walked]
    if given.speed or everything:
        with tempfile.TemporaryDirectory() as folder:
            corpus, lines = speed(Path(folder), [sys.executable, *given.python], given.sizes)
        found["corpus"] = {"name": corpus.name, "files": len(corpus.files), "sha256": corpus.checksum}
        found["speed"] = [line.data() for line in lines]
        bounds = [line.holds for line in lines if line.holds is not None]
        sys.stdout.write(f"\n{sum(bounds)} of {len(bounds)} bounds hold\n")
    given.json.mkdir(parents=True, exist_ok=True)
    path = given.json / f"{found['provenance']['date'].replace(':', '')}.json"
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    sys.stdout.write(f"written to {path}\n")


if __name__ == "__main__":
    main()
