"""Which function serves which route, read from template.yaml as SAM would deploy it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml


class _Loader(yaml.SafeLoader):
    """YAML with CloudFormation's short tags, whose values the routes do not need."""


def _tagged(loader: yaml.Loader, suffix: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.ScalarNode):
        return {suffix: loader.construct_scalar(node)}
    if isinstance(node, yaml.SequenceNode):
        return {suffix: loader.construct_sequence(node, deep=True)}
    if isinstance(node, yaml.MappingNode):
        return {suffix: loader.construct_mapping(node, deep=True)}
    raise yaml.YAMLError(f"unexpected node under !{suffix}")


_Loader.add_multi_constructor("!", _tagged)


@dataclass(frozen=True, slots=True)
class Route:
    """A path pattern of the API and the handler file behind it. `method` is a verb or ANY."""

    path: str
    method: str
    code: Path
    handler: str

    def match(self, path: str) -> dict[str, str] | None:
        """The path's parameters, or None where it is not this route's."""
        wanted, given = self.path.strip("/").split("/"), path.strip("/").split("/")
        parameters: dict[str, str] = {}
        for number, part in enumerate(wanted):
            if part.endswith("+}"):
                rest = "/".join(given[number:])
                return {**parameters, part[1:-2]: rest} if rest else None
            if number >= len(given) or (not part.startswith("{") and part != given[number]):
                return None
            if part.startswith("{"):
                parameters[part[1:-1]] = given[number]
        return parameters if len(wanted) == len(given) else None


def load(path: Path) -> dict[str, Any]:
    """The template as plain data."""
    loaded: dict[str, Any] = yaml.load(path.read_text("utf-8"), Loader=_Loader)  # noqa: S506 - a SafeLoader
    return loaded


def routes(path: Path) -> tuple[Route, ...]:
    """The API's routes, the most particular first, as API Gateway picks them."""
    template = load(path)
    defaults = template["Globals"]["Function"]
    found = [
        Route(
            event["Properties"]["Path"],
            event["Properties"]["Method"].upper(),
            path.parent / resource["Properties"]["CodeUri"],
            resource["Properties"].get("Handler", defaults["Handler"]),
        )
        for resource in template["Resources"].values()
        if resource["Type"] == "AWS::Serverless::Function"
        for event in resource["Properties"].get("Events", {}).values()
        if event["Type"] == "Api"
    ]
    return tuple(sorted(found, key=lambda route: ("{" in route.path, -len(route.path))))
