"""The legal changes of a proposal's state: queued, reviewed, then accepted or rejected once, by an operator."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, replace
from typing import Any

from lamina.contract.ids import sha256_hex
from lamina.contract.ports import (
    AuditEntry,
    CommitOutcome,
    Proposal,
    ProposalDraft,
    ProposalStatus,
    StoreUnavailable,
    TooManyWaiting,
)
from lamina.knowledge.note import Note, note_of
from lamina.knowledge.protocol import ErrorCode, Propose, Refusal, canonical
from lamina.knowledge.workspace import Workspace, WorkspaceFiles, WorkspaceState, next_commit

logger = logging.getLogger(__name__)

ACCEPT, REJECT = "accept", "reject"


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A row with its payload read, and the digest of what a reviewer sees of it."""

    row: Proposal
    payload: dict[str, Any]
    review_sha256: str


def propose(workspace: Workspace, operation: Propose, owner: str, most_waiting: int) -> tuple[Proposal, bool]:
    """Queues a note; the second value says whether the row is new. Never applies anything.

    Raises Refusal idempotency_conflict, pending_limit_reached.
    """
    draft = ProposalDraft(owner, operation.context.idempotency_key, operation.payload(), workspace.now())
    try:
        row, created = workspace.ledger.add(draft, most_waiting=most_waiting)
    except TooManyWaiting as error:
        raise Refusal(ErrorCode.PENDING_LIMIT_REACHED) from error
    if row.payload != draft.payload:
        raise Refusal(ErrorCode.IDEMPOTENCY_CONFLICT)
    return row, created


def reviewed(row: Proposal) -> Reviewed:
    """A row as a reviewer sees it; the digest is taken of the bytes that are kept now."""
    payload: dict[str, Any] = json.loads(row.payload)
    digest = sha256_hex(canonical({"pending_id": row.id, **payload}))
    return Reviewed(row, payload, digest)


def accept(workspace: Workspace, state: WorkspaceState, entry: Reviewed, review_sha256: str, by: str) -> Proposal:
    """Publishes a pending note, after every check. The row returned is the accepted one.

    Writes in this order: the note's bytes, the manifest, the audit entry, then in one commit row, head and
    manifest digest, then the file. Raises Refusal stale_head, stale_manifest, stale_source, stale_policy,
    review_changed, source_drift, invalid_pending_id; nothing is published then.
    """
    _check_fresh(state, workspace.files(), entry.payload["context"])
    check_review(entry, review_sha256)
    note = note_of(entry.payload, review_sha256)
    workspace.keep_note(note)
    manifest = {**state.manifest, note.path: note.sha256}
    digest = workspace.keep_manifest(manifest)
    change = _change(entry, note)
    commit = next_commit(state.commit.workspace, state.commit, digest, change, publishing=note.path)
    _append(workspace, entry, ACCEPT, by, {**change, "head": commit.head, "manifest": digest})
    decided = replace(entry.row, status=ProposalStatus.ACCEPTED, path=note.path, head=commit.head)
    outcome = workspace.ledger.commit(decided, commit=commit, over=state.commit.head)
    if outcome is CommitOutcome.HEAD_MOVED:
        raise Refusal(ErrorCode.STALE_HEAD)
    if outcome is CommitOutcome.ROW_CHANGED:
        raise Refusal(ErrorCode.INVALID_PENDING_ID)
    try:
        workspace.publish(WorkspaceState(commit, manifest))
    except StoreUnavailable:
        # The commit stands, so the answer is not a failure; the next request on the workspace publishes.
        logger.warning("an accepted note is not published yet")
    return decided


def reject(workspace: Workspace, entry: Reviewed, review_sha256: str, by: str) -> None:
    """Discards a pending note; its payload and all that was audited stay.

    Raises Refusal review_changed, invalid_pending_id.
    """
    check_review(entry, review_sha256)
    _append(workspace, entry, REJECT, by, {"review_sha256": review_sha256})
    if workspace.ledger.commit(replace(entry.row, status=ProposalStatus.REJECTED)) is not CommitOutcome.DONE:
        raise Refusal(ErrorCode.INVALID_PENDING_ID)


def check_review(entry: Reviewed, review_sha256: str) -> None:
    """Raises Refusal review_changed where the row is not what was reviewed."""
    if entry.review_sha256 != review_sha256:
        raise Refusal(ErrorCode.REVIEW_CHANGED)


def obstacle(state: WorkspaceState, files: WorkspaceFiles, entry: Reviewed) -> ErrorCode | None:
    """What an acceptance would fail with now; None where it would go through."""
    try:
        _check_fresh(state, files, entry.payload["context"])
    except Refusal as refusal:
        return refusal.code
    return None


def _check_fresh(state: WorkspaceState, files: WorkspaceFiles, context: dict[str, Any]) -> None:
    """Raises a Refusal that names the first thing that is no longer what the proposal was made against."""
    if context["expected_head"] != state.commit.head:
        raise Refusal(ErrorCode.STALE_HEAD)
    if context["source_manifest_sha256"] != state.commit.manifest:
        raise Refusal(ErrorCode.STALE_MANIFEST)
    for source in context["sources"]:
        path, digest = source["path"], source["sha256"]
        if state.manifest.get(path) != digest or files.digests.get(path) != digest:
            raise Refusal(ErrorCode.STALE_SOURCE)
    if files.differing(state.manifest):
        # The files that the head stands for are others than those that are there, cited or not.
        raise Refusal(ErrorCode.STALE_MANIFEST)
    if context["policy_sha256"] != files.policy:
        raise Refusal(ErrorCode.STALE_POLICY)


def _change(entry: Reviewed, note: Note) -> dict[str, Any]:
    return {
        "pending_id": entry.row.id,
        "review_sha256": entry.review_sha256,
        "path": note.path,
        "sha256": note.sha256,
    }


def _append(workspace: Workspace, entry: Reviewed, transition: str, by: str, detail: dict[str, Any]) -> None:
    workspace.ledger.append(AuditEntry(entry.row.id, transition, workspace.now(), by, canonical(detail).decode()))
