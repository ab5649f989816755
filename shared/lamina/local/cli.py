"""The command `lamina`: serve and index knowledge bases, and ask them, on one's own machine."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from lamina.actions.action import Action
from lamina.actions.registry import ACTIONS
from lamina.contract.envelope import ERROR
from lamina.contract.ports import AlreadyExists, StoreUnavailable
from lamina.contract.schema import Schema, request_schema
from lamina.index.signed import SnapshotRefused
from lamina.indexer.builds import ThreadedBuilds
from lamina.local.deployment import (
    DEFAULT_DATA,
    DEFAULT_PORT,
    TEMPLATE,
    Deployment,
    DeploymentError,
    chosen,
    remembered,
)
from lamina.local.doctor import add_doctor
from lamina.local.indexes import LocalIndexes
from lamina.local.knowledge import add_global_flags, add_knowledge_command
from lamina.local.report import add_report
from lamina.local.tables import show
from lamina.local.verify import add_receipt_commands
from lamina.runtime.dispatch import dispatch
from lamina.runtime.recorder import Caller
from lamina.runtime.settings import Settings, variable
from lamina.runtime.signing import InsecureKey
from lamina.runtime.wiring import compose, wire

_FAILED, _USAGE = 1, 2


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; the exit code is 0 for an answer, 1 for an error, 2 for a wrong command line."""
    arguments = _parser().parse_args(argv)
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", level=logging.WARNING, stream=sys.stderr)
    try:
        code: int = arguments.command(arguments)
    except (DeploymentError, InsecureKey, StoreUnavailable, AlreadyExists, SnapshotRefused) as error:
        print(f"lamina: {error}", file=sys.stderr)
        return _FAILED
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        print(f"lamina: the variable {variable(str(first['loc'][0]))}: {first['msg']}", file=sys.stderr)
        return _FAILED
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _FAILED
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="lamina", description="Progressive-disclosure retrieval over Markdown.")
    add_global_flags(parser)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, command, purpose in (
        ("serve", _serve, "build the indexes and serve the whole API on this machine"),
        ("index", _index, "build the indexes without serving"),
        ("mcp", _mcp, "serve the Model Context Protocol on standard input and output"),
    ):
        sub = commands.add_parser(name, help=purpose, description=purpose)
        sub.add_argument("baseline", nargs="?", help="folder or URL that calls without a knowledge base search")
        sub.add_argument("--allow", action="append", default=[], metavar="NAME=OVERLAY", help="an overlay to allow")
        sub.add_argument("--settings", action="append", default=[], metavar="NAME=FILE", help="settings to lay over")
        _add_data(sub)
        if name == "serve":
            sub.add_argument("--port", type=int, default=DEFAULT_PORT, help=f"0 takes a free one ({DEFAULT_PORT})")
        if name == "mcp":
            sub.add_argument("--knowledge-base", metavar="NAME", help="what calls search that name none")
            sub.add_argument("--bucket", help="serve the indexes of a deployment, from its bucket on AWS")
        sub.set_defaults(command=command)
    for action in ACTIONS.values():
        _add_action(commands, action)
    add_knowledge_command(commands)
    add_report(commands, _add_data)
    add_receipt_commands(commands)
    add_doctor(commands, _add_data)
    return parser


def _add_data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, help="folder that keeps everything (.lamina/)")


def _add_action(commands: Any, action: Action) -> None:
    """A command of an action: its main argument by position, every parameter an option."""
    sub = commands.add_parser(action.name, aliases=action.aliases, help=action.purpose, description=action.purpose)
    main = action.request.main
    if main is not None:
        sub.add_argument(main, metavar=main.upper())
    for name, schema in request_schema(action.request)["properties"].items():
        if name in (main, "input"):
            continue
        options = [f"--{name.replace('_', '-')}"]
        if name == "knowledge_base_url":
            options.insert(0, "--knowledge-base")
        text = _option_help(schema).replace("%", "%%")
        if schema.get("type") == "boolean":
            sub.add_argument(*options, dest=name, nargs="?", const="true", help=text, metavar="true|false")
        elif schema.get("type") in ("array", "object"):
            sub.add_argument(*options, dest=name, action="append", help=text, metavar=name.upper())
        else:
            sub.add_argument(*options, dest=name, help=text, metavar=name.upper())
    sub.add_argument("--format", choices=("json", "text"), default=argparse.SUPPRESS, help="json or text")
    _add_data(sub)
    sub.set_defaults(command=_ask, action=action)


def _option_help(schema: Schema) -> str:
    """What a parameter does, the values that it may take, and its default where it is more than off."""
    said = schema.get("description", "")
    if values := schema.get("enum"):
        said += f" One of: {', '.join(values)}."
    if values := schema.get("items", {}).get("enum"):
        said += f" One or more of: {', '.join(values)}; with commas, or the option again."
    default = schema.get("default")
    return said if default in (None, False, []) else f"{said} Default: {_joined(default)}."


def _ask(arguments: argparse.Namespace) -> int:
    action: Action = arguments.action
    given = {name: getattr(arguments, name, None) for name in action.request.model_fields}
    sent = {name: _joined(value) for name, value in given.items() if value is not None}
    runtime = compose(Settings.of(_deployment(arguments.data).environment()))
    reply = dispatch(action, lambda: sent, Caller(user_agent="lamina-cli", has_key=True), runtime)
    if arguments.format == "text" or (arguments.format is None and sys.stdout.isatty()):
        show(reply.envelope, Console())
    else:
        print(reply.text)
    if reply.envelope.get("error_code") == "STORE_UNAVAILABLE":
        print(f"lamina: to see what is wrong, run: lamina doctor --data {arguments.data}", file=sys.stderr)
    return _FAILED if reply.envelope["status"] == ERROR else 0


def _joined(value: Any) -> Any:
    return ",".join(value) if isinstance(value, list) else value


def _deployment(data: Path) -> Deployment:
    known = remembered(data)
    if known is None:
        raise DeploymentError(f"there is no index in {data}. Run: lamina index FOLDER --data {data}")
    return known


def _index(arguments: argparse.Namespace) -> int:
    deployment = chosen(arguments.data, arguments.baseline, arguments.allow, arguments.settings)
    _build(deployment)
    return 0


def _serve(arguments: argparse.Namespace) -> int:
    from lamina.local.gateway import Gateway
    from lamina.local.server import Server
    from lamina.local.template import routes

    deployment = chosen(arguments.data, arguments.baseline, arguments.allow, arguments.settings)
    os.environ.update(deployment.environment())
    try:
        server = Server(("127.0.0.1", arguments.port), Gateway(routes(TEMPLATE)))
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        raise DeploymentError(
            f"port {arguments.port} cannot be used: {why}. Choose another with --port (make serve PORT=N)."
        ) from error
    logging.getLogger("lamina.local").setLevel(logging.INFO)
    indexes = _build(deployment)
    wire().queue = ThreadedBuilds(indexes.builder)
    stop = threading.Event()
    watcher = threading.Thread(target=indexes.watch, args=(stop,), daemon=True)
    watcher.start()
    address = f"http://127.0.0.1:{server.port}"
    print(f"Serving {deployment.baseline} on {address}", file=sys.stderr)
    for entry in deployment.allow:
        print(f"  knowledge base {entry.partition('=')[0]}: {entry.partition('=')[2]}", file=sys.stderr)
    print(f"Try: curl '{address}/v1/catalog'   Stop: Ctrl-C", file=sys.stderr, flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with server:
        try:
            server.serve_forever()
        finally:
            stop.set()
    return 0


def _mcp(arguments: argparse.Namespace) -> int:
    from lamina.local.stdio import serve

    if arguments.bucket is not None:
        os.environ.pop("LAMINA_DATA", None)
        os.environ["LAMINA_BUCKET"] = arguments.bucket
        serve(compose(Settings.of(os.environ)), arguments.knowledge_base)
        return 0
    if arguments.baseline or arguments.allow or arguments.settings:
        deployment = chosen(arguments.data, arguments.baseline, arguments.allow, arguments.settings)
    else:
        deployment = _deployment(arguments.data)
    os.environ.update(deployment.environment())
    indexes = _build(deployment)
    stop = threading.Event()
    threading.Thread(target=indexes.watch, args=(stop,), daemon=True).start()
    runtime = compose(Settings.of(os.environ))
    runtime.queue = ThreadedBuilds(indexes.builder)
    serve(runtime, arguments.knowledge_base)
    stop.set()
    return 0


def _build(deployment: Deployment) -> LocalIndexes:
    deployment.make_folder()
    indexes = LocalIndexes.of(deployment)
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bars:

        def reporter(name: str) -> Any:
            bar = bars.add_task(f"indexing {name}", total=None)
            return lambda done, total: bars.update(bar, completed=done, total=total)

        built = indexes.build(reporter)
    deployment.save()
    for one in built:
        documents = "1 document" if one.documents == 1 else f"{one.documents} documents"
        count = "unchanged" if one.unchanged else documents
        console.print(f"{one.name}: {count}, revision {one.revision}", highlight=False)
        for skipped in one.skipped:
            console.print(f"  left out {skipped.path}: {skipped.reason}", highlight=False, markup=False)
        if one.faulty:
            files = "1 document" if one.faulty == 1 else f"{one.faulty} documents"
            console.print(f"  remarks on {files}, which lamina baseline-check lists", highlight=False)
    return indexes


if __name__ == "__main__":
    sys.exit(main())
