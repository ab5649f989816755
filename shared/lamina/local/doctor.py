"""The command `lamina doctor`: whether this machine can index and serve, and what to do where it cannot."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import shutil
import socket
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from http.client import HTTPConnection, HTTPException
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from lamina.actions.corpus_check import corpus_check
from lamina.contract.filters import DEFAULT_INCLUDE, KINDS
from lamina.contract.ids import sha256_hex
from lamina.contract.ports import StoreUnavailable
from lamina.corpus.remarks import Level
from lamina.index.signed import SnapshotRefused, verify
from lamina.index.snapshot import Origin, Snapshot
from lamina.local.deployment import DEFAULT_PORT, TEMPLATE, Deployment, DeploymentError, add_data_option, remembered
from lamina.local.template import routes
from lamina.runtime.catalogue import index_name, pointer_key, read_pointer
from lamina.runtime.settings import Settings
from lamina.runtime.signing import InsecureKey, local_key
from lamina.runtime.wiring import object_store
from lamina.sources.address import Address, AddressError, FolderAddress, GitHubAddress

_OLDEST_PYTHON: Final = (3, 11)
_PURPOSE = "check this machine, its data folder and its sources, and say what to do about what is wrong"
_MOST_FOLDERS: Final = 4
_MAKE_ENV = "Run make env in the checkout, and the lamina in its .venv/bin."
# What only some tasks need: the command, where a checkout may hold it, and the task.
_OPTIONAL_TOOLS: Final = (
    ("sam", ".venv-sam/bin/sam", "make deploy and make lint"),
    ("node", None, "the tests of other MCP clients"),
)


class Outcome(StrEnum):
    """What a check came to; a note asks for nothing now."""

    OK = "ok"
    NOTE = "note"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the examination. `remedy` says what to do, always where the outcome is `failed`."""

    check: str
    outcome: Outcome
    detail: str
    remedy: str = ""


def add_doctor(commands: Any) -> None:
    """Adds the command to the parser's commands."""
    sub = commands.add_parser("doctor", help=_PURPOSE, description=_PURPOSE)
    sub.add_argument("--port", type=int, default=DEFAULT_PORT, help=f"the port to look at ({DEFAULT_PORT})")
    sub.add_argument("--format", choices=("json", "text"), default=argparse.SUPPRESS, help="json or text")
    add_data_option(sub)
    sub.set_defaults(command=doctor)


def doctor(arguments: argparse.Namespace) -> int:
    """Examines and shows; 1 where something failed."""
    findings = examined(arguments.data, arguments.port, os.environ)
    whole = all(finding.outcome != Outcome.FAILED for finding in findings)
    if arguments.format == "text" or (arguments.format is None and sys.stdout.isatty()):
        show(findings, Console())
    else:
        print(json.dumps({"ok": whole, "checks": [asdict(finding) for finding in findings]}, ensure_ascii=False))
    return 0 if whole else 1


def show(findings: Sequence[Finding], console: Console) -> None:
    """Prints a table, and what to do below each line that asks for something."""
    styles = {Outcome.OK: "green", Outcome.NOTE: "yellow", Outcome.FAILED: "bold red"}
    table = Table(show_header=False, box=None, pad_edge=False)
    for finding in findings:
        text = Text(finding.detail)
        if finding.remedy:
            text.append(f"\n{finding.remedy}", style="dim" if finding.outcome == Outcome.NOTE else "bold")
        table.add_row(Text(finding.outcome, style=styles[finding.outcome]), Text(finding.check), text)
    console.print(table)


def examined(data: Path, port: int, environment: Mapping[str, str]) -> list[Finding]:
    """Every check in turn. Nothing is made or changed, and nothing beyond this machine is asked."""
    findings = [
        python_version(sys.version_info[:2]),
        dependencies(metadata.requires("lamina") or ()),
        template(TEMPLATE),
        data_folder(data),
        signing_key(data),
        free_port(port),
    ]
    try:
        deployment = remembered(data)
    except DeploymentError as error:
        findings.append(Finding("deployment", Outcome.FAILED, f"{data} cannot be used", str(error)))
    else:
        findings += [] if deployment is None else _deployment(deployment, environment)
        if deployment is None:
            findings.append(Finding("index", Outcome.NOTE, f"none in {data} yet", "Run: lamina index FOLDER"))
    return [*findings, *tools()]


def python_version(running: tuple[int, ...]) -> Finding:
    """Whether Python is new enough; `running` is its major and minor version."""
    said = ".".join(map(str, running))
    if running < _OLDEST_PYTHON:
        oldest = ".".join(map(str, _OLDEST_PYTHON))
        remedy = f"Install Python {oldest} or newer and run: make clean env PYTHON=/path/to/python{oldest}"
        return Finding("python", Outcome.FAILED, f"{said} is too old", remedy)
    return Finding("python", Outcome.OK, f"{said} at {sys.executable}")


def dependencies(requirements: Sequence[str]) -> Finding:
    """Whether each required distribution is installed and its modules can be imported."""
    modules: dict[str, list[str]] = {}
    for module, distributions in metadata.packages_distributions().items():
        for distribution in distributions:
            modules.setdefault(_normalised(distribution), []).append(module)
    needed = (requirement for requirement in requirements if "extra ==" not in requirement)
    wanted = [re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0] for requirement in needed]
    broken = []
    for name in wanted:
        imported = modules.get(_normalised(name), ())
        public = [module for module in imported if module.isidentifier() and not module.startswith("_")]
        if not public or not all(map(_imports, public)):
            broken.append(name)
    if broken:
        return Finding("dependencies", Outcome.FAILED, f"cannot be imported: {', '.join(broken)}", _MAKE_ENV)
    return Finding("dependencies", Outcome.OK, f"{len(wanted)} can be imported")


def template(path: Path) -> Finding:
    """Whether the template that `lamina serve` reads its routes from is there, with the handlers it names."""
    remedy = "Run lamina from a whole checkout of the repository."
    if not path.is_file():
        return Finding("template", Outcome.FAILED, f"{path} is not there", remedy)
    files = {route.code / f"{route.handler.rpartition('.')[0]}.py" for route in routes(path)}
    missing = sorted(str(file) for file in files if not file.is_file())
    if missing:
        return Finding("template", Outcome.FAILED, f"handlers are missing: {', '.join(missing)}", remedy)
    return Finding("template", Outcome.OK, f"{path}, {len(files)} functions")


def data_folder(data: Path) -> Finding:
    """Whether the folder that keeps everything can be written, and by nobody but its owner and group."""
    name = "data folder"
    if not data.exists():
        parent = next(folder for folder in data.absolute().parents if folder.exists())
        if parent.is_dir() and os.access(parent, os.W_OK | os.X_OK):
            return Finding(name, Outcome.NOTE, f"{data} is made by the first lamina serve or lamina index")
        remedy = "Choose another folder with --data."
        return Finding(name, Outcome.FAILED, f"{data} cannot be made: {parent} cannot be written", remedy)
    if not data.is_dir():
        return Finding(name, Outcome.FAILED, f"{data} is a file", "Choose a folder with --data.")
    if not os.access(data, os.R_OK | os.W_OK | os.X_OK):
        remedy = f"Run: chmod u+rwx {data}, or choose another folder with --data."
        return Finding(name, Outcome.FAILED, f"{data} cannot be written", remedy)
    if data.stat().st_mode & 0o002:
        return Finding(name, Outcome.FAILED, f"anybody may write to {data}", f"Run: chmod o-w {data}")
    return Finding(name, Outcome.OK, f"{data} can be written")


def signing_key(data: Path) -> Finding:
    """Whether the key that indexes are signed with is whole and its owner's alone."""
    path = data / "signing.key"
    if not path.is_file():
        return Finding("signing key", Outcome.NOTE, f"{path} is made with the first index")
    try:
        local_key(path)
    except InsecureKey as error:
        detail, _, remedy = str(error).partition(". ")
        return Finding("signing key", Outcome.FAILED, detail, remedy)
    except OSError as error:
        return Finding("signing key", Outcome.FAILED, f"{path}: {error.strerror}", f"Run: chmod u+r {path}")
    return Finding("signing key", Outcome.OK, f"{path}, readable by its owner alone")


def free_port(port: int) -> Finding:
    """Whether `lamina serve` could listen, or does already."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except (OSError, OverflowError) as error:
            if _is_lamina(port):
                return Finding("port", Outcome.OK, f"a lamina serves on {port}")
            why = getattr(error, "strerror", None) or str(error)
            return Finding("port", Outcome.FAILED, f"{port}: {why}", "Choose another: lamina serve --port N")
    return Finding("port", Outcome.OK, f"{port} is free")


def tools() -> list[Finding]:
    """The commands that only some tasks need."""
    findings = []
    for command, in_checkout, task in _OPTIONAL_TOOLS:
        found = shutil.which(command)
        if found is None and in_checkout is not None and (TEMPLATE.parent / in_checkout).is_file():
            found = str(TEMPLATE.parent / in_checkout)
        if found:
            findings.append(Finding(command, Outcome.OK, found))
        else:
            findings.append(Finding(command, Outcome.NOTE, f"not found; only {task} need it"))
    return findings


def _deployment(deployment: Deployment, environment: Mapping[str, str]) -> Iterator[Finding]:
    """The sources and the indexes of what the data folder was made for."""
    try:
        overlays = deployment.allow_list()
        addresses: dict[str | None, Address] = {None: deployment.address()}
        addresses |= {overlay.name: overlay.address for overlay in overlays.named}
    except AddressError as error:
        yield Finding("deployment", Outcome.FAILED, str(error), "Run lamina index again with an address that fits.")
        return
    for name, address in addresses.items():
        yield _source(name or "baseline", address)
    if overlays.owners or any(isinstance(address, GitHubAddress) for address in addresses.values()):
        yield _github_token(environment)
    for name in addresses:
        yield from _index(deployment, name)


def _source(name: str, address: Address) -> Finding:
    check = f"source {name}"
    if not isinstance(address, FolderAddress):
        return Finding(check, Outcome.NOTE, f"{address.url} is asked when it is indexed")
    if not address.path.is_dir():
        remedy = "Put the folder back, or run lamina index with where it is now."
        return Finding(check, Outcome.FAILED, f"there is no folder {address.path}", remedy)
    if not os.access(address.path, os.R_OK | os.X_OK):
        return Finding(check, Outcome.FAILED, f"{address.path} cannot be read", f"Run: chmod u+rx {address.path}")
    return Finding(check, Outcome.OK, str(address.path))


def _github_token(environment: Mapping[str, str]) -> Finding:
    if environment.get("GITHUB_TOKEN"):
        return Finding("GITHUB_TOKEN", Outcome.OK, "is set")
    remedy = "Set GITHUB_TOKEN for private repositories, and for more than 60 calls an hour."
    return Finding("GITHUB_TOKEN", Outcome.NOTE, "is not set: GitHub is asked as a stranger", remedy)


def _index(deployment: Deployment, knowledge_base: str | None) -> Iterator[Finding]:
    """Whether the newest snapshot of an index is there and verifies, and what is lost of its documents."""
    name = knowledge_base or "baseline"
    check, key = f"index {name}", deployment.data / "signing.key"
    remedy = "Run: lamina index --data " + str(deployment.data)
    store = object_store(Settings.of(deployment.environment()))
    try:
        if store.get(pointer_key(index_name(knowledge_base))) is None:
            yield Finding(check, Outcome.FAILED, "is not built", remedy)
            return
        if not key.is_file():
            yield Finding(check, Outcome.FAILED, "cannot be verified: signing.key is missing", remedy)
            return
        pointer, _ = read_pointer(store, index_name(knowledge_base), lambda: local_key(key))
        if pointer is None:
            told = "is refused: its pointer is damaged, or its signature does not verify"
            yield Finding(check, Outcome.FAILED, told, remedy)
            return
        stored = store.get(pointer.key)
        if stored is None:
            yield Finding(check, Outcome.FAILED, "is not built", remedy)
            return
        if sha256_hex(stored.content) != pointer.sha256:
            yield Finding(check, Outcome.FAILED, "differs from its pointer", remedy)
            return
        manifest, content = verify(stored.content, local_key(key), kind="snapshot")
        snapshot = Snapshot.from_data(content)
    except (StoreUnavailable, SnapshotRefused, InsecureKey, OSError) as error:
        yield Finding(check, Outcome.FAILED, f"is refused: {error}", remedy)
        return
    yield Finding(check, Outcome.OK, f"verifies, revision {manifest.revision}")
    yield _documents(name, snapshot, deployment.data)
    yield _kinds(name, snapshot)


def _documents(name: str, snapshot: Snapshot, data: Path) -> Finding:
    """Whether every document of an index can be read, and reached under its own URI."""
    errors = [remark for remark in corpus_check(snapshot) if remark.level == Level.ERROR]
    if not errors:
        return Finding(f"documents {name}", Outcome.OK, "none is lost, unreadable or under the URI of another")
    first = f"{errors[0].path}: {errors[0].reason}"
    more = f", and {len(errors) - 1} more" if len(errors) > 1 else ""
    return Finding(f"documents {name}", Outcome.FAILED, first + more, f"Run: lamina check --data {data}")


def _kinds(name: str, snapshot: Snapshot) -> Finding:
    """Which folders fall in which kind: what a search without `include` passes over is often a surprise."""
    folders: dict[str, Counter[str]] = {}
    for number, path in enumerate(snapshot.paths):
        if snapshot.origin[number] != Origin.BUNDLED:
            folder = path.rpartition("/")[0].partition("/")[0] or "."
            folders.setdefault(str(snapshot.kind[number]), Counter())[folder] += 1
    told = (
        f"{kind}: {', '.join(f'{folder} ({count})' for folder, count in folders[kind].most_common(_MOST_FOLDERS))}"
        for kind in KINDS
        if kind in folders
    )
    unasked = " and ".join(kind for kind in KINDS if kind not in DEFAULT_INCLUDE)
    return Finding(f"kinds {name}", Outcome.OK, f"{'; '.join(told)}; {unasked} are found only when asked for")


def _is_lamina(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().getheader("Server", "").startswith("lamina")
    except (OSError, OverflowError, HTTPException):
        return False
    finally:
        connection.close()


def _imports(module: str) -> bool:
    try:
        importlib.import_module(module)
    except (ImportError, OSError):
        return False
    return True


def _normalised(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution).lower()
