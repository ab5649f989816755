"""Counts calls in DynamoDB: one conditional update a call, rows that expire by themselves."""

from __future__ import annotations

from typing import Any

from botocore.exceptions import ClientError

from lamina.contract.ports import StoreUnavailable
from lamina.stores.aws import NO_ANSWER, code_of

KEY_ATTRIBUTE = "id"
TTL_ATTRIBUTE = "expires_at"


class DynamoRateCounter:
    """A row per caller and window in a table keyed by the string `id`, with time to live on `expires_at`.

    A retry after a lost answer may count a call twice: the limit errs to the strict side, never over.
    """

    def __init__(self, client: Any, table: str) -> None:
        self._client = client
        self._table = table

    def add(self, caller: str, window: int, amount: int, limit: int, expires_at: int) -> bool:
        """Adds `amount` if the sum stays within `limit` and says whether it did. Atomic across processes."""
        if amount > limit:
            return False
        try:
            self._client.update_item(
                TableName=self._table,
                Key={KEY_ATTRIBUTE: {"S": f"{window}#{caller}"}},
                UpdateExpression="ADD used :amount SET expires_at = :expires",
                ConditionExpression="attribute_not_exists(used) OR used <= :room",
                ExpressionAttributeValues={
                    ":amount": {"N": str(amount)},
                    ":room": {"N": str(limit - amount)},
                    ":expires": {"N": str(expires_at)},
                },
            )
        except ClientError as error:
            code = code_of(error)
            if code == "ConditionalCheckFailedException":
                return False
            raise StoreUnavailable(f"DynamoDB answered {code}") from error
        except NO_ANSWER as error:
            raise StoreUnavailable(f"DynamoDB did not answer: {type(error).__name__}") from error
        return True
