"""A knowledge base's own settings, from `.kb.yml` at its root or from the operator."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from lamina.contract.filters import Kind
from lamina.corpus.kinds import DEFAULT_PREFIXES
from lamina.corpus.plain import NotPlain, plain_yaml

AXES = ("audience", "exposure", "tier")
"""Fields that the filters select by."""
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]{0,31}")


class KnowledgeBaseSettings(BaseModel):
    """What a knowledge base may settle about itself. All of it is optional."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kinds: dict[str, Kind] = Field(default_factory=dict, description="path prefix → kind, beside the default table")
    scheme: str | None = Field(default=None, description="scheme of the URIs of documents that declare none")
    ignore: tuple[str, ...] = Field(default=(), description="paths left out, in the syntax of .kbignore")
    encoder: Literal["none"] | None = Field(
        default=None, description="none: the documents are found by words alone, whatever the deployment's encoder"
    )
    subfolder: str = Field(default="", description="folder of the repository that holds the documents")
    drafts: Literal["keep", "leave_out"] = Field(
        default="keep", description="whether drafts and hidden pages are indexed: `keep` or `leave_out`"
    )
    required: tuple[str, ...] | None = Field(
        default=None,
        description="fields that `lamina check` asks of every document; without it audience, exposure and tier where "
        "the knowledge base holds a governance file, else none",
    )

    @field_validator("scheme")
    @classmethod
    def _scheme_is_one(cls, value: str | None) -> str | None:
        if value is not None and not _SCHEME.fullmatch(value):
            raise ValueError("a scheme is a lower-case letter, then letters, digits, +, . or -")
        return value

    @field_validator("subfolder")
    @classmethod
    def _subfolder_stays_inside(cls, value: str) -> str:
        parts = [part for part in value.split("/") if part not in ("", ".")]
        if ".." in parts or "\\" in value:
            raise ValueError("a subfolder is a path inside the knowledge base")
        return "/".join(parts)

    def prefixes(self) -> Mapping[str, Kind]:
        """The prefix table in force."""
        return {**DEFAULT_PREFIXES, **self.kinds}


class InvalidSettings(Exception):  # noqa: N818
    """Settings that do not fit their schema; the message names the field."""


def parse_settings(text: str | None) -> KnowledgeBaseSettings:
    """Settings from YAML text; None or blank is all defaults. Raises InvalidSettings."""
    if not text or not text.strip():
        return KnowledgeBaseSettings()
    try:
        loaded, _ = plain_yaml(text)
        return KnowledgeBaseSettings.model_validate({} if loaded is None else loaded)
    except NotPlain as error:
        raise InvalidSettings(f"settings are {error}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "settings"
        if first["type"] == "extra_forbidden":
            known = ", ".join(KnowledgeBaseSettings.model_fields)
            raise InvalidSettings(f"{field} is no setting; the settings are {known}") from error
        if first["type"] in ("model_type", "dict_type", "model_attributes_type"):
            raise InvalidSettings(f"{field} must be a mapping of keys to values") from error
        raise InvalidSettings(f"{field}: {first['msg']}") from error
