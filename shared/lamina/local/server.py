"""An HTTP server for one WSGI application: waitress, made to refuse every request that could be read in two ways."""

from __future__ import annotations

import logging
import socket
import threading
import time
from typing import Self
from wsgiref.types import WSGIApplication, WSGIEnvironment

from waitress import wasyncore
from waitress.adjustments import Adjustments
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.server import TcpWSGIServer
from waitress.task import WSGITask
from waitress.utilities import BadRequest, RequestHeaderFieldsTooLarge

# What API Gateway itself accepts; the functions' own bound is lower, and it is what a caller is told.
MAX_PAYLOAD_BYTES = 10 * 1024 * 1024
MAX_HEAD_BYTES = 65536
MAX_HEADERS = 100
# As waitress advises. The functions compute, so more would only contend for the interpreter's lock.
_THREADS = 4
_MAX_CONNECTIONS = 1024
_IDLE_SECONDS = 30
# A request must have arrived in full by then, even if its bytes keep coming.
_REQUEST_SECONDS = 60.0
# How long bytes after a refused request are read and discarded: closing at once could reset the answer on its way.
_LINGER_SECONDS = 5.0

# Keys of the WSGI environment: the headers as sent, in order; the HTTP status if the server refused the request.
FIELDS = "lamina.fields"
REFUSED = "lamina.refused"


class Server(TcpWSGIServer):
    """An HTTP/1.1 server. It listens as soon as it is created, and answers while `serve_forever` runs.

    The application also answers requests that cannot be read: their environment holds only the method and, under
    `REFUSED`, the status. The connection is closed after the answer. The constructor raises OSError or OverflowError
    if it cannot listen on the address.
    """

    def __init__(self, address: tuple[str, int], application: WSGIApplication) -> None:
        self.channel_class = _Connection
        self._stopped = threading.Event()
        # waitress warns of every request that waits for a thread, which any page with many files causes.
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)
        listening = socket.create_server(address)
        adjustments = Adjustments(
            sockets=[listening],
            threads=_THREADS,
            # waitress counts its listening socket and its wake-up pipe as connections.
            connection_limit=_MAX_CONNECTIONS + 2,
            channel_timeout=_IDLE_SECONDS,
            cleanup_interval=1,
            max_request_header_size=MAX_HEAD_BYTES,
            max_request_body_size=MAX_PAYLOAD_BYTES + 1,
            recv_bytes=MAX_HEAD_BYTES,
            log_socket_errors=False,
            clear_untrusted_proxy_headers=False,
            ident="lamina",
        )
        super().__init__(
            application,
            _sock=listening,
            bind_socket=False,
            adj=adjustments,
            sockinfo=(listening.family, listening.type, listening.proto, address),
        )

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.effective_port)

    def serve_forever(self) -> None:
        """Answers requests until `stop` is called or a signal handler raises."""
        while not self._stopped.is_set():
            wasyncore.loop(timeout=1.0, use_poll=True, map=self._map, count=1)

    def stop(self) -> None:
        """Ends `serve_forever`. May be called from another thread."""
        self._stopped.set()
        self.pull_trigger()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.task_dispatcher.shutdown()  # finishes the requests in progress
        wasyncore.close_all(self._map)

    def maintenance(self, now: float) -> None:
        """Closes idle and late connections. waitress calls it about once a second."""
        super().maintenance(now)
        for connection in self.active_channels.values():
            if connection.is_late(now):
                connection.will_close = True


class _Request(HTTPRequestParser):
    """waitress's parser, made strict. `fields` are the headers as they were sent."""

    # For the answer to a request whose first line cannot be read.
    command = "GET"
    version = "1.1"

    def __init__(self, adjustments: Adjustments) -> None:
        super().__init__(adjustments)
        self.began = time.time()
        self.fields: list[tuple[str, str]] = []

    def received(self, data: bytes) -> int:
        """Parses more bytes and returns how many of them belong to this request."""
        if not self.header_plus.strip(b"\r\n") and self.body_rcv is None and data.lstrip(b"\r\n")[:1].isspace():
            # waitress would ignore it.
            self.error, self.completed = BadRequest("white space before the request line"), True
            return len(data)
        consumed: int = super().received(data)
        if self.completed:
            # Otherwise waitress would send `100 Continue` and wait for a body that does not come.
            self.expect_continue = False
        return consumed

    def parse_header(self, header_plus: bytes) -> None:
        """Parses the request line and the headers. Raises ParsingError."""
        first, *lines = header_plus.split(b"\r\n")
        if first[-1:].isspace() or b"\r\n " in header_plus or b"\r\n\t" in header_plus:
            raise ParsingError("white space after the request line or before a header")
        if b"\ntransfer-encoding:" in header_plus.lower():
            raise ParsingError("a body comes with its content-length")
        try:
            super().parse_header(header_plus)
        except ValueError as error:
            raise ParsingError("a URL or a number that cannot be read") from error
        if self.version not in ("1.0", "1.1"):
            raise ParsingError("another version of HTTP")
        pairs = [line.decode("latin-1").partition(":") for line in lines if line]
        self.fields = [(name, value.strip(" \t")) for name, _, value in pairs]
        if len(self.fields) > MAX_HEADERS:
            self.error = RequestHeaderFieldsTooLarge(f"over {MAX_HEADERS} headers")


class _Answer(WSGITask):
    """Calls the application with one request, readable or not, and sends its answer."""

    def get_environment(self) -> WSGIEnvironment:
        """The WSGI environment, with `FIELDS` or `REFUSED`."""
        if self.request.error:
            self.set_close_on_finish()
            self.channel.refused = True
            return {"REQUEST_METHOD": self.request.command, REFUSED: self.request.error.code}
        environ: WSGIEnvironment = super().get_environment()
        environ[FIELDS] = self.request.fields
        return environ

    def write(self, data: bytes) -> None:
        """Sends head and body together: the application returns its whole body at once, with its length."""
        self.channel.write_soon(self.build_response_header() + data)
        self.wrote_header = True
        self.content_bytes_written = len(data)

    def set_close_on_finish(self) -> None:
        """Closes the connection after this answer, but not merely because a 204 or 304 has no length."""
        if self.has_body or self.version == "1.0" or self.request.connection_close:
            super().set_close_on_finish()


class _Connection(HTTPChannel):
    """One connection. After a refusal it stops sending first, and discards what still arrives before it closes."""

    parser_class = _Request
    task_class = error_task_class = _Answer
    refused = False
    _lingers_until: float | None = None

    def is_late(self, now: float) -> bool:
        """Whether a request has taken too long to arrive, or a refused client too long to close."""
        if self._lingers_until is not None:
            return now > self._lingers_until
        return self.request is not None and now - self.request.began > _REQUEST_SECONDS

    def readable(self) -> bool:
        """Whether to wait for bytes from the client."""
        return self._lingers_until is not None or bool(super().readable())

    def handle_read(self) -> None:
        """Reads what has arrived."""
        if self._lingers_until is None:
            super().handle_read()
        else:
            self.recv(MAX_HEAD_BYTES)

    def handle_close(self) -> None:
        """Closes the connection, in two steps after a refusal."""
        if self.refused and self.connected and self._lingers_until is None:
            try:
                self.socket.shutdown(socket.SHUT_WR)
            except OSError:
                super().handle_close()  # the other end is gone
                return
            self._lingers_until = time.time() + _LINGER_SECONDS
            self.will_close = self.close_when_flushed = False
        else:
            super().handle_close()
