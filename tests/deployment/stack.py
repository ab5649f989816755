"""The template as CloudFormation gets it, after SAM's own translation."""

from __future__ import annotations

import json
import os
from functools import cache
from typing import Any
from unittest import mock

from cfnlint.decode.cfn_yaml import load
from samtranslator.public.translator import ManagedPolicyLoader
from samtranslator.translator.transform import transform
from tests.corpora import CHECKOUT

TEMPLATE = CHECKOUT / "template.yaml"


class _Policies(ManagedPolicyLoader):  # type: ignore[misc]
    """Managed policies by name, without asking AWS for their list."""

    def __init__(self) -> None:
        super().__init__(None)

    def load(self) -> dict[str, str]:
        return {}


@cache
def translated() -> dict[str, Any]:
    """The translated template; intrinsic functions stand as `Ref` and `Fn::…`."""
    source = json.loads(json.dumps(_plain(load(str(TEMPLATE)))))
    for resource in source["Resources"].values():
        for name in ("CodeUri", "ContentUri"):
            if name in resource.get("Properties", {}):
                resource["Properties"][name] = "s3://bucket/key"
    with mock.patch.dict(os.environ, AWS_DEFAULT_REGION="us-east-1"):
        become: dict[str, Any] = transform(source, {"BaselineUrl": "https://github.com/owner/repository"}, _Policies())
    return become


def of_type(kind: str) -> dict[str, dict[str, Any]]:
    """Properties of the translated resources of a type, by logical id."""
    return {name: r.get("Properties", {}) for name, r in translated()["Resources"].items() if r["Type"] == kind}


def _plain(node: Any) -> Any:
    if isinstance(node, dict):
        return {str(key): _plain(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_plain(value) for value in node]
    return node
