"""Builds the indexes of a local deployment, with progress, and again when its sources change."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from lamina.contract.ports import AlreadyExists, Source, SourceUnavailable, StoreUnavailable
from lamina.index.build import Progress
from lamina.local.deployment import Deployment, DeploymentError
from lamina.runtime.feeds import SourceOpener
from lamina.runtime.indexing import Built, Feed, Indexer
from lamina.runtime.signing import local_key
from lamina.stores.folder import FolderStore

logger = logging.getLogger(__name__)

_LOOK_SECONDS = 1.0
_REMOTE_LOOKS = 300

Reporter = Callable[[str], Progress]


@dataclass(frozen=True, slots=True)
class LocalIndexes:
    """The baseline and the named overlays of one deployment, each with its source opened once."""

    deployment: Deployment
    indexer: Indexer
    baseline: Feed
    overlays: dict[str, Feed] = field(default_factory=dict)

    @classmethod
    def of(cls, deployment: Deployment) -> LocalIndexes:
        """The indexes of a deployment. Nothing is read yet."""
        opener = SourceOpener(token=lambda: os.environ.get("GITHUB_TOKEN") or None)
        key_path = deployment.data / "signing.key"
        return cls(
            deployment,
            Indexer(FolderStore(deployment.data / "store"), lambda: local_key(key_path)),
            Feed(opener.open(deployment.address()), deployment.settings.get("baseline")),
            {
                one.name: Feed(opener.open(one.address), deployment.settings.get(one.name))
                for one in deployment.allow_list().named
            },
        )

    def build(self, reporter: Reporter) -> list[Built]:
        """Brings every index up to date. Raises DeploymentError where a source cannot be read or holds nothing."""
        built = []
        for name, overlay in [(None, None), *self.overlays.items()]:
            try:
                one = self.indexer.index(name, self.baseline, overlay, reporter(name or "baseline"))
            except SourceUnavailable as error:
                where = (overlay or self.baseline).source.url
                raise DeploymentError(f"{name or 'the baseline'} ({where}) cannot be read: {error.reason}") from error
            built.append(one)
        return built

    def watch(self, stop: threading.Event) -> None:
        """Builds again whenever a source changes, until told to stop. A failed build leaves the index as it was."""
        seen = self._revisions(remote=True)
        looks = 0
        while not stop.wait(_LOOK_SECONDS):
            looks += 1
            now = {**seen, **self._revisions(remote=looks % _REMOTE_LOOKS == 0)}
            if now == seen:
                continue
            seen = now
            try:
                for one in self.build(lambda name: lambda done, total: None):
                    if not one.unchanged:
                        logger.info("%s: indexed again, %s documents", one.name, one.documents)
            except (DeploymentError, StoreUnavailable, AlreadyExists) as error:
                logger.warning("not indexed again: %s", error)

    def _revisions(self, *, remote: bool) -> dict[str, str]:
        """The revision of each source that can be told; remote ones only when asked."""
        found = {}
        for name, feed in [("baseline", self.baseline), *self.overlays.items()]:
            if remote or is_local(feed.source):
                try:
                    found[name] = feed.source.revision()
                except SourceUnavailable as error:
                    logger.warning("%s cannot be looked at: %s", name, error.reason)
        return found


def is_local(source: Source) -> bool:
    """Whether looking at a source costs no network."""
    return not source.url.startswith(("https://", "s3://"))


