"""An address → the source that reads it, with what the deployment knows to read it by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from lamina.contract.ports import Source
from lamina.sources.address import Address, BucketAddress, FolderAddress
from lamina.sources.bounds import Bounds


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
            from lamina.stores.s3 import make_client

            return BucketSource(make_client("s3", read_seconds=20.0, attempts=5), address, self.bounds)
        from lamina.sources.github import GitHubSource

        return GitHubSource(address, token=self.token(), bounds=self.bounds)
