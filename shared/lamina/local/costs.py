"""What a deployment costs a month, counted from the template: what stands there whether called or not, and each call.

Prices are those of us-east-1 in US dollars, without the free tiers of a new account.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lamina.runtime.metrics import METRICS_OF_A_CALL

# Dollars a month for one of each, from the price lists of AWS.
_STANDING: Mapping[str, tuple[str, float]] = {
    "AWS::WAFv2::WebACL": ("web ACL", 5.0),
    "AWS::SecretsManager::Secret": ("secret", 0.40),
    "AWS::KMS::Key": ("key for the alarms", 1.0),
    "AWS::CloudWatch::Dashboard": ("dashboard", 3.0),
}
_WAF_RULE, _ALARM, _METRIC = 1.0, 0.10, 0.30
_MILLION_CALLS = {"API Gateway": 3.50, "Lambda, calls": 0.20, "WAF": 0.60}
_GB_SECOND, _GB_LOGGED, _GB_DELIVERED, _GB_STORED, _MILLION_WRITES = 0.0000133334, 0.50, 0.029, 0.023, 0.625

# What a call is taken to be: measured on the sample of this repository, or chosen where it depends on the callers.
CALL_MS, LOGGED_KB, ACCESS_LOG_KB, BODY_SHARE, STORED_GB = 20, 1.5, 0.4, 0.2, 0.3
# Pairs of action and status that a public deployment sees each hour: five actions that find, miss or fail, and four
# others that answer.
METRIC_PAIRS = 5 * 3 + 4


@dataclass(frozen=True, slots=True)
class Item:
    """One line of the card: `monthly` dollars whether anybody calls, `per_million` dollars for a million calls."""

    name: str
    monthly: float
    per_million: float


def costs(template: Mapping[str, Any]) -> tuple[Item, ...]:
    """The card of a template as `lamina.local.template.load` reads it."""
    resources: Mapping[str, Mapping[str, Any]] = template["Resources"]
    kinds = Counter(resource["Type"] for resource in resources.values())
    items = [Item(f"{kinds[kind]} × {name}", kinds[kind] * price, 0.0) for kind, (name, price) in _STANDING.items()]
    acls = [resource["Properties"] for resource in resources.values() if resource["Type"] == "AWS::WAFv2::WebACL"]
    rules = sum(len(acl["Rules"]) for acl in acls)
    alarms = [resource["Properties"] for resource in resources.values() if resource["Type"] == "AWS::CloudWatch::Alarm"]
    watched = sum(sum("MetricStat" in metric for metric in alarm.get("Metrics", ())) or 1 for alarm in alarms)
    metrics = METRIC_PAIRS * len(METRICS_OF_A_CALL)
    gigabytes = template["Parameters"]["ReaderMemory"]["Default"] / 1024
    items += [
        Item(f"{rules} × web ACL rule", rules * _WAF_RULE, 0.0),
        Item(f"{len(alarms)} × alarm over {watched} metrics", watched * _ALARM, 0.0),
        Item(f"{metrics} × metric of our own", metrics * _METRIC, 0.0),
        Item(f"{STORED_GB} GB in S3", STORED_GB * _GB_STORED, 0.0),
        *(Item(name, 0.0, price) for name, price in _MILLION_CALLS.items()),
        Item(f"Lambda, {gigabytes:g} GB for {CALL_MS} ms", 0.0, gigabytes * CALL_MS * 1000 * _GB_SECOND),
        Item(f"DynamoDB, one call in {1 / BODY_SHARE:g} a body", 0.0, BODY_SHARE * _MILLION_WRITES),
        Item(f"Logs, {LOGGED_KB + ACCESS_LOG_KB:g} KB a call", 0.0, (LOGGED_KB + ACCESS_LOG_KB) * _GB_LOGGED),
        Item(f"Firehose, {LOGGED_KB:g} KB a call", 0.0, LOGGED_KB * _GB_DELIVERED),
    ]
    return tuple(items)


def monthly(items: tuple[Item, ...], million_calls: float) -> float:
    """Dollars a month at that many million calls."""
    return sum(item.monthly + item.per_million * million_calls for item in items)
