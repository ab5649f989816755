"""What an operator meets: alarms that arrive, a second stack beside the first, keys that a browser can send."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.deployment.stack import TEMPLATE, of_type, translated

from lamina.local.costs import costs, monthly
from lamina.local.template import load

# Properties whose values are names within the whole account and region.
_NAMES = {
    "AWS::ApiGateway::RestApi": "Name",
    "AWS::ApiGateway::UsagePlan": "UsagePlanName",
    "AWS::Budgets::Budget": "Budget.BudgetName",
    "AWS::CloudWatch::Alarm": "AlarmName",
    "AWS::CloudWatch::Dashboard": "DashboardName",
    "AWS::DynamoDB::Table": "TableName",
    "AWS::Events::Rule": "Name",
    "AWS::IAM::Role": "RoleName",
    "AWS::KinesisFirehose::DeliveryStream": "DeliveryStreamName",
    "AWS::Lambda::Function": "FunctionName",
    "AWS::Lambda::LayerVersion": "LayerName",
    "AWS::Logs::LogGroup": "LogGroupName",
    "AWS::Logs::QueryDefinition": "Name",
    "AWS::S3::Bucket": "BucketName",
    "AWS::Scheduler::Schedule": "Name",
    "AWS::SecretsManager::Secret": "Name",
    "AWS::SNS::Topic": "TopicName",
    "AWS::WAFv2::WebACL": "Name",
}
# AWS numbers the versions of a layer and asks for no name of one's own.
_VERSIONED = {"AWS::Lambda::LayerVersion"}


def _named() -> Iterator[tuple[str, str, Any]]:
    for kind, path in _NAMES.items():
        for logical_id, properties in of_type(kind).items():
            value: Any = properties
            for step in path.split("."):
                value = value.get(step) if isinstance(value, dict) else None
            if value is not None and kind not in _VERSIONED:
                yield kind, logical_id, value


def test_a_second_stack_stands_beside_the_first() -> None:
    literal = [
        (kind, logical_id, name)
        for kind, logical_id, name in _named()
        if "AWS::StackName" not in json.dumps(name) and kind != "AWS::ApiGateway::RestApi"
    ]
    assert literal == []
    assert {"AWS::Scheduler::Schedule", "AWS::Events::Rule", "AWS::Lambda::Function"} <= {
        kind for kind, _, _ in _named()
    }


@pytest.mark.parametrize("alarm", sorted(of_type("AWS::CloudWatch::Alarm")))
def test_an_alarm_reaches_its_topic_whose_key_lets_cloudwatch_in(alarm: str) -> None:
    for target in of_type("AWS::CloudWatch::Alarm")[alarm]["AlarmActions"]:
        topic = of_type("AWS::SNS::Topic")[target["Ref"]]
        key = of_type("AWS::KMS::Key")[topic["KmsMasterKeyId"]["Ref"]]
        sealing = {
            action
            for statement in key["KeyPolicy"]["Statement"]
            if "cloudwatch.amazonaws.com" in statement["Principal"].get("Service", [])
            for action in statement["Action"]
        }
        assert {"kms:Decrypt", "kms:GenerateDataKey*"} <= sealing
        policies = [p for p in of_type("AWS::SNS::TopicPolicy").values() if target in p["Topics"]]
        assert any(
            "cloudwatch.amazonaws.com" in s["Principal"]["Service"] and s["Action"] == "sns:Publish"
            for policy in policies
            for s in policy["PolicyDocument"]["Statement"]
        )


def test_our_own_metrics_and_functions_are_what_the_alarms_watch() -> None:
    throttled: set[str] = set()
    for alarm in of_type("AWS::CloudWatch::Alarm").values():
        if alarm.get("Namespace") == "Lamina":
            assert {"Name": "stack", "Value": {"Ref": "AWS::StackName"}} in alarm["Dimensions"]
        metrics = [m["MetricStat"]["Metric"] for m in alarm.get("Metrics", []) if "MetricStat" in m]
        assert len(metrics) <= 10  # CloudWatch's bound for one alarm
        throttled |= {m["Dimensions"][0]["Value"]["Ref"] for m in metrics if m["MetricName"] == "Throttles"}
    assert throttled == set(of_type("AWS::Lambda::Function"))


def _methods() -> dict[str, dict[str, Any]]:
    (api,) = of_type("AWS::ApiGateway::RestApi").values()
    paths: dict[str, dict[str, Any]] = api["Body"]["paths"]
    return paths


def test_a_browser_may_ask_for_a_keyed_path_without_the_key() -> None:
    keyed = {path: methods for path, methods in _methods().items() if path.startswith("/keyed/")}
    assert len(keyed) == 10
    for methods in keyed.values():
        assert methods["x-amazon-apigateway-any-method"]["security"] == [{"api_key": []}]
        assert not methods["options"].get("security")


@pytest.mark.parametrize(
    "refusal, status, code",
    [
        ("INVALID_API_KEY", 403, "API_KEY_REQUIRED"),
        ("QUOTA_EXCEEDED", 429, "RATE_LIMITED"),
        ("THROTTLED", 429, "RATE_LIMITED"),
    ],
)
def test_what_the_gateway_refuses_itself_has_an_envelope(refusal: str, status: int, code: str) -> None:
    (api,) = of_type("AWS::ApiGateway::RestApi").values()
    answer = api["Body"]["x-amazon-apigateway-gateway-responses"][refusal]
    assert int(answer["statusCode"]) == status
    envelope = json.loads(answer["responseTemplates"]["application/json"])
    assert envelope["error_code"] == code
    assert ("gatewayresponse.header.Retry-After" in answer["responseParameters"]) == (status == 429)


def test_the_access_log_holds_no_query() -> None:
    (stage,) = of_type("AWS::ApiGateway::Stage").values()
    told = json.loads(stage["AccessLogSetting"]["Format"])
    assert "path" in told
    assert not any("query" in value.lower() or "requestBody" in value or "identity" in value for value in told.values())


def test_a_failed_build_or_report_is_told_after_its_retries() -> None:
    told = {config["FunctionName"]["Ref"]: config for config in of_type("AWS::Lambda::EventInvokeConfig").values()}
    assert set(told) == {"IndexerFunction", "TelemetryReportFunction"}
    for config in told.values():
        assert config["DestinationConfig"]["OnFailure"]["Destination"] == {"Ref": "AlarmTopic"}


def test_outputs_name_what_the_operator_has_to_type() -> None:
    assert {"ApiUrl", "McpUrl", "WebhookUrl", "UsagePlanId", "IndexerName", "BucketName"} <= set(
        translated()["Outputs"]
    )


def test_the_card_of_costs_follows_the_template() -> None:
    written = load(TEMPLATE)
    before = {item.name: item for item in costs(written)}
    assert before["3 × secret"].monthly == pytest.approx(1.2)
    written["Resources"]["Another"] = {"Type": "AWS::SecretsManager::Secret", "Properties": {}}
    assert monthly(costs(written), 2) - monthly(tuple(before.values()), 2) == pytest.approx(0.4)
    assert monthly(tuple(before.values()), 1) > monthly(tuple(before.values()), 0) > 20
