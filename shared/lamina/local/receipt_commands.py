"""The commands `lamina verify` and `lamina use`: check a receipt against files, record what a result was used for."""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from lamina.contract.envelope import compact
from lamina.contract.ids import sha256_hex
from lamina.local.deployment import DEFAULT_DATA, DeploymentError
from lamina.receipts.canonical import Refused, canonical, first_fault, parse
from lamina.receipts.use import Consumer, ConsumerKind, Relation, mint_use
from lamina.receipts.verify import Check, Claim, Given, Outcome, Unavailable, Verification, verify
from lamina.stores.folder import FolderStore

_FAILED = 1
_VERIFY = "check a receipt offline, and say which claims it proves"
_USE = "record what a result of a retrieval receipt was used for, as a use receipt"
_OPTIONS = {Claim.SNAPSHOT: "--snapshot", Claim.RETRIEVAL: "--retrieval", Claim.ARTIFACT: "--artifact"}


def add_receipt_commands(commands: Any) -> None:
    """Adds both commands to the parser's commands."""
    sub = commands.add_parser("verify", help=_VERIFY, description=_VERIFY)
    sub.add_argument("file", type=Path, help="a receipt, a visibility snapshot, or the answer that holds one")
    sub.add_argument("--snapshot", type=Path, metavar="FILE", help="the visibility snapshot it names")
    sub.add_argument("--retrieval", type=Path, metavar="FILE", help="the retrieval receipt that a use receipt names")
    sub.add_argument(
        "--artifact",
        type=Path,
        metavar="FILE",
        help="the raw file: of a use receipt's consumer, or of a document among a retrieval receipt's results",
    )
    sub.add_argument(
        "--data", type=Path, default=DEFAULT_DATA, help="folder in which a snapshot is looked for (.lamina/)"
    )
    sub.set_defaults(command=_verify)
    sub = commands.add_parser("use", help=_USE, description=_USE)
    sub.add_argument("file", type=Path, help="the retrieval receipt, or the answer of brief that holds it")
    sub.add_argument("--rank", type=int, required=True, help="rank of the result that was used")
    sub.add_argument("--relation", choices=[*map(str, Relation)], required=True, help="what it did")
    sub.add_argument("--kind", choices=[*map(str, ConsumerKind)], required=True, help="what used it")
    sub.add_argument("--uri", required=True, help="where what used it can be found")
    sub.add_argument("--artifact", type=Path, required=True, metavar="FILE", help="the file of what used it")
    sub.set_defaults(command=_use)


def _verify(arguments: argparse.Namespace) -> int:
    content = _read(arguments.file)
    record, shown = _unwrapped(content)
    verification = verify(
        record,
        snapshot=_snapshot(arguments.snapshot, record, arguments.data),
        retrieval=_given(arguments.retrieval),
        artifact=_raw(arguments.artifact),
        shown=shown,
    )
    if sys.stdout.isatty():
        print("\n".join(_lines(verification)))
    else:
        print(compact(verification.to_data()))
    return 0 if verification.holds else _FAILED


def _use(arguments: argparse.Namespace) -> int:
    record, _ = _unwrapped(_read(arguments.file))
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    try:
        consumer = Consumer(
            kind=ConsumerKind(arguments.kind), uri=arguments.uri, digest=sha256_hex(_read(arguments.artifact))
        )
        receipt = mint_use(parse(record), arguments.rank, Relation(arguments.relation), consumer, created_at=now)
    except ValidationError as error:
        raise DeploymentError(f"{first_fault(error)}. Give --uri as text of at most 2048 characters.") from error
    except Refused as error:
        raise DeploymentError(f"{arguments.file}: {error}. Check it with: lamina verify {arguments.file}") from error
    print(canonical(receipt).decode())
    return 0


def _lines(verification: Verification) -> list[str]:
    head = f"{verification.kind.replace('_', ' ')} {verification.digest or ''}".rstrip()
    return [head, *(_line(check) for check in verification.checks)]


def _line(check: Check) -> str:
    line = f"  {check.outcome:<12}{check.claim}"
    reason = check.reason or ""
    if check.outcome in (Outcome.NOT_CHECKED, Outcome.UNAVAILABLE) and check.claim in _OPTIONS:
        reason = f"{reason} ({_OPTIONS[check.claim]} FILE)"
    return f"{line}: {reason}" if reason else line


def _unwrapped(content: bytes) -> tuple[bytes, Any]:
    """The record in a file, and the brief that it came with, if it did: a file may hold a whole answer."""
    # What is wrong with the file is for the verification to say.
    with suppress(Refused):
        data = parse(content)
        if isinstance(data, dict) and "schema" not in data:
            if isinstance(data.get("receipt"), dict):
                return canonical(data["receipt"]), data.get("data")
            if isinstance(data.get("data"), dict) and data.get("action") == "receipts":
                return canonical(data["data"]), None
    return content, None


def _snapshot(path: Path | None, record: bytes, data: Path) -> Given:
    """The snapshot's file, or what the data folder holds under the location that the receipt names."""
    if path is not None:
        return _given(path)
    try:
        location = parse(record)["visibility_snapshot"]["location"]
        stored = FolderStore(data / "store").get(str(location))
    except (Refused, KeyError, TypeError, ValueError):
        return None
    return None if stored is None else stored.content


def _given(path: Path | None) -> Given:
    """A record's file, whole answers unwrapped."""
    raw = _raw(path)
    return _unwrapped(raw)[0] if isinstance(raw, bytes) else raw


def _raw(path: Path | None) -> Given:
    if path is None:
        return None
    try:
        return path.read_bytes()
    except OSError as error:
        return Unavailable(f"{path} cannot be read: {error.strerror}.")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DeploymentError(f"{path} cannot be read: {error.strerror}. Name the file to look at.") from error
