"""Whether the indexes of this process are built yet, and how far they are: a server answers before they are."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from lamina.index.build import Progress


class Readiness:
    """Told by the thread that builds, asked by the one that answers."""

    def __init__(self) -> None:
        self._done = threading.Event()
        self._counts: dict[str, tuple[int, int]] = {}

    def reporter(self, name: str) -> Progress:
        """What a build tells of one index: files done, files in all."""

        def report(done: int, total: int) -> None:
            self._counts[name] = (done, total)

        return report

    def built(self) -> None:
        """Says that the builds have ended, whatever came of them."""
        self._done.set()

    def wait(self, seconds: float) -> bool:
        """Waits for the end of the builds for so long at most, and says whether they have ended."""
        return self._done.wait(seconds)

    def steps(self, seconds: float) -> Iterator[tuple[int, int]]:
        """Files done and files in all, looked at so often and told when there are more, until the builds have ended."""
        told = -1
        while not self._done.wait(seconds):
            counts = list(self._counts.values())
            done, total = sum(done for done, _ in counts), sum(total for _, total in counts)
            if done > told:
                told = done
                yield done, total


READY = Readiness()
"""For a process that builds nothing."""
READY.built()
