"""Markdown from a GitHub repository: which commit a ref means now, and the archive of exactly that commit."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import quote

from urllib3.response import BaseHTTPResponse

from lamina.contract.ports import SourceTree, SourceUnavailable
from lamina.sources.address import GitHubAddress
from lamina.sources.archive import read_archive
from lamina.sources.bounds import Bounds
from lamina.sources.egress import Egress, origin_of, redirected
from lamina.sources.tree import TreeBuilder

_SHA = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MOST_REDIRECTS = 5
_LONGEST_SHA_ANSWER = 256
_LONGEST_WAIT_TOLD = 3600
_FAULT_RETRY_AFTER = 30
_LIMIT_RETRY_AFTER = 60
_REASONS: Mapping[int, str] = {
    401: "GitHub refused the token",
    403: "GitHub denied access",
    404: "GitHub knows no such repository or ref, or the token may not read it",
    409: "the repository is empty",
    410: "the repository is gone",
    422: "GitHub knows no such ref",
    451: "the repository is not available for legal reasons",
}


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to back off within one call: `retries` times, each wait at most `seconds`."""

    retries: int = 2
    seconds: float = 5.0
    first_seconds: float = 0.5
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.time


@dataclass(frozen=True, slots=True)
class GitHubHosts:
    """Where the API is, and which origins its archives may come from. The token goes to the API alone."""

    api: str = "https://api.github.com"
    archives: tuple[str, ...] = ("https://codeload.github.com",)

    def egress(self) -> Egress:
        """A way out to these hosts and no others."""
        return Egress(frozenset(origin_of(url) for url in (self.api, *self.archives)))


@dataclass(slots=True)
class _Seen:
    """The last answer to `revision`, to ask conditionally the next time."""

    etag: str
    sha: str


@dataclass(slots=True)
class GitHubSource:
    """One repository at one ref. Keep the instance: an unchanged revision then costs no rate limit."""

    address: GitHubAddress
    token: str | None = field(default=None, repr=False)
    bounds: Bounds = field(default_factory=Bounds)
    hosts: GitHubHosts = field(default_factory=GitHubHosts)
    egress: Egress | None = None
    patience: Patience = field(default_factory=Patience)
    _seen: _Seen | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        """The address as the allow list names it."""
        return self.address.url

    def revision(self) -> str:
        """The SHA of the commit that the ref (without one: the default branch) means now."""
        path = f"commits/{quote(self.address.ref or 'HEAD', safe='')}"
        headers = {"Accept": "application/vnd.github.sha"}
        seen = self._seen
        if seen is not None:
            headers["If-None-Match"] = seen.etag
        with self._answer(path, headers) as response:
            if response.status == 304 and seen is not None:
                return seen.sha
            _require_ok(response)
            sha = response.read(_LONGEST_SHA_ANSWER).decode("ascii", "replace").strip()
            if not _SHA.fullmatch(sha):
                raise SourceUnavailable("GitHub answered with something that is no commit id")
            etag = response.headers.get("ETag")
            self._seen = _Seen(etag, sha) if etag else None
            return sha

    def fetch(self, revision: str) -> SourceTree:
        """The Markdown of that commit; ValueError if `revision` is no full SHA."""
        if not _SHA.fullmatch(revision):
            raise ValueError("a revision of a GitHub source is a full SHA")
        builder = TreeBuilder(self.bounds)
        with self._answer(f"tarball/{revision}", {"Accept": "application/vnd.github+json"}) as response:
            _require_ok(response)
            read_archive(lambda size: response.read(size, decode_content=False), self.address.subdir, builder)
        return builder.tree(revision)

    @contextmanager
    def _answer(self, path: str, headers: Mapping[str, str]) -> Iterator[BaseHTTPResponse]:
        """The final answer to a request: redirects followed, limits and faults waited for within bounds."""
        egress = self.egress or self.hosts.egress()
        api = origin_of(self.hosts.api)
        owner, repository = quote(self.address.owner), quote(self.address.repository)
        first = url = f"{self.hosts.api.rstrip('/')}/repos/{owner}/{repository}/{path}"
        redirects = retries = 0
        deadline = time.monotonic() + self.bounds.seconds
        while True:
            sent = dict(headers)
            if self.token and origin_of(url) == api:
                sent["Authorization"] = f"Bearer {self.token.strip()}"
            with egress.get(url, sent, deadline - time.monotonic()) as response:
                location = response.headers.get("Location")
                if response.status in _REDIRECTS and location:
                    redirects += 1
                    if redirects > _MOST_REDIRECTS:
                        raise SourceUnavailable("GitHub redirects too often")
                    url = redirected(url, location)
                    continue
                wait = self._wait(response, retries)
                if wait is None:
                    yield response
                    return
            retries += 1
            url = first
            self.patience.sleep(wait)

    def _wait(self, response: BaseHTTPResponse, retries: int) -> float | None:
        """Seconds to wait before trying again, None where the answer stands.

        SourceUnavailable with `retry_after` where it would take longer, or was tried often enough.
        """
        if (limit := self._limit_seconds(response)) is not None:
            wait, told, reason = float(limit), limit, "GitHub's rate limit is reached"
        elif response.status >= 500:
            wait, told = self.patience.first_seconds * 2**retries, _FAULT_RETRY_AFTER
            reason = f"GitHub answered {response.status}"
        else:
            return None
        if retries >= self.patience.retries or wait > self.patience.seconds:
            raise SourceUnavailable(reason, retry_after=told)
        return wait

    def _limit_seconds(self, response: BaseHTTPResponse) -> int | None:
        """Seconds until GitHub takes requests again, None where the answer is no rate limit."""
        after = response.headers.get("Retry-After")
        is_spent = response.headers.get("X-RateLimit-Remaining") == "0"
        if response.status != 429 and not (response.status == 403 and (after or is_spent)):
            return None
        reset = response.headers.get("X-RateLimit-Reset") or ""
        if after and after.isdecimal():
            seconds = int(after)
        elif reset.isdecimal():
            seconds = int(reset) - int(self.patience.now())
        else:
            seconds = _LIMIT_RETRY_AFTER
        return min(max(seconds, 1), _LONGEST_WAIT_TOLD)


def _require_ok(response: BaseHTTPResponse) -> None:
    if response.status != 200:
        raise SourceUnavailable(_REASONS.get(response.status, f"GitHub answered {response.status}"))
