"""The only way out to HTTP hosts: named origins, at addresses that were checked, within a deadline."""

from __future__ import annotations

import http.client
import ipaddress
import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.response import BaseHTTPResponse

from lamina.contract.ports import SourceUnavailable

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolver = Callable[[str, int], Sequence[str]]

_NETWORK = (urllib3.exceptions.HTTPError, http.client.HTTPException, OSError)
_PORTS = {"https": 443, "http": 80}
_UNCLEAR = re.compile(r"[^\x21-\x7e]|\\")
# What `ipaddress` calls global, and still may lead inside: NAT64 (RFC 6052), IPv4-compatible, site-local, and the
# IETF's own IPv4 addresses.
_INNER = tuple(ipaddress.ip_network(network) for network in ("64:ff9b::/96", "::/96", "fec0::/10", "192.0.0.0/24"))


def is_public(address: IPAddress) -> bool:
    """Whether an address is on the public internet, whatever form it hides in."""
    if isinstance(address, ipaddress.IPv6Address):
        hidden = address.ipv4_mapped or address.sixtofour or (address.teredo and address.teredo[1])
        if hidden and not is_public(hidden):
            return False
        if address.ipv4_mapped:
            return True
    if any(address in network for network in _INNER):
        return False
    return address.is_global and not address.is_multicast


def resolve_host(host: str, port: int) -> Sequence[str]:
    """The addresses that the system's resolver knows, in its order."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return [str(entry[4][0]) for entry in found]


def origin_of(url: str) -> str:
    """`scheme://host:port` of a URL, lower case; SourceUnavailable unless it is plain HTTP(S), no user."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise SourceUnavailable("the host sent a malformed address") from error
    if _UNCLEAR.search(url) or parts.scheme not in _PORTS or not parts.hostname or "@" in parts.netloc:
        raise SourceUnavailable("the host sent an address that is not plain HTTPS")
    return f"{parts.scheme}://{parts.hostname}:{port or _PORTS[parts.scheme]}"


def redirected(url: str, location: str) -> str:
    """Where a redirect from `url` leads; whether that is allowed is for Egress to judge."""
    try:
        return urljoin(url, location)
    except ValueError as error:
        raise SourceUnavailable("the host sent a malformed address") from error


@dataclass(frozen=True, slots=True)
class Egress:
    """Sends GET requests to the `origins` alone, never through a proxy, never following a redirect.

    A host is resolved once and the connection goes to the address that was checked, so that a second answer
    of the DNS cannot move it. `step_seconds` bounds each wait on the network. `is_permitted` and `resolve`
    are for tests on loopback.
    """

    origins: frozenset[str]
    is_permitted: Callable[[IPAddress], bool] = is_public
    resolve: Resolver = resolve_host
    tls: ssl.SSLContext | None = None
    step_seconds: float = 10.0

    @contextmanager
    def get(self, url: str, headers: Mapping[str, str], seconds: float) -> Iterator[BaseHTTPResponse]:
        """The response, its body still to be read, raw; after `seconds` the connection is cut.

        Raises SourceUnavailable before anything is sent if the origin or its address is not permitted, and
        for every failure of the network, also while the body is read inside the block.
        """
        origin = origin_of(url)
        if origin not in self.origins:
            raise SourceUnavailable(f"{urlsplit(url).hostname} is not an allowed host")
        addresses = self._addresses(origin)
        with _Watchdog(seconds) as watchdog:
            try:
                connection = watchdog.connection = self._connected(origin, addresses, watchdog)
                watchdog.socket = connection.sock
                headers = {"User-Agent": "lamina", **headers, "Host": urlsplit(url).netloc}
                connection.request("GET", _target(url), headers=headers, preload_content=False)
                with closing(connection.getresponse()) as response:
                    yield response
            except (SourceUnavailable, *_NETWORK) as error:
                if watchdog.has_cut:
                    raise SourceUnavailable("the host took too long to answer") from error
                if isinstance(error, SourceUnavailable):
                    raise
                raise SourceUnavailable(f"the connection failed: {type(error).__name__}") from error

    def _addresses(self, origin: str) -> Sequence[str]:
        """All addresses of the host; one that is not permitted refuses them all."""
        parts = urlsplit(origin)
        host = parts.hostname or ""
        try:
            addresses = self.resolve(host, parts.port or 0)
        except (OSError, UnicodeError) as error:
            raise SourceUnavailable(f"{host} cannot be resolved") from error
        if not addresses:
            raise SourceUnavailable(f"{host} has no address")
        if not all(self.is_permitted(ipaddress.ip_address(address)) for address in addresses):
            raise SourceUnavailable(f"{host} is not at a public address")
        return addresses

    def _connected(self, origin: str, addresses: Sequence[str], watchdog: _Watchdog) -> HTTPConnection:
        """A connection to the first address that takes one; the certificate has to be the host's, not its."""
        parts = urlsplit(origin)
        for address in addresses:
            if parts.scheme == "https":
                connection: HTTPConnection = HTTPSConnection(
                    address,
                    parts.port,
                    timeout=self.step_seconds,
                    server_hostname=parts.hostname,
                    ssl_context=self.tls or ssl.create_default_context(),
                )
            else:
                connection = HTTPConnection(address, parts.port, timeout=self.step_seconds)
            watchdog.connection = connection
            try:
                connection.connect()
                return connection
            except _NETWORK:
                connection.close()
                if watchdog.has_cut or address == addresses[-1]:
                    raise
        raise SourceUnavailable("no address to connect to")


class _Watchdog:
    """Cuts a connection when its time is up.

    Socket time-outs bound one wait each; a host that sends a byte at a time would pass them for ever.
    """

    def __init__(self, seconds: float) -> None:
        self.has_cut = False
        self.connection: HTTPConnection | None = None
        self.socket: socket.socket | None = None
        self._timer = threading.Timer(max(seconds, 0.0), self._cut)
        self._timer.daemon = True

    def __enter__(self) -> _Watchdog:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        if self.connection is not None:
            self.connection.close()

    def _cut(self) -> None:
        self.has_cut = True
        held = self.socket or (self.connection and self.connection.sock)
        if held:
            # The base method: that of a TLS socket would let the reader go on in plain text.
            with suppress(OSError):
                socket.socket.shutdown(held, socket.SHUT_RDWR)


def _target(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
