"""The six operations over one workspace: who may ask what, in which order it is checked, and what comes back."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from lamina.contract.errors import LaminaError
from lamina.contract.ids import sha256_hex
from lamina.contract.ports import ProposalStatus, SourceUnavailable, StoreUnavailable
from lamina.knowledge import proposals
from lamina.knowledge.descriptor import describe
from lamina.knowledge.index_cache import IndexCache
from lamina.knowledge.note import note_path
from lamina.knowledge.preview import CitedSource, cited_sources
from lamina.knowledge.proposals import Reviewed, reviewed
from lamina.knowledge.protocol import (
    LOCAL_OWNER,
    MOST_WAITING,
    Accept,
    Budget,
    Describe,
    ErrorCode,
    Propose,
    Query,
    Refusal,
    Reject,
    Request,
    Response,
    Review,
    pending_number,
    read_request,
    review_digest_of,
)
from lamina.knowledge.query import Basis, WorkspaceIndex, index_of, query
from lamina.knowledge.workspace import Digests, Workspace, WorkspaceFiles, WorkspaceState, manifest_bytes

logger = logging.getLogger(__name__)


class Authority(StrEnum):
    """What a caller may do: an agent reads and proposes, an operator decides as well."""

    AGENT = "agent"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class KnowledgeCaller:
    """Who asks. `owner` is whose proposals they are, `name` what the audit trail says of an operator.

    With `describe_only` every other operation is API_KEY_REQUIRED; `spend` counts passages that are read.
    """

    authority: Authority
    owner: str = "local"
    name: str = "local"
    sees_all: bool = True
    describe_only: bool = False
    spend: Callable[[int], None] = lambda passages: None


@dataclass(frozen=True, slots=True)
class Examined:
    """What a person decides on. `obstacle` is what an acceptance would fail with now."""

    reviewed: Reviewed
    sources: list[CitedSource]
    obstacle: ErrorCode | None
    note_path: str


@dataclass(slots=True)
class KnowledgeService:
    """The contract over one workspace. `clock` gives seconds of elapsed time."""

    workspace: Workspace
    build: str = "local"
    kept: IndexCache | None = None
    most_waiting: int = MOST_WAITING
    clock: Callable[[], float] = time.monotonic
    log_tracebacks: bool = False
    _index: tuple[tuple[str, str], WorkspaceIndex] | None = field(default=None)
    _indexing: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, value: Any, caller: KnowledgeCaller) -> Response:
        """Answers one request, given as a JSON value. Whatever is refused comes back as its word.

        Raises LaminaError API_KEY_REQUIRED and RATE_LIMITED, which are the transport's to tell.
        """
        started = self.clock()
        try:
            request = read_request(value)
            if caller.describe_only and not isinstance(request.operation, Describe):
                raise LaminaError("API_KEY_REQUIRED", "without an API key only describe is answered.")
            result = self._answer(request, caller, started)
        except Refusal as refusal:
            return Response(code=refusal.code)
        except LaminaError:
            raise
        except (StoreUnavailable, SourceUnavailable) as error:
            logger.warning("knowledge: %s", type(error).__name__)
            return Response(code=ErrorCode.UNAVAILABLE)
        except Exception:
            # The contract's rim: what nobody foresaw is a fixed word as well, and its message may quote the request.
            logger.error("INTERNAL_ERROR on knowledge", exc_info=self.log_tracebacks)
            return Response(code=ErrorCode.INTERNAL_ERROR)
        return self._within(Response(result), request)

    def prepare(self) -> None:
        """Builds and keeps the index of what is committed, so that no query's time goes into it."""
        state, files = self.workspace.state(), self.workspace.files()
        if state is not None and not files.differing(state.manifest):
            self._indexed(files, state.manifest, _basis(state, files))

    def examine(self, number: int) -> Examined:
        """A proposal beside its sources. Raises Refusal baseline_required, invalid_pending_id."""
        state = self.workspace.state()
        if state is None:
            raise Refusal(ErrorCode.BASELINE_REQUIRED)
        entry = self._row(number, KnowledgeCaller(Authority.OPERATOR))
        files = self.workspace.files()
        blocked = proposals.obstacle(state, files, entry) if entry.row.status is ProposalStatus.PENDING else None
        path = entry.row.path or note_path(entry.payload["capture"]["title"], entry.review_sha256)
        return Examined(entry, cited_sources(entry, files), blocked, path)

    def _answer(self, request: Request, caller: KnowledgeCaller, started: float) -> dict[str, Any]:
        operation = request.operation
        self._check_scope(request)
        is_operator = caller.authority is Authority.OPERATOR
        if isinstance(operation, Accept) and not is_operator:
            raise Refusal(ErrorCode.LOCAL_OPERATOR_ACCEPTANCE_REQUIRED)
        if isinstance(operation, Reject) and not is_operator:
            raise Refusal(ErrorCode.LOCAL_OPERATOR_REJECTION_REQUIRED)
        state = self.workspace.state()
        if isinstance(operation, Describe):
            _check_guid(request, state, required=False)
            return self._describe(state, caller)
        if isinstance(operation, Query):
            _check_guid(request, state, required=True)
            return self._query(request, operation, state, caller, started)
        if state is None:
            raise Refusal(ErrorCode.BASELINE_REQUIRED)
        _check_guid(request, state, required=True)
        if isinstance(operation, Propose):
            return self._propose(operation, state, caller)
        entry = self._row(operation.pending_id, caller)
        if isinstance(operation, Review):
            return {
                "pending_id": entry.row.id,
                "status": str(entry.row.status),
                **entry.payload,
                "review_sha256": entry.review_sha256,
            }
        digest = review_digest_of(operation.review_sha256)
        if isinstance(operation, Accept):
            return self._accept(entry, digest, state, caller)
        return self._reject(entry, digest, caller)

    def _check_scope(self, request: Request) -> None:
        """Everything that can be told without asking the workspace."""
        if request.scope is not None:
            if request.scope.authority != LOCAL_OWNER:
                raise Refusal(ErrorCode.UNSUPPORTED_SHARED_AUTHORITY)
            if request.scope.root not in self.workspace.roots:
                raise Refusal(ErrorCode.WRONG_ROOT)
        if request.budget is not None:
            request.budget.check()

    def _describe(self, state: WorkspaceState | None, caller: KnowledgeCaller) -> dict[str, Any]:
        files: WorkspaceFiles | None = None
        # Reading every source is more than a caller without a key may ask for.
        if not caller.describe_only:
            with suppress(SourceUnavailable):
                files = self.workspace.files()
        is_operator = caller.authority is Authority.OPERATOR
        return describe(self.workspace.root, state, files, self.build, is_operator=is_operator)

    def _query(
        self,
        request: Request,
        operation: Query,
        state: WorkspaceState | None,
        caller: KnowledgeCaller,
        started: float,
    ) -> dict[str, Any]:
        scope, budget = request.scope, request.budget
        if scope is None or budget is None:
            raise Refusal(ErrorCode.INVALID_INPUT)
        files = self.workspace.files()
        manifest = files.digests if state is None else state.manifest
        if files.differing(manifest):
            raise Refusal(ErrorCode.SOURCE_DRIFT)
        basis = _basis(state, files)
        result = query(
            self._indexed(files, manifest, basis),
            files,
            operation,
            scope.facts,
            basis,
            budget,
            lambda: (self.clock() - started) * 1000 >= budget.max_latency_ms,
        )
        if state is not None and self.workspace.files().differing(manifest):
            raise Refusal(ErrorCode.SOURCE_DRIFT)
        if result["passages"]:
            caller.spend(len(result["passages"]))
        return result

    def _indexed(self, files: WorkspaceFiles, manifest: Digests, basis: Basis) -> WorkspaceIndex:
        key = (basis.manifest, basis.policy)
        # A workspace that is not initialised is only read.
        kept = None if basis.partial else self.kept
        with self._indexing:
            if self._index is None or self._index[0] != key:
                index = None if kept is None else kept.find(*key)
                if index is None:
                    cache = None if self._index is None else self._index[1].cache
                    if cache is None and kept is not None:
                        cache = kept.parsed()
                    index = index_of(files, manifest, basis.manifest, cache)
                    if kept is not None:
                        kept.keep(index, *key)
                self._index = (key, index)
            return self._index[1]

    def _propose(self, operation: Propose, state: WorkspaceState, caller: KnowledgeCaller) -> dict[str, Any]:
        if operation.context.knowledge_workspace != state.commit.workspace:
            raise Refusal(ErrorCode.WRONG_WORKSPACE)
        row, created = proposals.propose(self.workspace, operation, caller.owner, self.most_waiting)
        return {"pending_id": row.id, "status": str(row.status), "retried": not created}

    def _row(self, number: Any, caller: KnowledgeCaller) -> Reviewed:
        row = self.workspace.ledger.proposal(pending_number(number))
        if row is None or not (caller.sees_all or row.owner == caller.owner):
            raise Refusal(ErrorCode.INVALID_PENDING_ID)
        return reviewed(row)

    def _accept(self, entry: Reviewed, digest: str, state: WorkspaceState, caller: KnowledgeCaller) -> dict[str, Any]:
        if entry.row.status is ProposalStatus.REJECTED:
            raise Refusal(ErrorCode.INVALID_INPUT)
        retried = entry.row.status is ProposalStatus.ACCEPTED
        row = entry.row
        if retried:
            proposals.check_review(entry, digest)
        else:
            row = proposals.accept(self.workspace, state, entry, digest, caller.name)
        return {**_decided(entry, "accepted", retried), "path": row.path, "head": row.head}

    def _reject(self, entry: Reviewed, digest: str, caller: KnowledgeCaller) -> dict[str, Any]:
        if entry.row.status is ProposalStatus.ACCEPTED:
            raise Refusal(ErrorCode.INVALID_INPUT)
        retried = entry.row.status is ProposalStatus.REJECTED
        if retried:
            proposals.check_review(entry, digest)
        else:
            proposals.reject(self.workspace, entry, digest, caller.name)
        return _decided(entry, "rejected", retried)

    def _within(self, response: Response, request: Request) -> Response:
        """The response, unless it is a read whose encoding is over the budget; an error always fits."""
        budget: Budget | None = request.budget
        if budget is None or len(response.text().encode()) < budget.max_output_bytes:
            return response
        return Response(code=ErrorCode.BUDGET_EXCEEDED)


def _check_guid(request: Request, state: WorkspaceState | None, *, required: bool) -> None:
    """`null` names a workspace that has no GUID, and in a describe any workspace."""
    if request.scope is None:
        return
    actual = None if state is None else state.commit.workspace
    given = request.scope.knowledge_workspace
    if given != actual and (required or given is not None):
        raise Refusal(ErrorCode.WRONG_WORKSPACE)


def _basis(state: WorkspaceState | None, files: WorkspaceFiles) -> Basis:
    if state is None:
        return Basis(None, sha256_hex(manifest_bytes(files.digests)), files.policy, partial=True)
    return Basis(state.commit.head, state.commit.manifest, files.policy, partial=False)


def _decided(entry: Reviewed, status: str, retried: bool) -> dict[str, Any]:
    return {
        "pending_id": entry.row.id,
        "status": status,
        "review_sha256": entry.review_sha256,
        "retried": retried,
    }
