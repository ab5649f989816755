"""What a deployment decides, read once from the environment into a frozen model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field

_PREFIX = "LAMINA_"


def variable(field: str) -> str:
    """The environment variable of a field."""
    return _PREFIX + field.upper()


class Settings(BaseModel):
    """Every variable is `LAMINA_` and the field's name in capitals. Lists are separated by line ends or commas."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    data: Path | None = Field(None, description="Folder that keeps everything, for local use.")
    bucket: str | None = Field(None, description="S3 bucket that keeps everything, on AWS.")
    baseline: str | None = Field(None, description="Address of the baseline: GitHub, s3:// or, locally, a folder.")
    allow: tuple[str, ...] = Field((), description="Overlays that callers may name: NAME=ADDRESS entries.")
    signing_secret: str | None = Field(None, description="Secrets Manager id of the snapshot signing key.")
    webhook_secret: str | None = Field(None, description="Secrets Manager id of the GitHub webhook's secret.")
    indexer_function: str | None = Field(None, description="Name of the indexer function, to ask for builds.")
    github_secret: str | None = Field(None, description="Secrets Manager id of a GitHub token.")
    snapshot_ttl: float = Field(60, ge=0, description="Seconds for which the newest snapshot is not asked for.")
    warm_bytes: int = Field(
        32 * 1024 * 1024,
        ge=1,
        description="Signed bytes of snapshots kept in memory, where they take about seven times that.",
    )
    tool_prefix: str = Field("oddkit_", description="Prefix of the MCP tools of the five actions.")
    body_limit: int = Field(60, ge=1, description="Bodies that a caller may retrieve in a clock minute.")
    limits_table: str | None = Field(None, description="DynamoDB table that counts them, on AWS.")
    records_bucket: str | None = Field(None, description="S3 bucket that telemetry records arrive in, on AWS.")
    mcp_origins: str = Field("", description="Origins whose pages may call /mcp; empty: loopback, on AWS any https.")
    encoder: str = Field(
        "auto",
        description="What finds pages in other words: auto (the small encoder where it is installed, static vectors "
        "for large bases, else none), small, static, none, or bedrock:MODEL.",
    )
    stack: str = Field("local", description="Name of the deployment, by which its metrics are told from another's.")
    version: str = Field("local", description="Version of the deployment, for telemetry and limits.")

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Self:
        """Settings from environment variables. Raises pydantic's ValidationError for one that does not fit."""
        given = {name: environment.get(variable(name), "") for name in cls.model_fields}
        allow = tuple(entry for line in given.pop("allow").splitlines() for entry in line.split(",") if entry.strip())
        return cls.model_validate({"allow": allow, **{name: value for name, value in given.items() if value}})
