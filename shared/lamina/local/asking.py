"""A command for each action: options from its request, its answer as a table for a person and as JSON for a pipe."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from rich.console import Console

from lamina.actions.action import Action
from lamina.actions.registry import ACTIONS
from lamina.contract.envelope import ERROR
from lamina.contract.schema import Schema, request_schema
from lamina.local.deployment import add_data_option, existing
from lamina.local.tables import show
from lamina.runtime.dispatch import dispatch
from lamina.runtime.recorder import Caller
from lamina.runtime.settings import Settings
from lamina.runtime.wiring import compose


def add_action_commands(commands: Any) -> None:
    """Adds a command for every action of the registry."""
    for action in ACTIONS.values():
        _add_action(commands, action)


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
    add_data_option(sub)
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
    runtime = compose(Settings.of(existing(arguments.data).environment()))
    reply = dispatch(action, lambda: sent, Caller(user_agent="lamina-cli", has_key=True), runtime)
    if arguments.format == "text" or (arguments.format is None and sys.stdout.isatty()):
        show(reply.envelope, Console())
    else:
        print(reply.text)
    if reply.envelope.get("error_code") == "STORE_UNAVAILABLE":
        print(f"lamina: to see what is wrong, run: lamina doctor --data {arguments.data}", file=sys.stderr)
    return 1 if reply.envelope["status"] == ERROR else 0


def _joined(value: Any) -> Any:
    return ",".join(value) if isinstance(value, list) else value
