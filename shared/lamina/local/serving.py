"""The commands `lamina serve`, `lamina index` and `lamina mcp`: build the indexes, and answer from them."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from lamina.index.build import Progress as Reporter
from lamina.indexer.builds import ThreadedBuilds
from lamina.indexer.indexing import Built
from lamina.local.check import by_suffix
from lamina.local.deployment import (
    DEFAULT_PORT,
    TEMPLATE,
    Deployment,
    DeploymentError,
    add_data_option,
    chosen,
    existing,
)
from lamina.local.indexes import LocalIndexes
from lamina.local.readiness import Readiness
from lamina.runtime.settings import Settings
from lamina.runtime.wiring import compose, wire


def add_serving_commands(commands: Any) -> None:
    """Adds the three commands to the parser's commands."""
    serve = _add(commands, "serve", _serve, "build the indexes and serve the whole API on this machine")
    serve.add_argument("--port", type=int, default=DEFAULT_PORT, help=f"0 takes a free one ({DEFAULT_PORT})")
    _add(commands, "index", _index, "build the indexes without serving")
    mcp = _add(commands, "mcp", _mcp, "serve the Model Context Protocol on standard input and output")
    mcp.add_argument("--knowledge-base", metavar="NAME", help="what calls search that name none")
    mcp.add_argument("--bucket", help="serve the indexes of a deployment, from its bucket on AWS")


def _add(commands: Any, name: str, command: Any, purpose: str) -> argparse.ArgumentParser:
    """A command over a baseline and its overlays."""
    sub: argparse.ArgumentParser = commands.add_parser(name, help=purpose, description=purpose)
    sub.add_argument("baseline", nargs="?", help="folder or URL that calls without a knowledge base search")
    sub.add_argument("--allow", action="append", default=[], metavar="NAME=OVERLAY", help="an overlay to allow")
    sub.add_argument("--settings", action="append", default=[], metavar="NAME=FILE", help="settings to lay over")
    sub.add_argument("--encoder", metavar="NAME", help="what finds pages in other words (auto)")
    add_data_option(sub)
    sub.set_defaults(command=command)
    return sub


def _serve(arguments: argparse.Namespace) -> int:
    from lamina.local.gateway import Gateway
    from lamina.local.server import Server
    from lamina.local.template import routes

    deployment = _chosen(arguments)
    os.environ.update(deployment.environment())
    try:
        server = Server(("127.0.0.1", arguments.port), Gateway(routes(TEMPLATE)))
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        raise DeploymentError(
            f"port {arguments.port} cannot be used: {why}. Choose another with --port (make serve PORT=N)."
        ) from error
    logging.getLogger("lamina.local").setLevel(logging.INFO)
    with server:
        indexes = _build(deployment, by_words=True)
        wire().queue = ThreadedBuilds(indexes.builder)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        with _watched(indexes):
            _say_where(deployment, f"http://127.0.0.1:{server.port}")
            server.serve_forever()
    return 0


def _say_where(deployment: Deployment, address: str) -> None:
    print(f"Serving {deployment.baseline} on {address}", file=sys.stderr)
    for entry in deployment.allow:
        print(f"  knowledge base {entry.partition('=')[0]}: {entry.partition('=')[2]}", file=sys.stderr)
    print(f"Try: curl '{address}/v1/catalog'   Stop: Ctrl-C", file=sys.stderr, flush=True)


def _index(arguments: argparse.Namespace) -> int:
    _build(_chosen(arguments))
    return 0


def _mcp(arguments: argparse.Namespace) -> int:
    from lamina.local.stdio import serve

    if arguments.bucket is not None:
        os.environ.pop("LAMINA_DATA", None)
        os.environ["LAMINA_BUCKET"] = arguments.bucket
        serve(compose(Settings.of(os.environ)), arguments.knowledge_base)
        return 0
    is_new = arguments.baseline or arguments.allow or arguments.settings or arguments.encoder
    deployment = _chosen(arguments) if is_new else existing(arguments.data)
    os.environ.update(deployment.environment())
    deployment.make_folder()
    deployment.save()
    indexes, readiness, stop = LocalIndexes.of(deployment), Readiness(), threading.Event()
    threading.Thread(target=_build_and_watch, args=(indexes, readiness, stop), daemon=True).start()
    runtime = compose(Settings.of(os.environ))
    runtime.queue = ThreadedBuilds(indexes.builder)
    serve(runtime, arguments.knowledge_base, readiness)
    stop.set()
    return 0


def _build_and_watch(indexes: LocalIndexes, readiness: Readiness, stop: threading.Event) -> None:
    """Builds while the client is answered already. A build that fails is told, and tried again by those who watch."""
    try:
        for index in indexes.build(readiness.reporter, by_words=True):
            _show_built(index, Console(stderr=True))
    except DeploymentError as error:
        print(f"lamina: {error}", file=sys.stderr)
    finally:
        readiness.built()
    indexes.watch(stop)


def _chosen(arguments: argparse.Namespace) -> Deployment:
    return chosen(arguments.data, arguments.baseline, arguments.allow, arguments.settings, arguments.encoder)


@contextmanager
def _watched(indexes: LocalIndexes) -> Iterator[None]:
    """Has what changes indexed again meanwhile."""
    stop = threading.Event()
    threading.Thread(target=indexes.watch, args=(stop,), daemon=True).start()
    try:
        yield
    finally:
        stop.set()


def _build(deployment: Deployment, *, by_words: bool = False) -> LocalIndexes:
    """Brings the indexes of a deployment up to date, with progress, and remembers it.

    `by_words` leaves vectors that take long to those who watch.
    """
    deployment.make_folder()
    indexes = LocalIndexes.of(deployment)
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bars:

        def reporter(name: str) -> Reporter:
            # A bar appears when there is something to tell: most builds encode nothing.
            bar = bars.add_task(f"indexing {name}", total=None, visible=False)
            return lambda done, total: bars.update(bar, completed=done, total=total, visible=True)

        built = indexes.build(reporter, by_words=by_words)
    deployment.save()
    for index in built:
        _show_built(index, console)
    return indexes


def _show_built(index: Built, console: Console) -> None:
    count = "unchanged" if index.unchanged else _counted(index.documents)
    console.print(f"{index.name}: {count}, revision {index.revision}", highlight=False)
    if index.meaning == "following":
        console.print("  searched by words, and by meaning too once its pages are encoded", highlight=False)
    for skipped in index.skipped:
        console.print(f"  left out {skipped.path}: {skipped.reason}", highlight=False, markup=False)
    if index.unread:
        console.print(f"  not read, for they are no Markdown: {by_suffix(index.unread)}", highlight=False)
    if said := ", ".join(f"{count} {level}{'s' * (count > 1)}" for level, count in index.remarks.items() if count):
        console.print(f"  {said}: see lamina check", highlight=False)


def _counted(documents: int | None) -> str:
    return "1 document" if documents == 1 else f"{documents} documents"
