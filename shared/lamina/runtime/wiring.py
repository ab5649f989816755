"""The composition root: settings → the parts that a call needs, made once, at the first call."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

from lamina.contract.errors import LaminaError
from lamina.contract.ports import ObjectStore
from lamina.governance.manifest import required_paths
from lamina.runtime.settings import Settings
from lamina.runtime.signing import signing_key_of
from lamina.runtime.warm import WarmSnapshots
from lamina.sources.address import AllowedKnowledgeBase, AllowList
from lamina.telemetry.record import RecordSink


@dataclass(slots=True)
class Runtime:
    """What outlives a call, and the few things that only the rim may know: clocks and configuration."""

    settings: Settings
    store: ObjectStore
    warm: WarmSnapshots
    allow: AllowList
    sink: RecordSink
    clock: Callable[[], float] = time.perf_counter
    wall_clock: Callable[[], float] = time.time
    log_tracebacks: bool = False
    _cold: bool = field(default=True)

    def allowed(self, knowledge_base_url: str | None, *, has_key: bool) -> AllowedKnowledgeBase | None:
        """The knowledge base that a call names. Raises KNOWLEDGE_BASE_NOT_ALLOWED, API_KEY_REQUIRED."""
        if knowledge_base_url is None:
            return None
        allowed = self.allow.resolve(knowledge_base_url)
        if allowed.private and not has_key:
            raise LaminaError("API_KEY_REQUIRED", "this knowledge base is private: send a key in x-api-key.")
        return allowed

    def take_cold_start(self) -> bool:
        """True once."""
        cold, self._cold = self._cold, False
        return cold


@cache
def wire() -> Runtime:
    """The runtime of this process."""
    return compose(Settings.of(os.environ))


def compose(settings: Settings) -> Runtime:
    """A runtime of these settings: folder and files locally, S3 and CloudWatch on AWS."""
    store, sink = (_local if settings.data is not None else _aws)(settings)
    allow = AllowList.parse(settings.allow, allow_folders=settings.data is not None)
    warm = WarmSnapshots(
        store=store,
        signing_key=signing_key_of(settings),
        required=required_paths(),
        ttl=settings.snapshot_ttl,
        max_bytes=settings.warm_bytes,
    )
    return Runtime(settings, store, warm, allow, sink, log_tracebacks=settings.data is not None)


def _local(settings: Settings) -> tuple[ObjectStore, RecordSink]:
    from lamina.stores.folder import FolderStore  # each side imports its own adapters: a cold start pays for them
    from lamina.telemetry.files import FileSink

    if settings.data is None:
        raise ValueError("LAMINA_DATA is not set")
    return FolderStore(settings.data / "store"), FileSink(settings.data / "telemetry")


def _aws(settings: Settings) -> tuple[ObjectStore, RecordSink]:
    from lamina.runtime.metrics import MetricsSink
    from lamina.stores.s3 import S3Store, make_client

    if settings.bucket is None:
        raise ValueError("neither LAMINA_BUCKET nor LAMINA_DATA is set: nowhere to read an index from")
    return S3Store(make_client("s3"), settings.bucket), MetricsSink()
