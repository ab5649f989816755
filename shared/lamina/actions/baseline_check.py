"""baseline-check: are the required governance files there, what does the corpus hold, and what is wrong with it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from lamina.actions.action import Action, QueryContext
from lamina.actions.corpus_check import corpus_check, counted, grouped, most_telling
from lamina.actions.ranked import ranked_facts
from lamina.contract.envelope import Answer, Envelope
from lamina.contract.errors import LaminaError, invalid_parameter
from lamina.contract.request import Request, SearchScope
from lamina.contract.schema import (
    REVISION,
    STALE,
    TEXT,
    TEXTS,
    AnswerField,
    list_of,
    nullable,
    object_of,
    opening,
)
from lamina.corpus.remarks import Level, Topic
from lamina.governance.manifest import RequiredFile, required_files
from lamina.governance.resolution import GOVERNANCE_SOURCE, GovernanceSource, lowest, read_required
from lamina.index.snapshot import ORIGINS, Snapshot

COMPLETE, INCOMPLETE, UNREACHABLE = "COMPLETE", "INCOMPLETE", "UNREACHABLE"

# A page for people: past this a corpus has one problem, and the total says how large.
_MOST_PROBLEMS = 500


class BaselineCheckRequest(Request):
    """The parameters of baseline-check."""

    action: ClassVar[str] = "baseline-check"

    search_scope: SearchScope = Field(SearchScope.MERGED, description="The scope that is meant to be used.")

    @property
    def scope(self) -> SearchScope:
        """The scope in force."""
        return self.search_scope

    @model_validator(mode="after")
    def _scope_is_one(self) -> BaselineCheckRequest:
        if self.knowledge_base_url is None and self.search_scope != SearchScope.MERGED:
            raise invalid_parameter(
                "search_scope",
                f"search_scope {self.search_scope} needs knowledge_base_url: the baseline is the whole corpus.",
            )
        return self


def baseline_check(request: BaselineCheckRequest, context: QueryContext) -> Answer:
    """Reads every required file in the scope, counts the documents, and lists the corpus check."""
    snapshot = context.snapshot
    files, sources = [], []
    for required in required_files():
        entry, source = _check(required, request, context)
        files.append(entry)
        sources.append(source)
    missing = [entry["path"] for entry in files if not entry["present"]]
    findings = corpus_check(snapshot)
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
            "remarks": counted(findings),
            "groups": grouped(findings),
            "problems": [finding.entry() for finding in most_telling(findings, _MOST_PROBLEMS)],
            "problems_total": len(findings),
            "warnings": warnings,
        },
        "search_scope": str(request.search_scope),
        "governance_source": str(lowest(sources)),
        "revision": str(snapshot.revision),
    }
    scope = context.scopes[request.search_scope]
    searched = scope.overlay[np.flatnonzero(scope.searched)]
    return Answer(envelope, snapshot.revision, ranked_facts(scope, hits=searched))


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
    required: RequiredFile, request: BaselineCheckRequest, context: QueryContext
) -> tuple[dict[str, Any], GovernanceSource]:
    snapshot = context.snapshot
    try:
        found, source = read_required(snapshot, required.path, request.search_scope, context.knowledge_base)
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
        problem.remark.topic in (Topic.LOST_FIELD, Topic.OPEN_FRONTMATTER)
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


_TEXT_OR_NULL = nullable(TEXT)
_FLAG = {"type": "boolean"}
_REQUIRED_FILE = object_of(
    AnswerField("path", TEXT, "a required governance file"),
    AnswerField("purpose", TEXT, "what it is for"),
    AnswerField("optional", _FLAG, "whether actions go on without it"),
    AnswerField("present", _FLAG, "whether some tier of the scope has it"),
    AnswerField("valid", _FLAG, "whether it says something under a frontmatter that can be read"),
    AnswerField("served_from", _TEXT_OR_NULL, "`overlay`, `baseline`, `bundled`, or null"),
    AnswerField("uri", _TEXT_OR_NULL, "its URI, for get"),
    AnswerField("degrades", TEXTS, "the actions that are worse off without it"),
)
_COUNT = {"type": "integer"}
_LEVEL = AnswerField("level", TEXT, "`error`: lost, unreachable, double or unreadable; `warning`; `note`: style")
_TOPIC = AnswerField("topic", TEXT, "what it is about, as one word")
_GROUP = object_of(
    _TOPIC,
    _LEVEL,
    AnswerField("count", _COUNT, "remarks of the topic"),
    AnswerField("reason", TEXT, "the first of them"),
    AnswerField("paths", TEXTS, "files that they are on, five at most"),
)
_PROBLEM = object_of(
    AnswerField("source", TEXT, "`overlay` or `baseline`"),
    AnswerField("path", TEXT, "the file"),
    AnswerField("line", nullable(_COUNT), "where in the file, from 1"),
    _LEVEL,
    _TOPIC,
    AnswerField("reason", TEXT, "what is wrong"),
)
_DATA = object_of(
    AnswerField("required", list_of(_REQUIRED_FILE)),
    AnswerField("documents", {"type": "object"}, "by source: documents in all and by kind"),
    AnswerField("remarks", object_of(*(AnswerField(level, _COUNT) for level in Level)), "how many of each level"),
    AnswerField("groups", list_of(_GROUP), "the corpus check by topic, errors first"),
    AnswerField(
        "problems",
        list_of(_PROBLEM),
        f"the corpus check, errors first: {_MOST_PROBLEMS} remarks, and every error beyond",
    ),
    AnswerField("problems_total", _COUNT, "how many remarks there are"),
    AnswerField("warnings", TEXTS, "what is likely to surprise in this scope"),
)
_UNLESS_UNREACHABLE = (
    AnswerField("reason", TEXT, "with UNREACHABLE: why"),
    AnswerField("search_scope", TEXT, "the scope that was checked"),
    GOVERNANCE_SOURCE,
    REVISION,
    STALE,
)

ACTION = Action(
    BaselineCheckRequest.action,
    "Whether the required files are there, how many documents there are, and what is wrong with them.",
    BaselineCheckRequest,
    baseline_check,
    object_of(
        *opening(BaselineCheckRequest.action, COMPLETE, INCOMPLETE, UNREACHABLE),
        AnswerField("data", nullable(_DATA)),
        *(replace(field, always=False) for field in _UNLESS_UNREACHABLE),
    ),
    methods=("GET",),
    without_index=unreachable,
    takes_prefix=False,
)
