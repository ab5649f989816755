"""A server on loopback that answers like GitHub's API host and its archive host, faults included."""

from __future__ import annotations

import gzip
import io
import ssl
import tarfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

from lamina.sources.address import GitHubAddress
from lamina.sources.egress import IPAddress
from lamina.sources.github import GitHubHosts, GitHubSource, Patience

SHA = "0123456789abcdef0123456789abcdef01234567"
OTHER_SHA = "89abcdef0123456789abcdef0123456789abcdef"


def anywhere(_: IPAddress) -> bool:
    """Permits every address, loopback too."""
    return True


@dataclass(frozen=True)
class Reply:
    """A scripted answer. `promised` is a Content-Length that the body breaks; `pause` is seconds a byte."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    promised: int | None = None
    pause: float = 0.0


@dataclass
class Repository:
    """What one repository holds: refs to commits, commits to archives; `token` makes it private."""

    refs: dict[str, str]
    archives: dict[str, bytes]
    token: str | None = None


@dataclass(frozen=True)
class Request:
    """A request that reached a host."""

    path: str
    headers: Mapping[str, str]


@dataclass
class Host:
    """One listening server. `script` answers the next requests; then `repositories` do."""

    url: str = ""
    script: list[Reply] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)


class FakeGitHub:
    """The API on one port, archives on another, so that they are two origins."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self.repositories: dict[str, Repository] = {}
        self.api = Host()
        self.archives = Host()

    def add(self, name: str, archive: bytes, *, ref: str = "HEAD", token: str | None = None) -> Repository:
        """A repository whose `ref` is the commit SHA with that archive."""
        self.repositories[name] = Repository({ref: SHA}, {SHA: archive}, token)
        return self.repositories[name]

    def source(self, name: str = "acme/handbook", patience: Patience | None = None) -> GitHubSource:
        """A source that reads the repository from here, loopback permitted."""
        owner, _, repository = name.partition("/")
        hosts = GitHubHosts(self.api.url, (self.archives.url,))
        return GitHubSource(
            GitHubAddress(owner, repository),
            hosts=hosts,
            egress=replace(hosts.egress(), is_permitted=anywhere),
            patience=patience or Patience(),
        )

    @contextmanager
    def running(self) -> Iterator[FakeGitHub]:
        """Serves until the block ends."""
        servers = [self._serve(self.api, self._api_reply), self._serve(self.archives, self._archive_reply)]
        try:
            yield self
        finally:
            for server in servers:
                server.shutdown()
                server.server_close()

    def _serve(self, host: Host, answer: Callable[[Request], Reply]) -> ThreadingHTTPServer:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                host.requests.append(Request(self.path, dict(self.headers.items())))
                _send(self, host.script.pop(0) if host.script else answer(host.requests[-1]))

            def log_message(self, format: str, *args: object) -> None:
                """Quiet."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        if self._tls:
            server.socket = self._tls.wrap_socket(server.socket, server_side=True)
        scheme = "https" if self._tls else "http"
        host.url = f"{scheme}://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return server

    def _api_reply(self, request: Request) -> Reply:
        _, _, owner, name, action, *rest = (unquote(part) for part in request.path.split("/"))
        repository = self.repositories.get(f"{owner}/{name}")
        if repository is None or not _may_read(repository, request):
            return Reply(404, body=b'{"message": "Not Found"}')
        if action == "tarball":
            location = f"{self.archives.url}/{owner}/{name}/legacy.tar.gz/{rest[0]}?token=one-time"
            return Reply(302, {"Location": location})
        sha = repository.refs.get(rest[0])
        if sha is None:
            return Reply(422, body=b'{"message": "No commit found for SHA"}')
        etag = f'"{sha}"'
        if request.headers.get("If-None-Match") == etag:
            return Reply(304, {"ETag": etag})
        return Reply(200, {"ETag": etag, "Content-Type": "application/vnd.github.sha"}, sha.encode())

    def _archive_reply(self, request: Request) -> Reply:
        owner, name, _, last = request.path.strip("/").split("/")
        repository = self.repositories[f"{owner}/{name}"]
        archive = repository.archives.get(last.partition("?")[0])
        if archive is None:
            return Reply(404)
        return Reply(200, {"Content-Type": "application/x-gzip"}, archive)


def _may_read(repository: Repository, request: Request) -> bool:
    return repository.token in (None, request.headers.get("Authorization", "").removeprefix("Bearer "))


def _send(handler: BaseHTTPRequestHandler, reply: Reply) -> None:
    handler.send_response(reply.status)
    for name, value in reply.headers.items():
        handler.send_header(name, value)
    if reply.status != 304:
        handler.send_header("Content-Length", str(reply.promised or len(reply.body)))
    handler.end_headers()
    try:
        if not reply.pause:
            handler.wfile.write(reply.body)
            return
        for byte in reply.body:
            handler.wfile.write(bytes([byte]))
            handler.wfile.flush()
            time.sleep(reply.pause)
    except (BrokenPipeError, ConnectionResetError):
        return


@dataclass(frozen=True)
class Entry:
    """An archive member, regular unless `type` says otherwise; a name after `^` is not put below the top."""

    name: str | bytes
    content: bytes = b""
    type: bytes = tarfile.REGTYPE
    target: str = ""


def tarball(entries: Iterable[Entry], top: str = "owner-repo-0123456") -> bytes:
    """A gzipped archive like GitHub's: a comment with the commit, then all entries below one folder."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT, pax_headers={"comment": SHA}) as archive:
        for entry in (Entry(top, type=tarfile.DIRTYPE), *entries):
            is_top = entry.name == top
            name = entry.name.decode("utf-8", "surrogateescape") if isinstance(entry.name, bytes) else entry.name
            member = tarfile.TarInfo(name if is_top or name.startswith("^") else f"{top}/{name}")
            member.name = member.name.removeprefix("^")
            member.type, member.linkname, member.size = entry.type, entry.target, len(entry.content)
            archive.addfile(member, io.BytesIO(entry.content))
    return gzip.compress(packed.getvalue(), mtime=0)


def tarball_of(files: Mapping[str, str]) -> bytes:
    """An archive of text files."""
    return tarball(Entry(name, text.encode()) for name, text in files.items())
