"""Builds the indexes of a local deployment, with progress, and again when its sources change."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from lamina.contract.ports import AlreadyExists, Source, SourceUnavailable, StoreUnavailable
from lamina.index.build import Progress
from lamina.indexer.builds import Builder
from lamina.indexer.indexing import Built
from lamina.indexer.wiring import builder
from lamina.local.deployment import Deployment, DeploymentError
from lamina.runtime.catalogue import SETTINGS_PREFIX, index_name, settings_key
from lamina.runtime.settings import Settings
from lamina.sources.address import Address, AllowedKnowledgeBase, BucketAddress, FolderAddress, GitHubAddress

logger = logging.getLogger(__name__)

_LOOK_SECONDS = 1.0
_REMOTE_LOOKS = 300
_RETRY_LOOKS = 15
_WAIT_SECONDS = 5.0

_REMEDIES: Mapping[type[Address], str] = {
    FolderAddress: "Give the folder that holds the .md files.",
    GitHubAddress: "Check address and network; a private repository, or many calls, need a token in GITHUB_TOKEN.",
    BucketAddress: "Check the address, the network and your AWS credentials.",
}

Reporter = Callable[[str], Progress]


@dataclass(frozen=True, slots=True)
class LocalIndexes:
    """The baseline and the named overlays of one deployment, and what builds their indexes."""

    deployment: Deployment
    builder: Builder

    @classmethod
    def of(cls, deployment: Deployment) -> LocalIndexes:
        """The indexes of a deployment. Its store then holds the settings that it lays over, and no others."""
        made = builder(Settings.of(deployment.environment()))
        laid = {
            settings_key(index_name(None if name == "baseline" else name)): text
            for name, text in deployment.settings.items()
        }
        for key in made.store.keys(SETTINGS_PREFIX):
            if key not in laid:
                made.store.delete(key)
        for key, text in laid.items():
            made.store.replace(key, text.encode())
        return cls(deployment, made)

    def build(self, reporter: Reporter, *, by_words: bool = False) -> list[Built]:
        """Brings every index up to date. Raises DeploymentError where a source cannot be read or holds nothing.

        `by_words` leaves vectors that take long to `watch`.
        """
        return [self._build(wanted, reporter, by_words) for wanted in (None, *self.builder.allow.named)]

    def watch(self, stop: threading.Event) -> None:
        """Builds again whenever a source changes, until told to stop.

        A failed build leaves the index as it was and those of the others to be built, and is tried again.
        """
        sources = {name: self.builder.opener.open(address) for name, address in self._addresses().items()}
        seen = _revisions(sources)
        local = {name: sources[name] for name, a in self._addresses().items() if isinstance(a, FolderAddress)}
        looks = 0
        current = [self._rebuild(wanted) for wanted in (None, *self.builder.allow.named)]
        is_behind = not all(current)
        while not stop.wait(_LOOK_SECONDS):
            looks += 1
            now = {**seen, **_revisions(sources if looks % _REMOTE_LOOKS == 0 else local)}
            if now != seen or (is_behind and looks % _RETRY_LOOKS == 0):
                seen = now
                current = [self._rebuild(wanted) for wanted in (None, *self.builder.allow.named)]
                is_behind = not all(current)

    def _rebuild(self, wanted: AllowedKnowledgeBase | None) -> bool:
        """Brings one index up to date and says whether it is; whatever fails must not end the watch."""
        try:
            built = self._build(wanted, lambda name: lambda done, total: None, by_words=False)
        except (DeploymentError, StoreUnavailable, AlreadyExists) as error:
            logger.warning("not indexed again: %s", error)
            return False
        except Exception:
            logger.error("not indexed again", exc_info=True)
            return False
        if not built.unchanged:
            logger.info("%s: indexed again, %s documents", built.name, built.documents)
        return built.meaning != "unavailable"

    def _build(self, wanted: AllowedKnowledgeBase | None, reporter: Reporter, by_words: bool) -> Built:
        """Brings one index up to date, after another build of it if one runs. Raises DeploymentError."""
        name = wanted.name if wanted else "baseline"
        try:
            files, pieces = reporter(name), reporter(f"{name} by meaning")
            built = self.builder.build(wanted, files, pieces, by_words=by_words)
            while built is None:
                logger.warning("%s: waiting for another build", name)
                time.sleep(_WAIT_SECONDS)
                built = self.builder.build(wanted, files, pieces, by_words=by_words)
        except SourceUnavailable as error:
            address = wanted.address if wanted else self.builder.baseline
            raise DeploymentError(
                f"{name} ({address.url}) cannot be indexed: {error.reason}. {_REMEDIES[type(address)]}"
            ) from error
        return replace(built, name=name)

    def _addresses(self) -> dict[str, Address]:
        return {
            "baseline": self.builder.baseline,
            **{overlay.name: overlay.address for overlay in self.builder.allow.named},
        }


def _revisions(sources: dict[str, Source]) -> dict[str, str]:
    """The revision of each source that can be told."""
    found = {}
    for name, source in sources.items():
        try:
            found[name] = source.revision()
        except SourceUnavailable as error:
            logger.warning("%s cannot be looked at: %s", name, error.reason)
    return found
