"""Reads secrets from AWS Secrets Manager."""

from __future__ import annotations

from lamina.contract.ports import StoreUnavailable
from lamina.stores.s3 import make_client


def read_secret(name: str) -> bytes:
    """The value of a secret. Raises StoreUnavailable where it cannot be read."""
    from botocore.exceptions import BotoCoreError, ClientError
    from botocore.parsers import ResponseParserError

    try:
        # Within a function's ten seconds there has to be time left to say that it failed.
        value = make_client("secretsmanager", read_seconds=1.5, attempts=2).get_secret_value(SecretId=name)
    except (BotoCoreError, ResponseParserError, ClientError, OSError) as error:
        raise StoreUnavailable(f"the secret cannot be read: {type(error).__name__}") from error
    text = value.get("SecretString")
    return bytes(value["SecretBinary"]) if text is None else str(text).encode()
