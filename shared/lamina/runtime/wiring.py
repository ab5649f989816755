"""The composition root: settings → the parts that a call needs, made once, at the first call."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

from lamina.contract.errors import LaminaError
from lamina.contract.ports import BuildQueue, ObjectStore, RateCounter, Source
from lamina.encoders.choice import EncoderChoice, check
from lamina.governance.manifest import required_paths
from lamina.index.collector import collector_resting
from lamina.runtime.limits import BodyLimit
from lamina.runtime.metrics import Fault, MetricsSink, count_fault
from lamina.runtime.query_vectors import QueryVectors
from lamina.runtime.settings import Settings
from lamina.runtime.signing import signing_key_of
from lamina.runtime.warm import WarmSnapshots
from lamina.sources.address import Address, AllowedKnowledgeBase, AllowList, BucketAddress, FolderAddress
from lamina.sources.bounds import Bounds
from lamina.telemetry.record import RecordSink

if TYPE_CHECKING:
    from lamina.runtime.minting import Minting


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
    queue: BuildQueue | None = None
    query_vectors: QueryVectors = field(default_factory=lambda: QueryVectors(EncoderChoice()))
    body_limit: BodyLimit = field(default_factory=BodyLimit)
    log_tracebacks: bool = False
    forget_key: Callable[[], None] = lambda: None
    _starts: Iterator[bool] = field(default_factory=lambda: chain([True], repeat(False)))
    _addresses: dict[str, str | None] = field(default_factory=dict)
    _minting: Minting | None = None

    def allowed(self, knowledge_base_url: str | None, *, has_key: bool) -> AllowedKnowledgeBase | None:
        """The knowledge base that a call names. Raises KNOWLEDGE_BASE_NOT_ALLOWED, API_KEY_REQUIRED."""
        if knowledge_base_url is None:
            return None
        allowed = self.allow.resolve(knowledge_base_url)
        if allowed.private and not has_key:
            raise LaminaError("API_KEY_REQUIRED", "this knowledge base is private: send a key in x-api-key.")
        return allowed

    def note_address(self, index: str, knowledge_base: AllowedKnowledgeBase | None) -> None:
        """Remembers which knowledge base an index is of, for when it has to be asked for."""
        self._addresses[index] = None if knowledge_base is None else knowledge_base.url

    def want_index(self, index: str) -> None:
        """Asks for a build of an index that is missing or was refused."""
        if self.queue is not None and index in self._addresses:
            self.queue.ask(self._addresses[index])

    def refused(self, index: str, reason: str) -> None:
        """Counts a snapshot that was refused, and asks for its rebuild."""
        count_on_aws(self.settings, Fault.SNAPSHOT_REFUSED)
        self.want_index(index)

    def minting(self) -> Minting:
        """What mints and keeps receipts, made at the first one: only brief has to pay for its import."""
        if self._minting is None:
            from lamina.runtime.minting import Minting

            self._minting = Minting(self.store, self.settings.version, self.wall_clock)
        return self._minting

    def thaw(self) -> None:
        """After the process was copied while it stood still: what may have aged is asked for again.

        Connections are of another machine, the key may have been replaced, and the copy's first call is a cold start.
        """
        from lamina.stores.aws import close_connections

        close_connections()
        self.forget_key()
        self.warm.thaw()
        self._starts = chain([True], repeat(False))

    def take_cold_start(self) -> bool:
        """True once."""
        return next(self._starts)


@cache
def wire() -> Runtime:
    """The runtime of this process."""
    # Clients make much and drop little: 20 ms of a cold start.
    with collector_resting(stays=True):
        return compose(Settings.of(os.environ))


def compose(settings: Settings) -> Runtime:
    """A runtime of these settings: folder and files locally, S3 and CloudWatch on AWS."""
    store, sink = object_store(settings), _sink(settings)
    allow = AllowList.parse(settings.allow, allow_folders=settings.data is not None)
    signing_key = signing_key_of(settings)
    warm = WarmSnapshots(
        store=store,
        signing_key=signing_key,
        required=required_paths(),
        ttl=settings.snapshot_ttl,
        max_bytes=settings.warm_bytes,
    )
    runtime = Runtime(
        settings,
        store,
        warm,
        allow,
        sink,
        queue=_queue(settings),
        query_vectors=QueryVectors(encoder_choice(settings)),
        body_limit=_body_limit(settings),
        log_tracebacks=settings.data is not None,
        forget_key=signing_key.forget,
    )
    warm.on_missing = runtime.want_index
    warm.on_refused = runtime.refused
    return runtime


def object_store(settings: Settings, *, patient: bool = False) -> ObjectStore:
    """The store of a deployment: a folder locally, a bucket on AWS. Raises ValueError where neither is set.

    A reader has a caller waiting and gives up within five seconds; a `patient` store is for builds.
    """
    if settings.data is not None:
        from lamina.stores.folder import FolderStore  # each side imports its own adapters: a cold start pays

        return FolderStore(settings.data / "store")
    if settings.bucket is None:
        raise ValueError("neither LAMINA_BUCKET nor LAMINA_DATA is set: nowhere to read an index from")
    from lamina.stores.aws import make_client
    from lamina.stores.s3 import S3Store

    if patient:
        return S3Store(make_client("s3", read_seconds=20.0, attempts=5), settings.bucket)
    # Within a function's ten seconds there has to be time left to say that it failed.
    return S3Store(make_client("s3", at_cold_start=True, read_seconds=1.5, attempts=2), settings.bucket, seconds=6.0)


def encoder_choice(settings: Settings) -> EncoderChoice:
    """The encoders of a deployment. Raises ValueError for a setting that names none."""

    def bedrock() -> Any:
        from lamina.stores.aws import make_client

        return make_client("bedrock-runtime", read_seconds=5.0, attempts=3)

    return EncoderChoice(check(settings.encoder), bedrock)


def _sink(settings: Settings) -> RecordSink:
    if settings.data is not None:
        from lamina.telemetry.record import FileSink

        return FileSink(settings.data / "telemetry")
    return MetricsSink(settings.stack)


def _body_limit(settings: Settings) -> BodyLimit:
    """The limit on bodies, counted in a file locally and in a table on AWS; a function without one counts nothing."""
    data, table = settings.data, settings.limits_table

    def counter() -> RateCounter | None:
        if data is not None:
            from lamina.stores.sqlite import SqliteRateCounter

            return SqliteRateCounter(data / "limits.sqlite")
        if table is None:
            return None
        from lamina.stores.aws import make_client
        from lamina.stores.dynamodb import DynamoRateCounter

        # A table that does not answer must not hold up a reader for long.
        return DynamoRateCounter(make_client("dynamodb", at_cold_start=True, read_seconds=1.0, attempts=2), table)

    return BodyLimit(
        cache(counter),
        settings.body_limit,
        settings.version,
        on_failure=lambda: count_on_aws(settings, Fault.BODY_LIMIT_FAILURES),
    )


def count_on_aws(settings: Settings, fault: Fault) -> None:
    """Counts a fault where there is somebody to wake; on one's own machine the log says it."""
    if settings.data is None:
        count_fault(fault, settings.stack)


def _queue(settings: Settings) -> BuildQueue | None:
    """Where a missing index is asked for; a local server gives itself a queue of its own."""
    if settings.indexer_function is None:
        return None
    from lamina.stores.lambda_builds import LambdaBuilds

    return LambdaBuilds(settings.indexer_function)


@dataclass(frozen=True, slots=True)
class SourceOpener:
    """Opens sources, each once: a source remembers what its host said, which spares the rate limit.

    `token` gives the GitHub token, or None for public repositories alone.
    """

    token: Callable[[], str | None] = lambda: None
    bounds: Bounds = field(default_factory=Bounds)
    _opened: dict[tuple[str, ...], Source] = field(default_factory=dict)

    def open(self, address: Address) -> Source:
        """The source at an address. Nothing is read yet."""
        if address.identity not in self._opened:
            self._opened[address.identity] = self._source(address)
        return self._opened[address.identity]

    def _source(self, address: Address) -> Source:
        if isinstance(address, FolderAddress):
            from lamina.sources.folder import FolderSource

            return FolderSource(address.path, self.bounds)
        if isinstance(address, BucketAddress):
            from lamina.sources.bucket import BucketSource
            from lamina.stores.aws import make_client

            return BucketSource(make_client("s3", read_seconds=20.0, attempts=5), address, self.bounds)
        from lamina.sources.github import GitHubSource

        return GitHubSource(address, token=self.token(), bounds=self.bounds)
