"""The legal changes of a proposal's state: queued, reviewed, then accepted or rejected once, by an operator."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, replace
from typing import Any

from lamina.contract.ids import sha256_hex
from lamina.contract.ports import (
    AuditEntry,
    Commit,
    Proposal,
    ProposalDraft,
    ProposalStatus,
    StoreUnavailable,
    TooManyWaiting,
)
from lamina.knowledge.note import Note, note_of
from lamina.knowledge.protocol import ErrorCode, Propose, Refusal, canonical
from lamina.knowledge.workspace import Standing, Workspace, WorkspaceFiles, next_seal

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


def accept(workspace: Workspace, standing: Standing, one: Reviewed, review_sha256: str, by: str) -> Proposal:
    """Publishes a pending note, after every check. The row returned is the accepted one.

    Writes in this order: the note's bytes, the manifest, the audit entry, then in one commit row, head and
    manifest digest, then the file. Raises Refusal stale_head, stale_manifest, stale_source, stale_policy,
    review_changed, source_drift, invalid_pending_id; nothing is published then.
    """
    _check_fresh(standing, workspace.files(), one.payload["context"])
    check_review(one, review_sha256)
    note = note_of(one.payload, review_sha256)
    workspace.keep_note(note)
    manifest = {**standing.manifest, note.path: note.sha256}
    digest = workspace.keep_manifest(manifest)
    change = _change(one, note)
    seal = next_seal(standing.seal.workspace, standing.seal, digest, change, publishing=note.path)
    _append(workspace, one, ACCEPT, by, {**change, "head": seal.head, "manifest": digest})
    decided = replace(one.row, status=ProposalStatus.ACCEPTED, path=note.path, head=seal.head)
    outcome = workspace.ledger.commit(decided, seal=seal, over=standing.seal.head)
    if outcome is Commit.HEAD_MOVED:
        raise Refusal(ErrorCode.STALE_HEAD)
    if outcome is Commit.ROW_CHANGED:
        raise Refusal(ErrorCode.INVALID_PENDING_ID)
    try:
        workspace.publish(Standing(seal, manifest))
    except StoreUnavailable:
        # The commit stands, so the answer is not a failure; the next request on the workspace publishes.
        logger.warning("an accepted note is not published yet")
    return decided


def reject(workspace: Workspace, one: Reviewed, review_sha256: str, by: str) -> None:
    """Discards a pending note; its payload and all that was audited stay.

    Raises Refusal review_changed, invalid_pending_id.
    """
    check_review(one, review_sha256)
    _append(workspace, one, REJECT, by, {"review_sha256": review_sha256})
    if workspace.ledger.commit(replace(one.row, status=ProposalStatus.REJECTED)) is not Commit.DONE:
        raise Refusal(ErrorCode.INVALID_PENDING_ID)


def check_review(one: Reviewed, review_sha256: str) -> None:
    """Raises Refusal review_changed where the row is not what was reviewed."""
    if one.review_sha256 != review_sha256:
        raise Refusal(ErrorCode.REVIEW_CHANGED)


def obstacle(standing: Standing, files: WorkspaceFiles, one: Reviewed) -> ErrorCode | None:
    """What an acceptance would fail with now; None where it would go through."""
    try:
        _check_fresh(standing, files, one.payload["context"])
    except Refusal as refusal:
        return refusal.code
    return None


def _check_fresh(standing: Standing, files: WorkspaceFiles, context: dict[str, Any]) -> None:
    """Raises a Refusal that names the first thing that is no longer what the proposal was made against."""
    if context["expected_head"] != standing.seal.head:
        raise Refusal(ErrorCode.STALE_HEAD)
    if context["source_manifest_sha256"] != standing.seal.manifest:
        raise Refusal(ErrorCode.STALE_MANIFEST)
    for source in context["sources"]:
        path, digest = source["path"], source["sha256"]
        if standing.manifest.get(path) != digest or files.digests.get(path) != digest:
            raise Refusal(ErrorCode.STALE_SOURCE)
    if files.differing(standing.manifest):
        # The files that the head stands for are others than those that are there, cited or not.
        raise Refusal(ErrorCode.STALE_MANIFEST)
    if context["policy_sha256"] != files.policy:
        raise Refusal(ErrorCode.STALE_POLICY)


def _change(one: Reviewed, note: Note) -> dict[str, Any]:
    return {
        "pending_id": one.row.id,
        "review_sha256": one.review_sha256,
        "path": note.path,
        "sha256": note.sha256,
    }


def _append(workspace: Workspace, one: Reviewed, transition: str, by: str, detail: dict[str, Any]) -> None:
    workspace.ledger.append(AuditEntry(one.row.id, transition, workspace.now(), by, canonical(detail).decode()))
