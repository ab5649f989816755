"""The command `lamina knowledge`: the contract for process clients, and the queue for the person who decides."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lamina.contract.errors import LaminaError
from lamina.contract.ports import SourceUnavailable
from lamina.knowledge.protocol import (
    HIGHEST_BUDGET,
    LOCAL_OWNER,
    MAX_REQUEST_BYTES,
    REQUEST_SCHEMA,
    ErrorCode,
    Refusal,
    Response,
    encoded,
)
from lamina.knowledge.service import Authority, KnowledgeCaller, KnowledgeService
from lamina.knowledge.workspace import WorkspaceState
from lamina.local.deployment import DeploymentError
from lamina.local.knowledge_view import decided_text, pending_text, safe, shown_text, shown_value
from lamina.runtime.event import parse_json
from lamina.runtime.knowledge_wiring import ROOT_VARIABLE, TABLE_VARIABLE, open_service
from lamina.runtime.settings import Settings
from lamina.sources.address import AddressError

_OPERATOR = KnowledgeCaller(Authority.OPERATOR)
_FAILED, _UNREADABLE = 1, 2
_DESCRIBE = {"schema": REQUEST_SCHEMA, "operation": {"op": "describe"}}

_MEANINGS: dict[ErrorCode, str] = {
    ErrorCode.BASELINE_REQUIRED: "The workspace is not initialised. Run: lamina knowledge init",
    ErrorCode.INVALID_PENDING_ID: "No such proposal, or another operator has just decided it. "
    "Run: lamina knowledge pending",
    ErrorCode.INVALID_INPUT: "The proposal has been decided the other way already.",
    ErrorCode.REVIEW_CHANGED: "The proposal is not what was reviewed.",
    ErrorCode.STALE_HEAD: "The workspace has changed since: another note was accepted, or the files sealed again. "
    "Ask for the proposal anew.",
    ErrorCode.STALE_MANIFEST: "Files of the workspace are no longer what was sealed. "
    "See them with: lamina knowledge seal",
    ErrorCode.STALE_SOURCE: "A cited source is no longer what it was. Ask for the proposal anew.",
    ErrorCode.STALE_POLICY: "The settings of the workspace have changed since. Ask for the proposal anew.",
    ErrorCode.SOURCE_DRIFT: "Another file stands where the note would go.",
    ErrorCode.UNAVAILABLE: "The workspace cannot be read or written just now.",
}


def add_global_flags(parser: argparse.ArgumentParser) -> None:
    """The flags that process clients put before the command."""
    parser.add_argument("--no-input", action="store_true", help="never ask")
    parser.add_argument("--format", choices=("json", "text"), help="json, or text for people (default on a terminal)")
    parser.add_argument("--no-freshness", action="store_true", help="accepted for other clients; has no effect")


def add_knowledge_commands(commands: Any) -> None:
    """Adds `knowledge` and its own commands to the parser's commands."""
    purpose = "cite, propose, review and accept knowledge; without a command, the contract for process clients"
    knowledge = commands.add_parser("knowledge", help=purpose, description=purpose)
    knowledge.add_argument(
        "--request", metavar="FILE", help="a request as JSON, - for standard input (default: describe)"
    )
    _add_common(knowledge)
    knowledge.set_defaults(command=_request)
    below = knowledge.add_subparsers(metavar="COMMAND", required=False)
    for name, command, help_text, takes_id in (
        ("init", _init, "give the folder its identity and seal its files", False),
        ("seal", _seal, "seal the files as they are now, after changing them by hand", False),
        ("pending", _pending, "list the proposals that wait", False),
        ("show", _show, "show a proposal beside the sources that it cites", True),
        ("accept", _accept, "publish a proposal as a note", True),
        ("reject", _reject, "discard a proposal", True),
        ("audit", _audit, "list every decision", False),
    ):
        sub = below.add_parser(name, help=help_text, description=help_text)
        if takes_id:
            sub.add_argument("id", type=int, metavar="ID")
        if name in ("accept", "reject", "seal"):
            sub.add_argument("--yes", action="store_true", help="do not ask")
        _add_common(sub)
        sub.set_defaults(command=command)


def _add_common(parser: argparse.ArgumentParser) -> None:
    """Flags that may stand before or after a command; the last one given counts."""
    absent: Any = argparse.SUPPRESS
    parser.add_argument("--root", default=absent, metavar="DIR", help="the workspace (default: this folder)")
    parser.add_argument("--table", default=absent, help="DynamoDB table of a workspace on AWS")
    parser.add_argument("--no-input", action="store_true", default=absent, help="never ask")
    parser.add_argument("--format", choices=("json", "text"), default=absent, help="json or text")
    parser.add_argument("--no-freshness", action="store_true", default=absent, help="has no effect")


def _service(arguments: argparse.Namespace) -> KnowledgeService:
    root = getattr(arguments, "root", None) or os.environ.get(ROOT_VARIABLE) or str(Path.cwd())
    table = getattr(arguments, "table", None) or os.environ.get(TABLE_VARIABLE)
    settings = Settings.of(os.environ)
    try:
        return open_service(root, settings, table)
    except (AddressError, ValueError) as error:
        raise DeploymentError(f"{root} is no workspace: {error}") from error


def _request(arguments: argparse.Namespace) -> int:
    """One request of the contract. A formed response exits 0, whatever it says."""
    value: Any = _DESCRIBE
    if arguments.request is not None:
        try:
            content = _read(arguments.request)
        except OSError as error:
            print(f"lamina: the request cannot be read: {error.strerror}", file=sys.stderr)
            return _UNREADABLE
        if len(content) > MAX_REQUEST_BYTES:
            return _print_response(Response(code=ErrorCode.INVALID_INPUT))
        try:
            value = parse_json(content)
        except LaminaError as error:
            print(f"lamina: {error.message}", file=sys.stderr)
            return _UNREADABLE
    return _print_response(_service(arguments).answer(value, _OPERATOR))


def _read(name: str) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read(MAX_REQUEST_BYTES + 1)
    with Path(name).open("rb") as file:
        return file.read(MAX_REQUEST_BYTES + 1)


def _print_response(response: Response) -> int:
    # The contract is UTF-8, whatever the terminal's encoding.
    sys.stdout.buffer.write(response.text().encode() + b"\n")
    sys.stdout.buffer.flush()
    return 0


def _init(arguments: argparse.Namespace) -> int:
    service = _service(arguments)
    workspace = service.workspace
    with _told():
        state, done = workspace.initialise(_OPERATOR.name)
        service.prepare()
    value = {**_state_value(state, workspace.root), "initialised": done}
    said = "Initialised" if done else "Already initialised:"
    _print(arguments, value, f"{said} {workspace.root}\n{_state_text(state)}")
    return 0


def _seal(arguments: argparse.Namespace) -> int:
    service = _service(arguments)
    workspace = service.workspace
    with _told():
        state, files = workspace.state(), workspace.files()
    if state is None:
        return _refused(arguments, ErrorCode.BASELINE_REQUIRED)
    changed, added = files.differing(state.manifest), files.uncommitted(state.manifest)
    value: dict[str, Any] = {"changed_or_gone": changed, "added": added, "sealed": False}
    if not changed and not added:
        value |= _state_value(state, workspace.root)
        _print(arguments, value, "Nothing has changed since the last seal.")
        return 0
    listed = [*(f"  changed or gone: {safe(path)}" for path in changed), *(f"  added: {safe(path)}" for path in added)]
    if not _agreed(arguments, "\n".join([*listed, "Seal the files as they are now?"])):
        return _undecided()
    with _told():
        state, done = workspace.commit_again(state, files, _OPERATOR.name)
        service.prepare()
    if not done:
        return _refused(arguments, ErrorCode.STALE_HEAD)
    value = {**value, "sealed": True, **_state_value(state, workspace.root)}
    _print(arguments, value, f"Sealed {len(state.manifest)} files.\n{_state_text(state)}")
    return 0


def _pending(arguments: argparse.Namespace) -> int:
    with _told():
        rows = list(_service(arguments).workspace.ledger.waiting())
    value = [
        {"pending_id": row.id, "title": json.loads(row.payload)["capture"]["title"], "proposed_at": row.proposed_at}
        for row in rows
    ]
    _print(arguments, {"pending": value}, pending_text(rows))
    return 0


def _show(arguments: argparse.Namespace) -> int:
    service = _service(arguments)
    with _told():
        found = service.examine(arguments.id)
    _print(arguments, shown_value(found), shown_text(found))
    return 0


def _accept(arguments: argparse.Namespace) -> int:
    return _decide(arguments, "accept")


def _reject(arguments: argparse.Namespace) -> int:
    return _decide(arguments, "reject")


def _decide(arguments: argparse.Namespace, op: str) -> int:
    """Decides exactly what was shown: the digest sent is that of the proposal on the screen."""
    service = _service(arguments)
    with _told():
        found = service.examine(arguments.id)
    question = f"{shown_text(found)}\n{op.capitalize()} proposal {arguments.id}?"
    if not _agreed(arguments, question):
        return _undecided()
    state = service.workspace.ledger.latest_commit()
    request = {
        "schema": REQUEST_SCHEMA,
        "scope": {
            "root": service.workspace.root,
            "knowledge_workspace": None if state is None else state.workspace,
            "authority": LOCAL_OWNER,
            "facts": [],
        },
        "budget": {"max_output_bytes": HIGHEST_BUDGET, "max_latency_ms": HIGHEST_BUDGET},
        "operation": {"op": op, "pending_id": arguments.id, "review_sha256": found.reviewed.review_sha256},
    }
    response = service.answer(request, _OPERATOR)
    if response.result is None:
        return _refused(arguments, response.code or ErrorCode.INTERNAL_ERROR)
    _print(arguments, response.result, decided_text(response.result))
    return 0


def _audit(arguments: argparse.Namespace) -> int:
    with _told():
        entries = list(_service(arguments).workspace.ledger.audit())
    value = [
        {
            "pending_id": entry.pending_id or None,
            "transition": entry.transition,
            "at": entry.at,
            "by": entry.by,
            "detail": json.loads(entry.detail),
        }
        for entry in entries
    ]
    lines = [
        f"{entry.at}  {entry.transition.partition('-')[0]:7} {entry.pending_id or '':5}  {safe(entry.by)}"
        for entry in entries
    ]
    _print(arguments, {"audit": value}, "\n".join(lines) or "Nothing has been decided.")
    return 0


@contextmanager
def _told() -> Iterator[None]:
    """Turns what the workspace refuses into a message of the command line."""
    try:
        yield
    except SourceUnavailable as error:
        raise DeploymentError(f"{error.reason}. Name the workspace with --root.") from error
    except Refusal as refusal:
        raise DeploymentError(f"{refusal.code}: {_MEANINGS.get(refusal.code, '')}") from refusal


def _refused(arguments: argparse.Namespace, code: ErrorCode) -> int:
    print(f"lamina: {code}: {_MEANINGS.get(code, '')}", file=sys.stderr)
    if _wants_json(arguments):
        print(Response(code=code).text())
    return _FAILED


def _undecided() -> int:
    print("Nothing was done. Use --yes where nobody can be asked.", file=sys.stderr)
    return _FAILED


def _agreed(arguments: argparse.Namespace, question: str) -> bool:
    """Asks once, on standard error, so that what a command prints stays its answer."""
    if arguments.no_input or arguments.yes:
        return True
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _wants_json(arguments: argparse.Namespace) -> bool:
    given = arguments.format
    return given == "json" or (given is None and not sys.stdout.isatty())


def _print(arguments: argparse.Namespace, value: dict[str, Any], text: str) -> None:
    print(encoded(value) if _wants_json(arguments) else text)


def _state_value(state: WorkspaceState, root: str) -> dict[str, Any]:
    commit = state.commit
    return {
        "root": root,
        "knowledge_workspace": commit.workspace,
        "head": commit.head,
        "source_manifest_sha256": commit.manifest,
        "files": len(state.manifest),
    }


def _state_text(state: WorkspaceState) -> str:
    commit = state.commit
    return f"  workspace  {commit.workspace}\n  head       {commit.head}\n  files      {len(state.manifest)}"
