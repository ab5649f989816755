"""What the eight reference consumers cost in tokens, against every document's whole frontmatter in one response."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.actions.slices import KINDS
from tests.actions.workloads import FULL_LISTING_LIMIT, WORKLOADS
from tests.bench.figures import Line
from tests.corpora import REAL, Deployed

from lamina.actions.registry import ACTIONS
from lamina.contract.envelope import compact
from lamina.contract.tokens import count_each, count_tokens
from lamina.runtime.dispatch import Reply, dispatch
from lamina.runtime.recorder import Caller
from lamina.runtime.wiring import Runtime

PART = "Tokens of the eight reference workloads"
TIMES_SMALLER = 10.0


def workloads(deployed: Deployed) -> Iterator[Line]:
    """A line a workload, and their sum against the old shape. They ask for documents of the real baseline."""
    if not REAL.is_dir():
        return
    runtime = deployed.runtime()
    old = _old_shape(runtime)
    yield Line(PART, "the old shape, each time", old, "tokens")
    total = 0
    for entry in WORKLOADS:
        cost = count_tokens(_reply(runtime, entry.action, entry.arguments).text)
        total += cost
        yield Line(PART, entry.use, cost, "tokens")
    yield Line(PART, "all eight", total, "tokens")
    yield Line(PART, "times smaller than the old shape", len(WORKLOADS) * old / total, "×", least=TIMES_SMALLER)


def _old_shape(runtime: Runtime) -> int:
    """Tokens of one listing of every document with its frontmatter, read page by page."""
    entries: list[dict[str, Any]] = []
    total = 1
    while len(entries) < total:
        arguments = {
            "include": KINDS,
            "disclosure": ["metadata"],
            "limit": FULL_LISTING_LIMIT,
            "offset": len(entries),
        }
        envelope = _reply(runtime, "catalog", arguments).envelope
        entries += envelope["data"]
        total = envelope["total"]
    return sum(count_each([compact({n: e[n] for n in ("uri", "title", "metadata")}) for e in entries]))


def _reply(runtime: Runtime, action: str, arguments: dict[str, Any]) -> Reply:
    reply = dispatch(ACTIONS[action], lambda: arguments, Caller(), runtime)
    if reply.envelope["status"] != "FOUND":
        raise RuntimeError(reply.text)
    return reply
