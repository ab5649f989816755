"""The composition root of the indexer, whose parser and sources no other function imports."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from lamina.contract.ports import BuildQueue
from lamina.indexer.builds import Builder, ThreadedBuilds
from lamina.indexer.indexing import Indexer
from lamina.runtime.metrics import Fault
from lamina.runtime.settings import Settings
from lamina.runtime.signing import secret_of, signing_key_of
from lamina.runtime.wiring import SourceOpener, count_on_aws, encoder_choice, object_store
from lamina.sources.address import AllowList, parse_address
from lamina.stores.lambda_builds import LambdaBuilds


@dataclass(frozen=True, slots=True)
class IndexerRuntime:
    """What the indexer needs."""

    builder: Builder
    queue: BuildQueue
    webhook_secret: Callable[[], bytes | None]
    on_failure: Callable[[], None] = lambda: None


@cache
def wire_indexer() -> IndexerRuntime:
    """The indexer's runtime of this process."""
    return compose_indexer(Settings.of(os.environ))


def compose_indexer(settings: Settings) -> IndexerRuntime:
    """The indexer of these settings."""
    made = builder(settings)
    name = settings.indexer_function
    queue: BuildQueue = ThreadedBuilds(made) if name is None else LambdaBuilds(name, patient=True)

    def failed() -> None:
        count_on_aws(settings, Fault.BUILD_FAILED)

    return IndexerRuntime(made, queue, secret_of(settings, settings.webhook_secret, "webhook.secret"), failed)


def builder(settings: Settings) -> Builder:
    """What builds the indexes of a deployment."""
    local, store = settings.data is not None, object_store(settings, patient=True)
    github = secret_of(settings, settings.github_secret, "github.token")

    def token() -> str | None:
        found = github() if not local else (os.environ.get("GITHUB_TOKEN") or "").encode() or github()
        return found.decode().strip() or None if found else None

    return Builder(
        store,
        Indexer(store, signing_key_of(settings), accepts_empty=not local, encoders=encoder_choice(settings)),
        SourceOpener(token),
        parse_address(settings.baseline or "", allow_folders=local),
        AllowList.parse(settings.allow, allow_folders=local),
        names_process=local,
    )
