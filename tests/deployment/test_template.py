"""The template as CloudFormation will see it: it translates, lints, and lets a function touch just what it must."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.corpora import CHECKOUT
from tests.deployment.stack import TEMPLATE, translated

from lamina.actions.action import Action
from lamina.actions.registry import ACTIONS
from lamina.encoders.bedrock import MODELS
from lamina.encoders.choice import BEDROCK_PREFIX, NONE, SMALL, STATIC
from lamina.local.template import load, routes

READ_INDEX = {
    ("s3:GetObject", "KnowledgeBucket/index/*"),
    ("s3:ListBucket", "KnowledgeBucket[index/*]"),
    ("secretsmanager:GetSecretValue", "SigningSecret"),
    ("lambda:InvokeFunction", "indexer"),
}
_ENCODERS = ("Small", "Static")
TELL_FAILURES = {("sns:Publish", "AlarmTopic"), ("kms:Decrypt", "AlarmKey"), ("kms:GenerateDataKey", "AlarmKey")}
ASK_MODEL = {("bedrock:InvokeModel", "EncoderModel")}
COUNT_BODIES = {("dynamodb:UpdateItem", "LimitsTable")}
RECEIPTS = {("s3:GetObject", "KnowledgeBucket/receipts/*"), ("s3:PutObject", "KnowledgeBucket/receipts/*")}
KNOWLEDGE = {
    ("s3:GetObject", "KnowledgeBucket/workspace/*"),
    ("s3:ListBucket", "KnowledgeBucket[workspace/*]"),
    ("s3:PutObject", "KnowledgeBucket/workspace/notes/*"),
    ("s3:PutObject", "KnowledgeBucket/workspace/.lamina/knowledge/*"),
    *((f"dynamodb:{name}", "KnowledgeTable") for name in ("GetItem", "Query", "PutItem", "UpdateItem")),
    ("secretsmanager:GetSecretValue", "SigningSecret"),
}


def _of_action(action: Action) -> set[tuple[str, str]]:
    counted = COUNT_BODIES if action.reads_bodies else set()
    kept = RECEIPTS if action.keeps_receipts else set()
    asked = ASK_MODEL if action.encodes_queries else set()
    return READ_INDEX | counted | kept | asked


# Which function may touch what, and nothing more.
MATRIX: dict[str, set[tuple[str, str]]] = {
    **{action.function: _of_action(action) for action in ACTIONS.values()},
    "site": READ_INDEX | COUNT_BODIES,
    "receipts": {("s3:GetObject", "KnowledgeBucket/receipts/*"), ("s3:ListBucket", "KnowledgeBucket[receipts/*]")},
    "knowledge": KNOWLEDGE | COUNT_BODIES,
    "mcp": READ_INDEX | ASK_MODEL | COUNT_BODIES | RECEIPTS | KNOWLEDGE,
    "indexer": {
        *((f"s3:{name}", "KnowledgeBucket/index/*") for name in ("GetObject", "PutObject", "DeleteObject")),
        ("s3:GetObject", "KnowledgeBucket/settings/*"),
        ("s3:GetObject", "KnowledgeBucket/workspace/*"),
        ("s3:ListBucket", "KnowledgeBucket[index/*,settings/*,workspace/*]"),
        *(("secretsmanager:GetSecretValue", name) for name in ("SigningSecret", "WebhookSecret", "GitHubTokenSecret")),
        ("lambda:InvokeFunction", "indexer"),
        ("s3:ListBucket", "SourceBuckets"),
        ("s3:GetObject", "SourceBuckets/*"),
        *TELL_FAILURES,
        *ASK_MODEL,
    },
    "telemetry_report": {
        *TELL_FAILURES,
        ("s3:GetObject", "RecordsBucket/records/*"),
        ("s3:ListBucket", "RecordsBucket[records/*]"),
        ("s3:GetObject", "KnowledgeBucket/reports/*"),
        ("s3:PutObject", "KnowledgeBucket/reports/*"),
        ("s3:ListBucket", "KnowledgeBucket[reports/*]"),
    },
}


@pytest.fixture(scope="module")
def template() -> dict[str, Any]:
    """The template as written."""
    return load(TEMPLATE)


def _functions(template: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Properties of each function by the name of its folder."""
    return {
        Path(resource["Properties"]["CodeUri"]).name: resource["Properties"]
        for resource in template["Resources"].values()
        if resource["Type"] == "AWS::Serverless::Function"
    }


def _named(resource: Any) -> str:
    """A resource in one word: the logical id that it names and the path below it."""
    if isinstance(resource, dict) and "Ref" in resource:
        return str(resource["Ref"])
    if isinstance(resource, dict) and "Split" in resource:
        return "SourceBuckets/*"
    text = str(next(iter(resource.values())) if isinstance(resource, dict) else resource)
    if text.endswith(":function:${AWS::StackName}-indexer:live"):
        return "indexer"
    if text.endswith("::foundation-model/${EncoderModel}"):
        return "EncoderModel"
    return text.replace("${", "").replace("}", "").replace(".Arn", "")


def _taken(given: dict[str, Any]) -> dict[str, Any]:
    """A policy or a statement, under a condition or not."""
    taken: dict[str, Any] = given["If"][1] if "If" in given else given
    return taken


def _granted(properties: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for policy in map(_taken, properties["Policies"]):
        for statement in map(_taken, policy["Statement"]):
            assert statement["Effect"] == "Allow"
            actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
            given = statement["Resource"]
            prefixes = statement.get("Condition", {}).get("StringLike", {}).get("s3:prefix")
            limited = [prefixes] if isinstance(prefixes, str) else prefixes
            suffix = f"[{','.join(limited)}]" if limited else ""
            for action in actions:
                for resource in given if isinstance(given, list) else [given]:
                    yield action, _named(resource) + suffix


@pytest.mark.parametrize("function", MATRIX)
def test_a_function_may_touch_what_it_must_and_nothing_more(function: str, template: dict[str, Any]) -> None:
    assert set(_granted(_functions(template)[function])) == MATRIX[function]


def test_every_function_of_the_tree_is_deployed_and_stands_in_the_matrix(template: dict[str, Any]) -> None:
    folders = {path.parent.name for path in (CHECKOUT / "functions").glob("*/app.py")}
    assert set(_functions(template)) == folders == set(MATRIX)


def test_a_function_that_encodes_has_the_layer_of_its_encoder_and_no_other_function(template: dict[str, Any]) -> None:
    layers = [{"If": [f"Is{name}", {"Ref": f"{name}EncoderLayer"}, {"Ref": "AWS::NoValue"}]} for name in _ENCODERS]
    with_layers = {name for name, entry in _functions(template).items() if entry.get("Layers") == layers}
    assert with_layers == {name for name, granted in MATRIX.items() if granted >= ASK_MODEL}
    assert not any("Layers" in entry for name, entry in _functions(template).items() if name not in with_layers)


def test_every_encoder_of_the_template_is_one_that_the_functions_know(template: dict[str, Any]) -> None:
    parameters = template["Parameters"]
    assert {*parameters["Encoder"]["AllowedValues"]} == {SMALL, STATIC, NONE, "bedrock"}
    assert {*parameters["EncoderModel"]["AllowedValues"]} == {*MODELS}
    chosen = template["Globals"]["Function"]["Environment"]["Variables"]["LAMINA_ENCODER"]
    assert chosen == {"If": ["IsBedrock", {"Sub": f"{BEDROCK_PREFIX}${{EncoderModel}}"}, {"Ref": "Encoder"}]}


def test_no_statement_grants_every_action_or_every_resource(template: dict[str, Any]) -> None:
    for properties in _functions(template).values():
        for action, resource in _granted(properties):
            assert not action.endswith("*")
            assert resource != "*"


def test_only_the_indexer_writes_under_index(template: dict[str, Any]) -> None:
    writers = {
        function
        for function, properties in _functions(template).items()
        for action, resource in _granted(properties)
        if resource.startswith("KnowledgeBucket/index") and action not in ("s3:GetObject", "s3:ListBucket")
    }
    assert writers == {"indexer"}


def test_what_holds_knowledge_survives_the_stack(template: dict[str, Any]) -> None:
    kept = {name for name, entry in template["Resources"].items() if entry.get("DeletionPolicy") == "Retain"}
    assert {"KnowledgeBucket", "KnowledgeTable", "SigningSecret", "RecordsBucket"} <= kept
    for name in kept:
        assert template["Resources"][name]["UpdateReplacePolicy"] == "Retain"


def test_buckets_are_private_encrypted_and_spoken_to_over_tls_alone(template: dict[str, Any]) -> None:
    buckets = {n: r["Properties"] for n, r in template["Resources"].items() if r["Type"] == "AWS::S3::Bucket"}
    policies = [r["Properties"] for r in template["Resources"].values() if r["Type"] == "AWS::S3::BucketPolicy"]
    for name, properties in buckets.items():
        assert all(properties["PublicAccessBlockConfiguration"].values())
        assert "BucketEncryption" in properties
        statements = [s for p in policies if p["Bucket"] == {"Ref": name} for s in p["PolicyDocument"]["Statement"]]
        assert any(s["Effect"] == "Deny" and "aws:SecureTransport" in json.dumps(s) for s in statements)


def test_a_keyed_twin_stands_beside_every_public_retrieval_route() -> None:
    paths = {route.path for route in routes(TEMPLATE)}
    for path in (*ACTIONS, "knowledge"):
        assert f"/keyed/v1/{path}" in paths
        assert f"/v1/{path}" in paths
    assert {"/mcp", "/keyed/mcp"} <= paths


def test_operator_routes_need_iam(template: dict[str, Any]) -> None:
    events = [event for entry in _functions(template).values() for event in entry["Events"].values()]
    operator = [e["Properties"] for e in events if "/operator/" in str(e["Properties"].get("Path", ""))]
    assert operator
    assert all(entry["Auth"]["Authorizer"] == "AWS_IAM" for entry in operator)


def test_what_the_template_becomes_lints(tmp_path: Path) -> None:
    become = translated()
    functions = [r for r in become["Resources"].values() if r["Type"] == "AWS::Lambda::Function"]
    assert len(functions) == len(MATRIX)
    written = tmp_path / "translated.json"
    written.write_text(json.dumps(become))
    linter = Path(sys.executable).with_name("cfn-lint")
    lint = [str(linter), "--non-zero-exit-code", "error", "--template", str(written)]
    result = subprocess.run(lint, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout
