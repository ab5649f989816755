"""baseline-check: is the governance floor whole, what does the corpus hold, and what is wrong with it."""

from __future__ import annotations

from collections import Counter
from typing import Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from lamina.actions.action import Action
from lamina.actions.reading import Reading
from lamina.contract.disclosure import Flag
from lamina.contract.envelope import Answer, Envelope
from lamina.contract.errors import LaminaError, invalid_parameter
from lamina.contract.request import Request, SearchScope
from lamina.governance.floor import GovernanceSource, lowest, read_required
from lamina.governance.manifest import RequiredFile, required_files
from lamina.index.snapshot import ORIGINS, Origin, Snapshot

COMPLETE, INCOMPLETE, UNREACHABLE = "COMPLETE", "INCOMPLETE", "UNREACHABLE"

# A page for people: past this a corpus has one problem, and the total says how large.
_MOST_PROBLEMS = 500


class BaselineCheckRequest(Request):
    """The parameters of baseline-check."""

    action: ClassVar[str] = "baseline-check"
    permitted: ClassVar[tuple[Flag, ...]] = ()

    search_scope: SearchScope = Field(SearchScope.MERGED, description="The scope that is meant to be used.")

    @model_validator(mode="after")
    def _scope_is_one(self) -> BaselineCheckRequest:
        if self.knowledge_base_url is None and self.search_scope != SearchScope.MERGED:
            raise invalid_parameter(
                "search_scope",
                f"search_scope {self.search_scope} needs knowledge_base_url: the baseline is the whole corpus.",
            )
        return self


def baseline_check(request: BaselineCheckRequest, reading: Reading) -> Answer:
    """Reads every required file in the scope, counts the documents, and lists the corpus check."""
    snapshot = reading.snapshot
    files, sources = [], []
    for required in required_files():
        entry, source = _check(required, request, reading)
        files.append(entry)
        sources.append(source)
    missing = [entry["path"] for entry in files if not entry["present"]]
    found = [
        *({"source": str(p.origin), "path": p.path, "reason": p.reason} for p in snapshot.problems),
        *({"source": str(r.origin), "path": r.path, "reason": r.reason} for r in snapshot.rejects),
    ]
    problems = [one for one in found if one["source"] != Origin.BUNDLED]
    warnings = []
    if missing and request.search_scope == SearchScope.KB_ONLY:
        warnings.append(
            "search_scope kb_only leaves the baseline out, and the knowledge base lacks required files: "
            f"{', '.join(missing)}. Use kb_with_required_baseline, or add them."
        )
    invalid = any(entry["present"] and not entry["valid"] for entry in files)
    envelope: Envelope = {
        "status": INCOMPLETE if missing or invalid else COMPLETE,
        "action": request.action,
        "data": {
            "required": files,
            "documents": _counts(snapshot),
            "problems": problems[:_MOST_PROBLEMS],
            "problems_total": len(problems),
            "warnings": warnings,
        },
        "search_scope": str(request.search_scope),
        "governance_source": str(lowest(sources)),
        "revision": str(snapshot.revision),
    }
    return Answer(envelope, snapshot.revision)


def unreachable(error: LaminaError) -> Envelope | None:
    """The answer where there is no index to look at; None for an error that is the caller's."""
    if not error.kind.is_server_fault:
        return None
    return {
        "status": UNREACHABLE,
        "action": BaselineCheckRequest.action,
        "data": None,
        "reason": error.message,
    }


def _check(
    required: RequiredFile, request: BaselineCheckRequest, reading: Reading
) -> tuple[dict[str, Any], GovernanceSource]:
    snapshot = reading.snapshot
    try:
        found, source = read_required(snapshot, required.path, request.search_scope, reading.knowledge_base)
    except LaminaError:  # the check reports what the other actions fail on
        found = None
        source = GovernanceSource.MINIMAL if required.optional else GovernanceSource.INCOMPLETE
    entry = {
        "path": required.path,
        "purpose": required.purpose,
        "optional": required.optional,
        "present": found is not None,
        "valid": found is not None and _is_valid(snapshot, found),
        "served_from": None if found is None else str(snapshot.origin[found]),
        "uri": None if found is None else snapshot.uris[found],
        "degrades": list(required.needed_by),
    }
    return entry, source


def _is_valid(snapshot: Snapshot, document: int) -> bool:
    """Whether the file says something under a frontmatter that can be read."""
    return bool(snapshot.body(document).strip()) and not any(
        problem.reason.startswith("frontmatter is not")
        for problem in snapshot.problems
        if problem.path == snapshot.paths[document] and problem.origin == snapshot.origin[document]
    )


def _counts(snapshot: Snapshot) -> dict[str, dict[str, int]]:
    """Documents by source and kind."""
    counts: dict[str, dict[str, int]] = {}
    for origin in ORIGINS:
        numbers = np.flatnonzero(snapshot.mask(origin))
        if len(numbers):
            kinds = Counter(snapshot.kind[number] for number in numbers)
            counts[str(origin)] = {"total": len(numbers), **dict(sorted(kinds.items()))}
    return counts


_FILE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "purpose": {"type": "string"},
        "optional": {"type": "boolean"},
        "present": {"type": "boolean"},
        "valid": {"type": "boolean"},
        "served_from": {"type": ["string", "null"]},
        "uri": {"type": ["string", "null"]},
        "degrades": {"type": "array", "items": {"type": "string"}},
    },
}

RESULT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "status": {"type": "string", "enum": [COMPLETE, INCOMPLETE, UNREACHABLE]},
        "action": {"type": "string", "const": BaselineCheckRequest.action},
        "data": {
            "type": ["object", "null"],
            "properties": {
                "required": {"type": "array", "items": _FILE_SCHEMA},
                "documents": {"type": "object"},
                "problems": {"type": "array", "items": {"type": "object"}},
                "problems_total": {"type": "integer"},
                "warnings": {"type": "array", "items": {"type": "string"}},
            },
        },
        "reason": {"type": "string"},
        "search_scope": {"type": "string"},
        "governance_source": {"type": "string"},
        "revision": {"type": "string"},
        "stale": {"type": "boolean"},
    },
    "required": ["status", "action", "data"],
}

ACTION = Action(
    "baseline-check",
    "Whether the governance floor is whole, how many documents there are, and what is wrong with them.",
    BaselineCheckRequest,
    baseline_check,
    methods=("GET",),
    is_tool=False,
    result_schema=RESULT_SCHEMA,
    without_index=unreachable,
)
