"""The command `lamina check`: what is wrong with the documents of a knowledge base, for a person or for a machine."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from rich.console import Console
from rich.text import Text

from lamina.actions.corpus_check import Finding, corpus_check, counted, grouped
from lamina.contract.errors import LaminaError
from lamina.contract.ports import SourceUnavailable
from lamina.corpus.remarks import Level
from lamina.index.build import build
from lamina.index.snapshot import Origin, Snapshot
from lamina.indexer.indexing import Feed, source_revision_of
from lamina.local.deployment import DeploymentError, add_data_option, remembered
from lamina.runtime.catalogue import index_name
from lamina.runtime.settings import Settings
from lamina.runtime.wiring import compose
from lamina.sources.folder import FolderSource

PURPOSE: Final = "say what is wrong with the documents of a knowledge base"
FORMATS: Final = ("text", "json", "sarif", "github")
_SHOWN: Final = 10
"""Places of one topic that a person is shown, but for errors, which are all shown."""
_STYLES: Final = {Level.ERROR: "bold red", Level.WARNING: "yellow", Level.NOTE: "dim"}
_SARIF_LEVELS: Final = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "note"}
_GITHUB_LEVELS: Final = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "notice"}
_SARIF_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def add_check(commands: Any) -> None:
    """Adds the command to the parser's commands."""
    sub = commands.add_parser("check", help=PURPOSE, description=PURPOSE)
    sub.add_argument("folder", nargs="?", type=Path, help="a folder to check as it is; else what the index holds")
    sub.add_argument("--knowledge-base", metavar="NAME", help="the overlay to check; else the baseline")
    sub.add_argument("--strict", action="store_true", help="exit with 1 where there is an error")
    sub.add_argument("--format", choices=FORMATS, default=argparse.SUPPRESS, help="text, json, sarif or github")
    add_data_option(sub)
    sub.set_defaults(command=check)


def check(arguments: argparse.Namespace) -> int:
    """Checks and shows; 1 where it is to be strict and something is lost, unreachable, double or unreadable."""
    snapshot = _built(arguments.folder) if arguments.folder else _indexed(arguments.data, arguments.knowledge_base)
    findings = corpus_check(snapshot)
    documents = len(snapshot) - int(snapshot.mask(Origin.BUNDLED).sum())
    chosen = arguments.format or ("text" if sys.stdout.isatty() else "json")
    if chosen == "text":
        show_findings(documents, findings, Console())
    elif chosen == "json":
        print(as_json(documents, findings))
    elif chosen == "sarif":
        print(as_sarif(findings))
    elif findings:
        print(as_github(findings))
    return 1 if arguments.strict and any(finding.level == Level.ERROR for finding in findings) else 0


def _built(folder: Path) -> Snapshot:
    """The documents of a folder as they are now, without an index."""
    if not folder.is_dir():
        raise DeploymentError(f"{folder} is no folder. Give the folder that holds the .md files.")
    source = FolderSource(folder)
    try:
        source_revision = source_revision_of(Origin.BASELINE, Feed(source), source.revision())
    except SourceUnavailable as error:
        raise DeploymentError(f"{folder} cannot be read: {error.reason}.") from error
    return build([source_revision])[0]


def _indexed(data: Path, knowledge_base: str | None) -> Snapshot:
    """The newest snapshot of an index."""
    deployment = remembered(data)
    if deployment is None:
        raise DeploymentError(f"there is no index in {data}. Run: lamina index FOLDER --data {data}")
    runtime = compose(Settings.of(deployment.environment()))
    try:
        allowed = runtime.allowed(knowledge_base, has_key=True)
        return runtime.warm.current(index_name(allowed.name if allowed else None)).scopes.snapshot
    except LaminaError as error:
        raise DeploymentError(error.message) from error


def as_json(documents: int, findings: Sequence[Finding]) -> str:
    """One object: counts, groups, and every remark."""
    return json.dumps(
        {
            "documents": documents,
            "remarks": counted(findings),
            "groups": grouped(findings),
            "problems": [finding.entry() for finding in findings],
        },
        ensure_ascii=False,
    )


def as_sarif(findings: Sequence[Finding]) -> str:
    """SARIF 2.1.0, as code scanning reads it."""
    rules = sorted({str(finding.topic) for finding in findings})
    run = {
        "tool": {"driver": {"name": "lamina", "rules": [{"id": rule} for rule in rules]}},
        "results": [_sarif_result(finding) for finding in findings],
    }
    return json.dumps({"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, ensure_ascii=False)


def as_github(findings: Sequence[Finding]) -> str:
    """A workflow command a line, which GitHub shows beside the file."""
    return "\n".join(
        f"::{_GITHUB_LEVELS[finding.level]} file={_property(finding.path)},line={finding.line or 1},"
        f"title={_property(str(finding.topic))}::{_message(finding.reason)}"
        for finding in findings
    )


def show_findings(documents: int, findings: Sequence[Finding], console: Console) -> None:
    """Prints them by topic, errors first and whole, and how many there are of each level."""
    for topic, members in groupby(findings, key=lambda finding: finding.topic):
        group = list(members)
        level = group[0].level
        console.print(Text(f"{level}: {topic} ({len(group)})", style=_STYLES[level]))
        most = len(group) if level == Level.ERROR else _SHOWN
        for finding in group[:most]:
            place = finding.path if finding.line is None else f"{finding.path}:{finding.line}"
            console.print(Text(f"  {place}  {finding.reason}"))
        if len(group) > most:
            console.print(Text(f"  and {len(group) - most} more, which --format json lists", style="dim"))
    counts = ", ".join(_counted(count, level) for level, count in counted(findings).items())
    console.print(Text(f"{_counted(documents, 'document')}: {counts}", style="bold"))


def by_suffix(paths: Sequence[str]) -> str:
    """How many files there are of each ending, the most first: 12 .rst, 1 .txt."""
    counts = Counter(path[path.rfind(".") :].lower() for path in paths)
    return ", ".join(f"{count} {suffix}" for suffix, count in counts.most_common())


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _sarif_result(finding: Finding) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": quote(finding.path)}}
    if finding.line is not None:
        place["region"] = {"startLine": finding.line}
    return {
        "ruleId": str(finding.topic),
        "level": _SARIF_LEVELS[finding.level],
        "message": {"text": finding.reason},
        "locations": [{"physicalLocation": place}],
    }


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
