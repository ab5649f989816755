"""Frontmatter: where it ends, what it says as JSON values, and what is wrong with it."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from typing import Any

import yaml

BOM = "\ufeff"
# YAML that nests deeper, is longer, or whose aliases expand past this many values is refused.
MAX_DEPTH = 32
MAX_VALUES = 20_000
MAX_CHARACTERS = 256 * 1024
# A repeated key is told; a file of nothing else would tell as often as it has lines.
_MOST_REPEATED = 20


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """`metadata` is JSON-ready, `{}` if the block is empty, None if there is none; `body` is all after it."""

    metadata: dict[str, Any] | None
    body: str
    problems: tuple[str, ...] = ()


# Beside its own errors, PyYAML lets those of a scalar that does not fit its tag through, as in `!!bool maybe`.
_NOT_YAML = (
    yaml.YAMLError,
    ValueError,
    ArithmeticError,
    LookupError,
    TypeError,
    AttributeError,
    RecursionError,
)


class NotPlain(Exception):  # noqa: N818
    """The text is no YAML, or not within bounds; the message says which, and where."""


class _TooLarge(Exception):  # noqa: N818
    """A value passes the bounds of depth or size."""


class _Loader(yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader):  # type: ignore[misc]
    """Safe YAML that notes repeated keys instead of dropping them unseen, and bounds what merge keys expand to."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self.repeated: list[str] = []
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
                    self.repeated.append(key_node.value)
                seen.add(key_node.value)
        return super().construct_mapping(node, deep)  # type: ignore[no-any-return]


def split(text: str) -> Frontmatter:
    """Separates a document's frontmatter from its body. Never raises: problems are told, the text is kept."""
    text = text.removeprefix(BOM)
    block, body = _fences(text)
    if block is None:
        return Frontmatter(None, text, ("frontmatter is not closed",) if body is None else ())
    assert body is not None  # noqa: S101 - _fences gives both or a None block
    try:
        loaded, repeated = plain_yaml(block)
    except NotPlain as error:
        return Frontmatter(None, body, (f"frontmatter is {error}",))
    if loaded is None:
        return Frontmatter({}, body)
    if not isinstance(loaded, dict):
        return Frontmatter(None, body, ("frontmatter is not a mapping",))
    problems = tuple(f"frontmatter repeats the key {key!r}; the last one counts" for key in repeated[:_MOST_REPEATED])
    return Frontmatter(loaded, body, problems)


def plain_yaml(text: str) -> tuple[Any, list[str]]:
    """What YAML says as JSON values, and its repeated keys. Raises NotPlain, in bounded time, for anything else."""
    if len(text) > MAX_CHARACTERS:
        raise NotPlain("nested too deep or too large")
    try:
        loader = _Loader(text)
        try:
            return _as_json(loader.get_single_data(), MAX_DEPTH, _Budget()), loader.repeated
        finally:
            loader.dispose()
    except _NOT_YAML as error:
        raise NotPlain(f"not valid YAML: {_where(error)}") from error
    except _TooLarge as error:
        raise NotPlain("nested too deep or too large") from error


def _fences(text: str) -> tuple[str | None, str | None]:
    """(block, body); (None, text) without frontmatter; (None, None) where an opening fence is never closed."""
    first_end = text.find("\n")
    if first_end < 0 or text[:first_end].rstrip() != "---":
        return None, text
    position = first_end + 1
    while position < len(text):
        line_end = text.find("\n", position)
        stop = len(text) if line_end < 0 else line_end
        if text[position:stop].rstrip() == "---":
            return text[first_end + 1 : position], text[min(stop + 1, len(text)) :]
        position = stop + 1
    return None, None


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
    """YAML's values as JSON's: dates in ISO 8601, NaN and infinity null, keys as text, lone surrogates replaced."""
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
