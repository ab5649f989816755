"""Ranking quality beside other engines on judged queries, and how the constants are cross-validated.

`python -m tests.bench.quality [--collection FOLDER]… [--cross-validate] [--json FILE]`
"""

from __future__ import annotations

import argparse
import json
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from tests.bench.collections import FORMS, read_collection
from tests.bench.engines import ENGINES, Search
from tests.bench.figures import Line, show
from tests.bench.judged import Quality, QuerySet, described, documents_in, evaluation_sets, linked, quality, titled
from tests.corpora import SAMPLES

from lamina.corpus.document import Document
from lamina.index import bm25
from lamina.ranking import lookup, query, score

SHARED = Path(__file__).resolve().parents[3] / "shared"
FOLDS = 5
LEAST: dict[str, dict[str, float]] = {
    "probe": {"success": 1.0},
    "labelled": {"ndcg": 0.92},
    "hard": {"ndcg": 0.86, "success": 0.88},
    "sample": {"ndcg": 0.96, "success": 0.95},
}
LEAST_AHEAD = -0.005
MODULES = {
    "K1": (bm25,),
    "B": (bm25,),
    "FORM_WEIGHT": (lookup,),
    "HEAD_WEIGHT": (lookup,),
    "PART_WEIGHT": (score,),
    "SYNONYM_WEIGHT": (lookup, score),
    "COMMON_WORD_WEIGHT": (query,),
}
"""The modules that use each constant."""
TRIED: dict[str, tuple[float, ...]] = {
    "K1": (1.2, 1.5, 2.2, 2.6),
    "B": (0.6, 0.68, 0.82),
    "FORM_WEIGHT": (0.0, 0.25, 0.75),
    "HEAD_WEIGHT": (0.0, 0.2, 0.5),
    "PART_WEIGHT": (0.0, 0.5, 1.0),
    "SYNONYM_WEIGHT": (0.0, 0.2, 0.3, 0.6),
    "COMMON_WORD_WEIGHT": (0.25, 0.75, 1.0),
}


def query_sets(collections: Sequence[Path]) -> list[QuerySet]:
    """The sets of ../shared, or where it is absent those of the samples, and the given collections."""
    if (SHARED / "eval").is_dir():
        baseline, overlay = (_corpus(name) for name in ("klappy.dev-2026-04-28", "ptxprint-mcp-2026-04-28"))
        every = [*overlay, *baseline]
        sets = evaluation_sets(SHARED / "eval" / "queries.jsonl", baseline, overlay)
        sets += [described(every), titled(every), linked(every)]
    else:
        baseline, overlay = (documents_in(SAMPLES / name) for name in ("handbook", "gauge-firmware"))
        sets = evaluation_sets(SAMPLES / "questions.jsonl", baseline, overlay)
    for folder in collections:
        collection = read_collection(folder)
        # Rows of one name are one set.
        taken = {other.name for other in sets}
        sets.append(replace(collection, name=str(folder)) if collection.name in taken else collection)
    return sets


def measured(sets: Sequence[QuerySet], engine: str) -> dict[str, list[Quality]]:
    """The figures of every query by set; over an overlay, its documents go first."""
    figures: dict[str, list[Quality]] = {}
    searches: dict[int, Search] = {}
    for each in sets:
        if id(each.documents) not in searches:
            searches[id(each.documents)] = ENGINES[engine](each.documents)
        search = searches[id(each.documents)]
        for judged in each.queries:
            ranking = search(judged.text)
            first = [n for n in ranking if n < each.overlay] + [n for n in ranking if n >= each.overlay]
            figures.setdefault(each.name, []).append(quality(first, judged))
    return figures


def means(figures: Mapping[str, Sequence[Quality]]) -> dict[str, Quality]:
    """The mean of each figure by set."""
    return {
        name: Quality(*np.mean([tuple(asdict(each).values()) for each in rows], axis=0).round(4).tolist())
        for name, rows in figures.items()
    }


def cross_validated(sets: Sequence[QuerySet]) -> dict[str, dict[str, float]]:
    """nDCG@10 and success@1 by set with the constants as shipped, and with each fold's chosen on the other folds.

    A constant is changed only where the mean over the sets rises by more than one standard error of the paired
    differences: the one-standard-error rule of Breiman et al., Classification and regression trees, 1984.
    """
    settings: list[dict[str, float]] = [{}]
    settings += [{name: value} for name, values in TRIED.items() for value in values]
    by_setting, successes = [], []
    for setting in settings:
        with constants(setting):
            rows = measured(sets, "lamina")
        by_setting.append({name: np.array([row.ndcg for row in rows[name]]) for name in rows})
        successes.append({name: np.array([row.success for row in rows[name]]) for name in rows})
    names = list(by_setting[0])
    held_out: dict[str, list[float]] = {name: [] for name in names}
    held_out_success: dict[str, list[float]] = {name: [] for name in names}
    for fold in range(FOLDS):
        outside = {name: np.arange(len(by_setting[0][name])) % FOLDS != fold for name in names}
        gains = [_gain(by_setting[0], row, outside) for row in by_setting]
        best = int(np.argmax([rise for rise, _ in gains]))
        rise, error = gains[best]
        best = best if rise > error else 0
        chosen = by_setting[best]
        sys.stdout.write(f"fold {fold}: {settings[best] or 'as shipped'}\n")
        for name in names:
            held_out[name] += chosen[name][~outside[name]].tolist()
            held_out_success[name] += successes[best][name][~outside[name]].tolist()
    return {
        name: {
            "shipped": round(float(by_setting[0][name].mean()), 4),
            "cross_validated": round(float(np.mean(held_out[name])), 4),
            "shipped success@1": round(float(successes[0][name].mean()), 4),
            "cross_validated success@1": round(float(np.mean(held_out_success[name])), 4),
        }
        | {
            f"{k}={v}": round(float(row[name].mean()), 4)
            for s, row in zip(settings, by_setting, strict=True)
            for k, v in s.items()
        }
        for name in names
    }


def _gain(
    shipped: Mapping[str, NDArray[np.float64]], changed: Mapping[str, NDArray[np.float64]], on: Mapping[str, Any]
) -> tuple[float, float]:
    """How much the mean over the sets rises on some queries of each, and the standard error of that."""
    rises = [changed[name][chosen] - shipped[name][chosen] for name, chosen in on.items()]
    error = np.sqrt(sum(rise.var(ddof=1) / len(rise) for rise in rises)) / len(rises)
    return float(np.mean([rise.mean() for rise in rises])), float(error)


@contextmanager
def constants(setting: Mapping[str, float]) -> Iterator[None]:
    """Other values of the ranking's constants for a while."""
    with ExitStack() as stack:
        for name, value in setting.items():
            for module in MODULES[name]:
                stack.enter_context(mock.patch.object(module, name, value))
        yield


def report(collections: Sequence[Path], *, cross_validate: bool = False) -> dict[str, object]:
    """Prints the table of every engine on every set; gives it as plain data."""
    sets = query_sets(collections)
    for each in sets:
        sys.stdout.write(f"{each.name}: {len(each.queries)} judged queries, {len(each.documents)} documents\n")
    engines = {name: means(measured(sets, name)) for name in ENGINES}
    sys.stdout.write(f"{'set':<12}{'engine':<14}{'nDCG@10':>9}{'MRR@10':>9}{'recall@5':>10}{'success@1':>11}\n")
    for name in dict.fromkeys(each.name for each in sets):
        for engine, rows in engines.items():
            row = rows[name]
            sys.stdout.write(
                f"{name:<12}{engine:<14}{row.ndcg:>9.3f}{row.mrr:>9.3f}{row.recall:>10.3f}{row.success:>11.3f}\n"
            )
    result: dict[str, object] = {
        engine: {name: asdict(row) for name, row in rows.items()} for engine, rows in engines.items()
    }
    outside = {each.name for each in sets[len(sets) - len(collections) :]}
    result["bounds"] = [line.data() for line in show(_bounds(engines, outside))]
    if cross_validate:
        result["cross_validation"] = cross_validated(sets)
        sys.stdout.write(json.dumps(result["cross_validation"], indent=1) + "\n")
    return result


def _bounds(engines: Mapping[str, Mapping[str, Quality]], outside: Set[str]) -> Iterator[Line]:
    """What must hold on the judged sets that are at hand, and on collections from outside."""
    for name, figures in LEAST.items():
        for figure, least in figures.items():
            if name in engines["lamina"]:
                yield Line(
                    "Judged sets", f"{name}, {figure}", getattr(engines["lamina"][name], figure), "", least=least
                )
    for name in sorted(outside):
        others = max(engines[engine][name].ndcg for engine in ("bm25s", "sqlite-fts5", "tantivy"))
        ahead = engines["lamina"][name].ndcg - others
        yield Line("Outside collections", f"{name}, nDCG@10 above the best of the others", ahead, "", least=LEAST_AHEAD)


def _corpus(name: str) -> list[Document]:
    with tempfile.TemporaryDirectory() as folder, tarfile.open(SHARED / "kb" / f"{name}.tar.gz") as archive:
        archive.extractall(folder, filter="data")
        root = Path(folder)
        while len(inside := list(root.iterdir())) == 1 and inside[0].is_dir():
            root = inside[0]
        return documents_in(root)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--collection", type=Path, action="append", default=[], metavar="FOLDER", help=FORMS)
    parser.add_argument("--cross-validate", action="store_true", help="choose each constant on the other folds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here as well")
    given = parser.parse_args(arguments)
    try:
        result = report(given.collection, cross_validate=given.cross_validate)
    except ValueError as error:
        parser.error(str(error))
    if given.json:
        given.json.write_text(json.dumps(result, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
