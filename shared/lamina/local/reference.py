"""The tables of the documentation, from the code that they describe: `python -m lamina.local.reference docs`.

A page holds `<!-- generated: NAME ARGUMENT -->` … `<!-- end -->`; what stands between is replaced.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo

from lamina.actions.action import Action
from lamina.actions.parameters import ListRequest
from lamina.actions.registry import ACTIONS
from lamina.contract.disclosure import CAPS, MEANINGS, Flag
from lamina.contract.errors import CATALOGUE
from lamina.contract.filters import AUDIENCES, EXPOSURES, KINDS, TIERS
from lamina.contract.request import PASSED_OVER
from lamina.contract.schema import Schema, request_schema
from lamina.corpus.config import KnowledgeBaseSettings
from lamina.corpus.kinds import DEFAULT_PREFIXES
from lamina.governance.manifest import required_files
from lamina.local.costs import costs, monthly
from lamina.local.deployment import TEMPLATE
from lamina.local.template import load
from lamina.runtime.settings import Settings

_BLOCK = re.compile(r"(<!-- generated: ([a-z-]+)(?: ([a-z_-]+))? -->\n).*?(<!-- end -->)", re.DOTALL)
_OPENING = re.compile(r"<!-- generated:")


class UnknownTable(ValueError):  # noqa: N818
    """A page asks for a table that there is none of, or does not say where it ends."""


def rendered(text: str) -> str:
    """The page with its tables written anew. Raises UnknownTable."""

    def table(block: re.Match[str]) -> str:
        opening, name, argument, closing = block.groups()
        try:
            lines = _TABLES[name](argument) if argument else _PLAIN_TABLES[name]()
        except KeyError as error:
            raise UnknownTable(f"{name} {argument or ''}: {error} is unknown") from error
        return "\n".join((opening.rstrip(), *lines, closing))

    if len(_OPENING.findall(text)) != len(_BLOCK.findall(text)):
        raise UnknownTable("a generated part is not closed by <!-- end -->")
    return _BLOCK.sub(table, text)


def pages(paths: Iterable[Path]) -> list[Path]:
    """The Markdown files among the paths and in the folders among them."""
    return sorted(page for path in paths for page in (path.rglob("*.md") if path.is_dir() else (path,)))


def main(arguments: Sequence[str]) -> int:
    """Rewrites pages where they are; the arguments are files and folders.

    A folder that holds the pages of the actions gets a page for each action that has none.
    """
    for folder in (Path(argument) / "actions" for argument in arguments):
        for action in ACTIONS.values() if folder.is_dir() else ():
            page = folder / f"{action.name}.md"
            if not page.exists():
                page.write_text(_new_page(action), "utf-8")
    for page in pages(map(Path, arguments)):
        before = page.read_text("utf-8")
        after = rendered(before)
        if after != before:
            page.write_text(after, "utf-8")
            print(f"{page}: written")
    return 0


def _new_page(action: Action) -> str:
    """The page of an action as it begins; what it is for, and what its example answers, are written by hand."""
    asked = [f"`{method} /v1/{action.name}`" for method in action.methods]
    main_argument = f" {action.request.main.upper()}" if action.request.main else ""
    tables = [("Parameters", "parameters"), *([("Disclosure", "flags")] if action.request.permitted else [])]
    parts = [f"# {action.name}", action.purpose, f"{', '.join((*asked, f'`lamina {action.name}{main_argument}`'))}."]
    words = {None: "", "uri": " README.md"}.get(action.request.main, " gauge")
    parts.append(f"```console\n$ .venv/bin/lamina {action.name}{words}\n```")
    for heading, table in (*tables, ("Answer", "fields")):
        parts += [f"## {heading}", f"<!-- generated: {table} {action.name} -->\n<!-- end -->"]
    return "\n\n".join(parts) + "\n"


def _parameters(action: str) -> list[str]:
    model = ACTIONS[action].request
    properties = request_schema(model)["properties"]
    first = [name for name in (model.main, "input", "disclosure") if name in properties]
    old = [name for name, parameter in properties.items() if parameter.get("deprecated")]
    names = [*first, *(name for name in properties if name not in (*first, *old)), *old]
    rows = []
    for name in names:
        parameter = properties[name]
        meaning = f"Deprecated. {parameter['description']}" if parameter.get("deprecated") else parameter["description"]
        default = "required" if name == model.main else _default(parameter.get("default"))
        rows.append((f"`{name}`", _type(parameter), default, meaning))
    return _table(("Parameter", "Type", "Default", "What it does"), rows)


def _flags(action: str) -> list[str]:
    model = ACTIONS[action].request
    if issubclass(model, ListRequest):
        known = (None, *model.permitted)
        rows = [(_flag(flag), MEANINGS[flag], str(CAPS[flag])) for flag in known]
        return _table(("Flag", "Adds to each document", "Largest `limit`"), rows)
    return _table(("Flag", "Adds to the document"), [(_flag(flag), MEANINGS[flag]) for flag in model.permitted])


def _fields(action: str) -> list[str]:
    rows = [
        (f"`{name}`", _type(field), presence, field["description"])
        for name, field, presence in _told(ACTIONS[action].answer)
    ]
    return _table(("Field", "Type", "Present", "Meaning"), rows)


def _told(schema: Schema, prefix: str = "", condition: str = "always") -> Iterable[tuple[str, Schema, str]]:
    """Each field of an answer that has a meaning, with its dotted name, its schema and when it is there."""
    for name, field in schema["properties"].items():
        presence = condition if name in schema["required"] else "when it applies"
        if name in map(str, Flag):
            presence = "when asked for"
        if "description" in field:
            yield f"{prefix}{name}", field, presence
        elif field["type"] == "array":
            yield from _told(field["items"], f"{prefix}{name}[].", presence)
        else:
            yield from _told(field, f"{prefix}{name}.", presence)


def _actions() -> list[str]:
    rows = []
    for action in ACTIONS.values():
        if not action.request.permitted:
            continue
        default = request_schema(action.request)["properties"]["disclosure"]["default"]
        flags = ", ".join(f"`{flag}`" for flag in action.request.permitted)
        link = f"[`{action.name}`](docs/actions/{action.name}.md)"
        main_argument = f"`{action.request.main}`" if action.request.main else "nothing"
        rows.append((link, main_argument, action.purpose, _default(default), flags))
    return _table(("Action", "Asked with", "What it answers", "Default `disclosure`", "Permitted flags"), rows)


def _disclosure() -> list[str]:
    rows = []
    for flag, cap in CAPS.items():
        where = [name for name, action in ACTIONS.items() if (flag or Flag.METADATA) in action.request.permitted]
        rows.append((_flag(flag), MEANINGS[flag], str(cap), ", ".join(where)))
    return _table(("Flag", "Adds to each document", "Most documents per response", "Permitted on"), rows)


def _errors() -> list[str]:
    rows = [
        (f"`{kind.code}`", str(kind.http_status), f"{kind.retry_after} s" if kind.retry_after else "",
         kind.meaning, kind.remedy)
        for kind in CATALOGUE.values()
    ]  # fmt: skip
    return _table(("Code", "HTTP", "Retry-After", "What it means", "What to do"), rows)


def _settings() -> list[str]:
    rows = [
        (f"`LAMINA_{name.upper()}`", _default(_value(field)), field.description or "")
        for name, field in Settings.model_fields.items()
    ]
    return _table(("Variable", "Default", "What it decides"), rows)


def _knowledge_base_settings() -> list[str]:
    rows = [
        (f"`{name}`", _default(_value(field)), field.description or "")
        for name, field in KnowledgeBaseSettings.model_fields.items()
    ]
    return _table(("Key", "Default", "What it decides"), rows)


def _prefixes() -> list[str]:
    rows = [(f"`{path}`", str(kind)) for path, kind in DEFAULT_PREFIXES.items()]
    return _table(("Path begins with", "Kind"), rows)


def _canonical_values() -> list[str]:
    values = {"audience": AUDIENCES, "exposure": EXPOSURES, "tier": TIERS, "kind": tuple(KINDS)}
    rows = [(f"`{name}`", ", ".join(map(str, of))) for name, of in values.items()]
    return _table(("Field", "Values"), rows)


def _governance() -> list[str]:
    rows = [(f"`{file.path}`", file.purpose, ", ".join(file.needed_by)) for file in required_files()]
    return _table(("File", "What it is for", "Needed by"), rows)


def _template_parameters() -> list[str]:
    rows = [
        (f"`{name}`", _default(parameter.get("Default")), parameter.get("Description", ""))
        for name, parameter in load(TEMPLATE)["Parameters"].items()
    ]
    return _table(("Parameter", "Default", "What it is"), rows)


def _costs() -> list[str]:
    rows = [
        (
            item.name,
            f"{item.monthly:.2f}" if item.monthly else "",
            f"{item.per_million:.2f}" if item.per_million else "",
        )
        for item in costs(load(TEMPLATE))
    ]
    return _table(("What", "Dollars a month", "Dollars a million calls"), rows)


def _dollars(price: float) -> str:
    return f"{price:.2f}" if price else ""


def _monthly_costs() -> list[str]:
    items = costs(load(TEMPLATE))
    volumes = (("10 thousand", 0.01), ("1 million", 1.0), ("100 million", 100.0))
    rows = [(calls, f"{monthly(items, millions):.0f}") for calls, millions in volumes]
    return _table(("Calls a month", "Dollars a month"), rows)


_TABLES: Mapping[str, Callable[[str], list[str]]] = {
    "parameters": _parameters,
    "flags": _flags,
    "fields": _fields,
}


def _passed_over() -> list[str]:
    return _table(("Parameter", "What it was"), [(f"`{name}`", meaning) for name, meaning in PASSED_OVER.items()])


_PLAIN_TABLES: Mapping[str, Callable[[], list[str]]] = {
    "actions": _actions,
    "disclosure": _disclosure,
    "errors": _errors,
    "settings": _settings,
    "knowledge-base-settings": _knowledge_base_settings,
    "prefixes": _prefixes,
    "canonical-values": _canonical_values,
    "governance": _governance,
    "template-parameters": _template_parameters,
    "costs": _costs,
    "monthly-costs": _monthly_costs,
    "passed-over": _passed_over,
}


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    cells = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in cells]


def _type(schema: Schema) -> str:
    """A schema's type in a reader's words."""
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if "array" in names:
        items = schema["items"]
        return f"list of {_type(items)}" if "enum" in items else f"list of {_PLURALS[items['type']]}"
    words = " or ".join(_WORDS[name] for name in names)
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and most is not None:
        return f"{words}, {least} to {most}"
    return f"{words}, at least {least}" if least is not None else words


_WORDS = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "object": "object",
    "null": "null",
}
_PLURALS = {"string": "texts", "integer": "whole numbers", "object": "objects"}


def _flag(flag: Flag | None) -> str:
    return "none" if flag is None else f"`{flag}`"


def _value(field: FieldInfo) -> Any:
    return field.get_default(call_default_factory=True, validated_data={})


def _default(value: Any) -> str:
    if value is None or value == "":
        return "none"
    if isinstance(value, bool):
        return "`true`" if value else "`false`"
    if isinstance(value, list | tuple):
        return f"`{json.dumps(list(value))}`"
    return f"`{value}`" if value != {} else "none"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
