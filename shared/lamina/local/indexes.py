"""Builds the indexes of a local deployment, with progress, and again when its sources change."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from lamina.contract.ports import AlreadyExists, Source, SourceUnavailable, StoreUnavailable
from lamina.index.build import Progress
from lamina.local.deployment import Deployment, DeploymentError
from lamina.runtime.builds import Builder
from lamina.runtime.catalogue import index_name, settings_key
from lamina.runtime.indexer_wiring import builder
from lamina.runtime.indexing import Built
from lamina.runtime.settings import Settings
from lamina.sources.address import Address, FolderAddress

logger = logging.getLogger(__name__)

_LOOK_SECONDS = 1.0
_REMOTE_LOOKS = 300
_WAIT_SECONDS = 5.0

Reporter = Callable[[str], Progress]


@dataclass(frozen=True, slots=True)
class LocalIndexes:
    """The baseline and the named overlays of one deployment, and what builds their indexes."""

    deployment: Deployment
    builder: Builder

    @classmethod
    def of(cls, deployment: Deployment) -> LocalIndexes:
        """The indexes of a deployment. The settings it lays over its knowledge bases are written to its store."""
        made = builder(Settings.of(deployment.environment()))
        for name, text in deployment.settings.items():
            made.store.replace(settings_key(index_name(None if name == "baseline" else name)), text.encode())
        return cls(deployment, made)

    def build(self, reporter: Reporter) -> list[Built]:
        """Brings every index up to date. Raises DeploymentError where a source cannot be read or holds nothing."""
        built = []
        for wanted in (None, *self.builder.allow.named):
            name = wanted.name if wanted else "baseline"
            try:
                one = self.builder.build(wanted, reporter(name))
                while one is None:
                    logger.warning("%s: waiting for another build", name)
                    time.sleep(_WAIT_SECONDS)
                    one = self.builder.build(wanted, reporter(name))
            except SourceUnavailable as error:
                where = wanted.url if wanted else self.deployment.baseline
                raise DeploymentError(f"{name} ({where}) cannot be read: {error.reason}") from error
            if one.documents == 0:
                where = wanted.url if wanted else self.deployment.baseline
                raise DeploymentError(
                    f"{name} ({where}) holds no Markdown that can be indexed. Give the folder that holds the .md files."
                )
            built.append(one)
        return built

    def watch(self, stop: threading.Event) -> None:
        """Builds again whenever a source changes, until told to stop. A failed build leaves the index as it was."""
        sources = {name: self.builder.opener.open(address) for name, address in self._addresses().items()}
        seen = _revisions(sources)
        local = {name: sources[name] for name, a in self._addresses().items() if isinstance(a, FolderAddress)}
        looks = 0
        while not stop.wait(_LOOK_SECONDS):
            looks += 1
            now = {**seen, **_revisions(sources if looks % _REMOTE_LOOKS == 0 else local)}
            if now == seen:
                continue
            seen = now
            try:
                for one in self.build(lambda name: lambda done, total: None):
                    if not one.unchanged:
                        logger.info("%s: indexed again, %s documents", one.name, one.documents)
            except (DeploymentError, StoreUnavailable, AlreadyExists) as error:
                logger.warning("not indexed again: %s", error)

    def _addresses(self) -> dict[str, Address]:
        return {
            "baseline": self.builder.baseline,
            **{one.name: one.address for one in self.builder.allow.named},
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
