"""A command for each action: options from its request, its answer as a table for a person and as JSON for a pipe."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from rich.console import Console
from rich.markdown import Markdown
from rich.table import Column, Table
from rich.text import Text

from lamina.actions.action import Action
from lamina.actions.registry import ACTIONS
from lamina.contract.coercion import takes_names
from lamina.contract.envelope import ERROR, Envelope
from lamina.contract.schema import Schema, request_schema
from lamina.local.deployment import add_data_option, existing
from lamina.runtime.dispatch import dispatch
from lamina.runtime.recorder import Caller
from lamina.runtime.settings import Settings
from lamina.runtime.wiring import compose

_COLUMNS = ("score", "position", "role", "source")
_TIERS = ("snippet", "blockquote", "summary")


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
    sent = {name: _sent(action, name, value) for name, value in given.items() if value is not None}
    runtime = compose(Settings.of(existing(arguments.data).environment()))
    reply = dispatch(action, lambda: sent, Caller(user_agent="lamina-cli", has_key=True), runtime)
    if arguments.format == "text" or (arguments.format is None and sys.stdout.isatty()):
        _show(reply.envelope, Console())
    else:
        print(reply.text)
    if reply.envelope.get("error_code") == "STORE_UNAVAILABLE":
        print(f"lamina: to see what is wrong, run: lamina doctor --data {arguments.data}", file=sys.stderr)
    return 1 if reply.envelope["status"] == ERROR else 0


def _sent(action: Action, name: str, value: Any) -> Any:
    """A list with commas; names, which may hold commas themselves, as they were given."""
    return value if takes_names(action.request.model_fields[name].metadata) else _joined(value)


def _joined(value: Any) -> Any:
    return ",".join(value) if isinstance(value, list) else value


def _show(envelope: Envelope, console: Console) -> None:
    """Prints an envelope: a table of entries, a document, a brief, or a check."""
    if envelope["status"] == ERROR:
        console.print(Text(f"{envelope['error_code']}: {envelope['error_message']}", style="red"))
        return
    data = envelope["data"]
    if isinstance(data, list):
        _show_entries(envelope, data, console)
    elif data is None:
        console.print(Text(f"{envelope['status']}: {envelope.get('reason', 'no such document.')}", style="yellow"))
        for uri in envelope.get("did_you_mean", ()):
            console.print(Text(f"  did you mean {uri}"))
        for link in envelope.get("supersession_chain", ()):
            console.print(Text(f"  {link['uri']}  {link['title']}"))
    elif "citation_ids" in data:
        _show_brief(envelope, data, console)
    elif "required" in data:
        _show_check(envelope, data, console)
    else:
        _show_document(envelope, data, console)


def _show_entries(envelope: Envelope, entries: list[dict[str, Any]], console: Console) -> None:
    table = Table(show_lines=any(tier in entry for entry in entries for tier in _TIERS), expand=False)
    shown = [column for column in _COLUMNS if any(column in entry for entry in entries)]
    for column in shown:
        table.add_column(column, no_wrap=True)
    table.add_column("document", overflow="fold")
    for entry in entries:
        text = Text(entry["title"], style="bold").append(f"\n{entry['uri']}", style="cyan not bold")
        for tier in _TIERS:
            if entry.get(tier):
                text.append(f"\n{entry[tier]}", style="not bold")
        if "metadata" in entry:
            text.append(f"\n{entry['metadata']}", style="dim not bold")
        cells = [f"{entry[c]:.3f}" if c == "score" else str(entry.get(c, "")) for c in shown]
        table.add_row(*map(Text, cells), text)
    if entries:
        console.print(table)
    last = envelope["offset"] + len(entries)
    line = f"{envelope['offset'] + bool(entries)}–{last} of {envelope['total']}"
    if envelope.get("filtered_out"):
        line += f", {envelope['filtered_out']} more in kinds or slices left out (see --include)"
    if "match" in envelope:
        line += f" · match {envelope['match']['signal']} ({envelope['match']['coverage']:.0%})"
    console.print(Text(f"{line} · revision {envelope['revision']}", style="dim"))


def _show_document(envelope: Envelope, data: dict[str, Any], console: Console) -> None:
    console.print(Text(data["title"], style="bold").append(f"\n{data['uri']}", style="cyan not bold"))
    for link in envelope.get("supersession_chain", ())[:-1]:
        console.print(Text(f"supersedes {link['uri']}", style="dim"))
    for tier in ("metadata", *_TIERS):
        if data.get(tier) is not None:
            console.print(Text(f"{tier}: {data[tier]}"))
    if "body" in data:
        console.print(Markdown(data["body"]))
    for entry in data.get("outline", ()):
        place = f"({entry['slug']}, line {entry['line']}, {entry['tokens']} tokens)"
        console.print(Text(f"{'#' * entry['level']} {entry['heading']}  {place}"))
    for section in data.get("sections", ()):
        if "body" in section:
            console.print(Markdown(section["body"]))
    if data.get("next_line") is not None:
        console.print(Text(f"goes on: --from-line {data['next_line']}", style="dim"))


def _show_brief(envelope: Envelope, data: dict[str, Any], console: Console) -> None:
    console.print(Text(data["text"]) if data["text"] else Text("nothing to hand over", style="yellow"))
    match = envelope["match"]
    line = f"match {match['signal']} ({match['coverage']:.0%}) · revision {envelope['revision']}"
    if "receipt" in envelope:
        line += f" · receipt {envelope['receipt']['receipt_digest']}"
    console.print(Text(line, style="dim"))


def _show_check(envelope: Envelope, data: dict[str, Any], console: Console) -> None:
    required = Table("required file", "served from", "state", expand=False)
    for file in data["required"]:
        state = "valid" if file["valid"] else "invalid" if file["present"] else "missing"
        required.add_row(*map(Text, (file["path"], file["served_from"] or "", state)))
    console.print(required)
    for source, counts in data["documents"].items():
        kinds = ", ".join(f"{kind} {count}" for kind, count in counts.items() if kind != "total")
        console.print(Text(f"{source}: {counts['total']} documents" + (f" ({kinds})" if kinds else "")))
    if data["problems"]:
        found = Table("level", "source", Column("path", overflow="fold"), "what the corpus check says", expand=False)
        for problem in data["problems"]:
            place = problem["path"] if problem["line"] is None else f"{problem['path']}:{problem['line']}"
            found.add_row(*map(Text, (problem["level"], problem["source"], place, problem["reason"])))
        console.print(found)
        if data["problems_total"] > len(data["problems"]):
            console.print(Text(f"the first {len(data['problems'])} of {data['problems_total']}"))
    for warning in data["warnings"]:
        console.print(Text(warning, style="yellow"))
    console.print(Text(f"{envelope['status']} · revision {envelope['revision']}", style="dim"))
