"""Values of YAML, TOML and JSON as plain JSON values, in bounded time: scalars stay as they were written."""

from __future__ import annotations

import datetime as dt
import math
import re
from dataclasses import dataclass
from typing import Any, Final

import yaml

# Values that nest deeper, are longer, or whose aliases expand past this many are refused.
MAX_DEPTH: Final = 32
MAX_VALUES: Final = 20_000
MAX_CHARACTERS: Final = 256 * 1024

WRITTEN_AS_TEXT: Final = frozenset(
    [
        "title",
        "uri",
        "tags",
        "tag",
        "keywords",
        "categories",
        "category",
        "aliases",
        "alias",
        "slug",
        "permalink",
        "redirect_from",
        "redirects",
        "id",
    ]
)
"""Fields whose scalars are text whatever they look like: a title may be `No`, `0042` or `12:30`."""

# Beside its own errors, PyYAML lets those of a scalar that does not fit its tag through, as in `!!bool maybe`.
_NOT_YAML: Final = (
    yaml.YAMLError,
    ValueError,
    ArithmeticError,
    LookupError,
    TypeError,
    AttributeError,
    RecursionError,
)
_TEXT_TAG: Final = "tag:yaml.org,2002:str"
_NULL_TAG: Final = "tag:yaml.org,2002:null"
_PLAIN_STYLES: Final = (None, "")  # of the parser in Python and of that in C
# What stands after a plain scalar on its line is a comment to YAML: `Fix for #12` is not meant so.
_NUMBER_SIGN: Final = re.compile(r"[ \t]+#(?=[^\s#])[^\r\n]*")


class NotPlain(Exception):  # noqa: N818
    """The text cannot be read, or not within bounds; the message says which, and where."""

    def __init__(self, reason: str, *, too_large: bool = False) -> None:
        super().__init__(reason)
        self.too_large = too_large


class _TooLarge(Exception):  # noqa: N818
    """A value passes the bounds of depth or size."""


class _Loader(yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader):  # type: ignore[misc]
    """Safe YAML that notes repeated keys, bounds what merge keys expand to, and keeps scalars as written.

    Only `true` and `false` are booleans, as in YAML 1.2, and a number is one only if it is written as it would be
    written back: `No` is Norway, `0042` and `1.10` are names.
    """

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self.text = stream
        self.repeated: list[tuple[str, int]] = []
        self._pairs = 0

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        super().flatten_mapping(node)
        self._pairs += len(node.value)
        if self._pairs > MAX_VALUES:
            raise _TooLarge

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        # A tag can claim that something else is a mapping; the base class tells.
        for key_node, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if isinstance(key_node, yaml.ScalarNode):
                if key_node.value in seen:
                    self.repeated.append((key_node.value, key_node.start_mark.line))
                seen.add(key_node.value)
        return super().construct_mapping(node, deep)  # type: ignore[no-any-return]

    def construct_yaml_bool(self, node: yaml.ScalarNode) -> Any:
        super().construct_yaml_bool(node)
        text = str(self.construct_scalar(node))
        return {"true": True, "false": False}.get(text.lower(), text)

    def construct_yaml_int(self, node: yaml.ScalarNode) -> Any:
        return self._as_written(super().construct_yaml_int(node), node)

    def construct_yaml_float(self, node: yaml.ScalarNode) -> Any:
        number = super().construct_yaml_float(node)
        return self._as_written(number, node) if math.isfinite(number) else number

    def construct_yaml_timestamp(self, node: yaml.ScalarNode) -> Any:
        try:
            return super().construct_yaml_timestamp(node)
        except ValueError:  # the thirtieth of February
            return self.construct_scalar(node)

    def _as_written(self, number: float, node: yaml.ScalarNode) -> Any:
        text = self.construct_scalar(node)
        return number if str(number) == text else text


for _tag in ("bool", "int", "float", "timestamp"):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_tag}", getattr(_Loader, f"construct_yaml_{_tag}"))


def plain_yaml(text: str) -> tuple[Any, list[tuple[str, int]]]:
    """What YAML says as JSON values, and its repeated keys with their lines. Raises NotPlain, in bounded time."""
    if len(text) > MAX_CHARACTERS:
        raise NotPlain("nested too deep or too large", too_large=True)
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None, []
            _keep_as_text(node, text)
            return as_plain(loader.construct_document(node)), loader.repeated
        finally:
            loader.dispose()
    except _NOT_YAML as error:
        raise NotPlain(f"not valid YAML: {_where(error)}") from error
    except _TooLarge as error:
        raise NotPlain("nested too deep or too large", too_large=True) from error


def as_plain(value: Any) -> Any:
    """JSON values of what a parser gave. Raises NotPlain past the bounds of depth and size."""
    try:
        return _as_json(value, MAX_DEPTH, _Budget())
    except _TooLarge as error:
        raise NotPlain("nested too deep or too large", too_large=True) from error


def _keep_as_text(root: yaml.Node, source: str) -> None:
    """Marks the scalars of text fields as text, and gives a title back what YAML takes for a comment."""
    if not isinstance(root, yaml.MappingNode):
        return
    for key, value in root.value:
        name = str(key.value).lower().replace("-", "_") if isinstance(key, yaml.ScalarNode) else ""
        if name not in WRITTEN_AS_TEXT:
            continue
        left, seen = [value], set()
        while left:
            node = left.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            if isinstance(node, yaml.ScalarNode):
                if node.style in _PLAIN_STYLES and node.tag != _NULL_TAG and node.tag.startswith("tag:yaml.org,2002:"):
                    node.tag = _TEXT_TAG
            elif isinstance(node, yaml.SequenceNode):
                left += node.value
        if name == "title" and isinstance(value, yaml.ScalarNode) and value.style in _PLAIN_STYLES:
            rest = _NUMBER_SIGN.match(source, value.end_mark.index)
            value.value += rest.group().rstrip() if rest and value.value else ""


def _where(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    return f"line {mark.line + 2}" if mark is not None else type(error).__name__


@dataclass(slots=True)
class _Budget:
    """What a block may still grow to. Aliases repeat a value, or a long text, for the price of a few letters."""

    values: int = MAX_VALUES
    characters: int = MAX_CHARACTERS

    def spend(self, text: str) -> str:
        """The text, paid for. Raises _TooLarge."""
        self.characters -= len(text)
        if self.characters < 0:
            raise _TooLarge
        return text


def _as_json(value: Any, depth: int, budget: _Budget) -> Any:
    """Dates in ISO 8601, NaN and infinity null, keys as text, lone surrogates replaced."""
    budget.values -= 1
    if depth == 0 or budget.values < 0:
        raise _TooLarge
    if isinstance(value, dict):
        return {budget.spend(_key(key)): _as_json(item, depth - 1, budget) for key, item in value.items()}
    if isinstance(value, set):
        value = sorted(value, key=repr)  # a set has no order that two processes share
    if isinstance(value, list | tuple):
        return [_as_json(item, depth - 1, budget) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int) and abs(value) >= 2**63:
        # Many JSON readers lose digits past 64 bits; Python itself writes only so many decimal ones.
        return str(value) if value.bit_length() < 4096 else hex(value)
    if value is None or isinstance(value, bool | int):
        return value
    return budget.spend(_text(value))


def _key(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    return "null" if key is None else _text(key)


def _text(value: Any) -> str:
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(value).encode("utf-8", "replace").decode("utf-8")
