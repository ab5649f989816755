"""Which encoder a deployment uses: the operator's choice, what is installed, and how large a base is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from lamina.contract.ports import Encoder

AUTO: Final = "auto"
SMALL: Final = "small"
STATIC: Final = "static"
NONE: Final = "none"
BEDROCK_PREFIX: Final = "bedrock:"
MOST_ENCODED: Final = 3_000
"""Documents of a base up to which `auto` takes the small encoder: 14 minutes of one core for their first build."""


def check(setting: str) -> str:
    """The setting as it is. Raises ValueError for one that names no encoder."""
    if setting.startswith(BEDROCK_PREFIX):
        from lamina.encoders.bedrock import foundation_model

        foundation_model(setting.removeprefix(BEDROCK_PREFIX))
    elif setting not in (AUTO, SMALL, STATIC, NONE):
        raise ValueError(f"{setting!r} is no encoder; they are auto, small, static, none and bedrock:MODEL")
    return setting


@dataclass(frozen=True, slots=True)
class EncoderChoice:
    """The encoders of a deployment under one setting, each made once. `bedrock` makes the client of Amazon Bedrock."""

    setting: str = NONE
    bedrock: Callable[[], Any] = lambda: None
    _made: dict[str, Encoder] = field(default_factory=dict, compare=False)

    @property
    def identity(self) -> str:
        """What decides, beside the size of a base, which encoder it gets."""
        if self.setting != AUTO:
            return self.setting
        return f"{AUTO}, small {_small_is_installed()}, static {_static_is_installed()}"

    def for_building(self, documents: int) -> Encoder | None:
        """The encoder for a base of so many documents; None where it is to be found by words alone.

        An encoder that was asked for by name is given also where it is not installed, and says so when it is used.
        """
        if self.setting == NONE:
            return None
        if self.setting.startswith(BEDROCK_PREFIX):
            return self._bedrock()
        if self.setting == SMALL or (self.setting == AUTO and documents <= MOST_ENCODED and _small_is_installed()):
            return self._small()
        if self.setting == STATIC or (self.setting == AUTO and _static_is_installed()):
            return self._static()
        return None

    def named(self, name: str) -> Encoder | None:
        """The encoder whose vectors bear that name, if this deployment may use it and it is installed."""
        if self.setting == NONE:
            return None
        if self.setting.startswith(BEDROCK_PREFIX):
            candidates = [self._bedrock()]
        else:
            candidates = [self._small()] if _small_is_installed() else []
            candidates += [self._static()] if _static_is_installed() else []
        return next((encoder for encoder in candidates if encoder.name == name), None)

    def _small(self) -> Encoder:
        if SMALL not in self._made:
            from lamina.encoders.small import SmallEncoder

            self._made[SMALL] = SmallEncoder()
        return self._made[SMALL]

    def _static(self) -> Encoder:
        if STATIC not in self._made:
            from lamina.encoders.static import StaticEncoder

            self._made[STATIC] = StaticEncoder()
        return self._made[STATIC]

    def _bedrock(self) -> Encoder:
        if self.setting not in self._made:
            from lamina.encoders.bedrock import BedrockEncoder

            self._made[self.setting] = BedrockEncoder(self.setting.removeprefix(BEDROCK_PREFIX), self.bedrock())
        return self._made[self.setting]


def _small_is_installed() -> bool:
    from lamina.encoders.small import is_installed

    return is_installed()


def _static_is_installed() -> bool:
    from lamina.encoders.static import is_installed

    return is_installed()
