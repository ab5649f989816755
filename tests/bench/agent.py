"""What a fact costs an agent with the tools alone, against grep and cat by a script: tokens and calls until it is read.

The agent's policy is fixed: search with a passage of the first hit; then, page by page of what was found, and first of
what the filters hid where that scores better, the sections that answer; then whole pages. The script's is as well: grep
for all words of the question at once, cut where tools of agents cut their output, then whole files, those with most of
the words first. Both read until the fact stands in what they read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.figures import Line
from tests.corpora import REAL, SAMPLES, Deployed, unpacked

from lamina.contract.tokens import count_tokens
from lamina.local.stdio import Session

PART = "An agent that looks for facts"
MOST_CALLS_A_FACT = 2.5
TIMES_CHEAPER = 5.0
_MOST_CALLS = 8
_GREP_CHARACTERS = 30_000
# Words of a question that nobody looks for.
_PASSED_OVER = frozenset(
    [
        *("what", "when", "which", "where", "does", "many", "must", "have", "from", "after", "before", "with", "that"),
        *("this", "there", "give", "gives", "take", "takes", "long", "should", "last", "without"),
    ]
)


@dataclass(frozen=True, slots=True)
class Task:
    """A question, and the fact that answers it as a page states it."""

    question: str
    fact: str


SAMPLE_TASKS = (
    Task("what colour is the desiccant bag when it is exhausted", "pink when exhausted"),
    Task("under which voltage is the battery pack changed", "3,300 mV"),
    Task("how long does water from Kell Mill take to Tollan Bridge", "55 minutes"),
    Task("how many sheep were lost in the Lowmere flood", "60 sheep"),
    Task("what stage sets off act at Tollan Bridge", "2,600 mm"),
    Task("how many calibration checks needed a survey in 2024", "18 a survey"),
    Task("when is my number erased after I text STOP", "erased 30 days later"),
    Task("what do client libraries raise for an empty stage_mm", "`GapError`"),
    Task("what rating must life jackets have", "150 newtons"),
    Task("which exit code does rill check give for an interval without a row", "exit code 3"),
)
REAL_TASKS = (
    Task("superseded_by which shapes are allowed", "Repo-relative path without `.md`"),
    Task("why is a new action rejected before dispatch, VALID_ACTIONS", "reject unknown actions"),
    Task("oddkit_gate decisions_locked gap message", "which options have been closed?"),
    Task("is one em dash in a text fine", "One em dash is fine"),
    Task("should microsecond derivations be cached", "don't cache microsecond derivations"),
    Task("what are the seven letters of DOLCHEO", "Decisions, Observations (closed), Learnings"),
    Task("what is tried last when resolving superseded_by", "Miss after all four"),
)


@dataclass(frozen=True, slots=True)
class Walk:
    """What one way to a fact cost; `found` says whether it got there."""

    tokens: int
    calls: int
    found: bool


def walked_corpora(scratch: Path) -> Iterator[Deployed]:
    """The sample, and the real baseline where it is at hand, indexed."""
    folders = {"sample": SAMPLES / "handbook"}
    if REAL.is_dir():
        folders["real"] = unpacked("klappy.dev-2026-04-28.tar.gz", scratch / "baseline")
    for name, folder in folders.items():
        deployed = Deployed(scratch / name, folder)
        deployed.index()
        yield deployed


def agent(deployed: Deployed) -> Iterator[Line]:
    """The lines of both ways over the sample or the real baseline."""
    tasks = SAMPLE_TASKS if deployed.baseline == SAMPLES / "handbook" else REAL_TASKS
    session = Session(deployed.runtime())
    walks = [with_tools(session, task) for task in tasks]
    scripted = [with_grep(deployed.baseline, task) for task in tasks]
    cost, baseline = sum(walk.tokens for walk in walks), sum(walk.tokens for walk in scripted)
    where = f"{len(tasks)} facts of {deployed.baseline.name}"
    yield Line(PART, f"{where}: read with the tools", sum(walk.found for walk in walks), "facts", least=len(tasks))
    yield Line(PART, "tokens with the tools", cost, "tokens")
    yield Line(PART, "calls a fact", sum(walk.calls for walk in walks) / len(walks), "calls", most=MOST_CALLS_A_FACT)
    yield Line(PART, "read with grep and cat", sum(walk.found for walk in scripted), "facts")
    yield Line(PART, "tokens with grep and cat", baseline, "tokens")
    yield Line(PART, "times cheaper than grep and cat", baseline / cost, "×", least=TIMES_CHEAPER)


def with_tools(session: Session, task: Task) -> Walk:
    """The agent's way."""
    tokens = calls = 0
    for text in _reads(session, task.question):
        tokens, calls = tokens + count_tokens(text), calls + 1
        if _states(text, task.fact):
            return Walk(tokens, calls, found=True)
        if calls == _MOST_CALLS:
            break
    return Walk(tokens, calls, found=False)


def with_grep(folder: Path, task: Task) -> Walk:
    """The script's way: one grep, then whole files."""
    words = [word.casefold() for word in re.findall(r"[\w-]{4,}", task.question) if word.casefold() not in _PASSED_OVER]
    held: dict[Path, set[str]] = {}
    lines = []
    for path in sorted(folder.rglob("*.md")):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
            seen = {word for word in words if word in line.casefold()}
            if seen:
                lines.append(f"{path.relative_to(folder)}:{number}:{line}")
                held.setdefault(path, set()).update(seen)
    printed = "\n".join(lines)[:_GREP_CHARACTERS]
    tokens, calls = count_tokens(printed), 1
    if _states(printed, task.fact):
        return Walk(tokens, calls, found=True)
    for path in sorted(held, key=lambda path: -len(held[path]))[: _MOST_CALLS - 1]:
        text = path.read_text("utf-8")
        tokens, calls = tokens + count_tokens(text), calls + 1
        if _states(text, task.fact):
            return Walk(tokens, calls, found=True)
    return Walk(tokens, calls, found=False)


def _reads(session: Session, question: str) -> Iterator[str]:
    """The texts of the agent's calls, one after another."""
    text = _called(session, "oddkit_search", {"query": question, "limit": 2, "passage": 1})
    yield text
    found = json.loads(text)["result"]
    hidden = [found["best_filtered"]] if "best_filtered" in found else []
    uris = [entry["uri"] for entry in (*hidden, *found["data"])]
    for uri in uris:
        yield _called(session, "oddkit_get", {"uri": uri, "about": question, "max_tokens": 500})
    for uri in uris:
        yield _called(session, "oddkit_get", {"uri": uri})


def _called(session: Session, tool: str, arguments: dict[str, Any]) -> str:
    frame = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    reply = session.reply(json.dumps(frame).encode())
    assert isinstance(reply, dict)
    return str(reply["result"]["content"][0]["text"])


def _states(text: str, fact: str) -> bool:
    """Whether a text states a fact; JSON escapes what Markdown does not, and case and line ends do not matter."""
    plain = text.replace('\\"', '"').replace("\\n", " ")
    return " ".join(fact.split()).casefold() in " ".join(plain.split()).casefold()
