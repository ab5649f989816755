"""HTTP on one address over a WSGI application: waitress, with what may be framed in two ways refused."""

from __future__ import annotations

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
# A request has to be here whole by then, however slowly and however often its bytes come.
_REQUEST_SECONDS = 60.0
# For so long, what follows a refused request is read away: closing at once would reset the answer on its way.
_LINGER_SECONDS = 5.0

# Keys of the environment: the header fields as sent, in order; and the HTTP status of a request that was refused.
FIELDS = "lamina.fields"
REFUSED = "lamina.refused"


class Server(TcpWSGIServer):
    """An HTTP/1.1 server that listens as soon as it is made, and answers once `serve_forever` runs.

    A request that cannot be read reaches the application too, with the status of its refusal under `REFUSED` and
    nothing else; its connection is closed after the answer. Raises OSError or OverflowError where the address cannot
    be had.
    """

    def __init__(self, address: tuple[str, int], application: WSGIApplication) -> None:
        self.channel_class = _Connection
        self._stopped = threading.Event()
        listening = socket.create_server(address)
        adjustments = Adjustments(
            sockets=[listening],
            threads=_THREADS,
            # waitress counts its own listening socket and its wake-up pipe among the connections.
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
        """The port that it listens on."""
        return int(self.effective_port)

    def serve_forever(self) -> None:
        """Answers until `stop`, or until a signal's exception; the requests in hand are finished first."""
        while not self._stopped.is_set():
            wasyncore.loop(timeout=1.0, use_poll=True, map=self._map, count=1)

    def stop(self) -> None:
        """Ends `serve_forever`, from another thread."""
        self._stopped.set()
        self.pull_trigger()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.task_dispatcher.shutdown()
        wasyncore.close_all(self._map)

    def maintenance(self, now: float) -> None:
        """Closes connections that are idle or late; called about once a second."""
        super().maintenance(now)
        for connection in self.active_channels.values():
            if connection.is_late(now):
                connection.will_close = True


class _Request(HTTPRequestParser):
    """waitress's parser without its leniency; `fields` are the headers as they were sent."""

    # Until a request line is read; an answer to what has none is written under them.
    command = "GET"
    version = "1.1"

    def __init__(self, adjustments: Adjustments) -> None:
        super().__init__(adjustments)
        self.began = time.time()
        self.fields: list[tuple[str, str]] = []

    def received(self, data: bytes) -> int:
        """Takes in bytes and says how many of them are this request's."""
        if not self.header_plus.strip(b"\r\n") and self.body_rcv is None and data.lstrip(b"\r\n")[:1].isspace():
            # waitress would strip it.
            self.error, self.completed = BadRequest("white space before the request line"), True
            return len(data)
        consumed: int = super().received(data)
        if self.completed:
            # Nothing is left to wait for; waitress would wait nevertheless.
            self.expect_continue = False
        return consumed

    def parse_header(self, header_plus: bytes) -> None:
        """Reads the request line and the headers. Raises ParsingError."""
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
    """A request on its way through the application, whether it could be read or not."""

    def get_environment(self) -> WSGIEnvironment:
        """The WSGI environment, with the fields or the refusal."""
        if self.request.error:
            self.set_close_on_finish()
            self.channel.refused = True
            return {"REQUEST_METHOD": self.request.command, REFUSED: self.request.error.code}
        environ: WSGIEnvironment = super().get_environment()
        environ[FIELDS] = self.request.fields
        return environ

    def write(self, data: bytes) -> None:
        """Sends head and body in one piece, since the application gives its body whole and says its length."""
        self.channel.write_soon(self.build_response_header() + data)
        self.wrote_header = True
        self.content_bytes_written = len(data)

    def set_close_on_finish(self) -> None:
        """Has the connection closed, but for an answer that has no body and so needs no length: waitress would."""
        if self.has_body or self.version == "1.0" or self.request.connection_close:
            super().set_close_on_finish()


class _Connection(HTTPChannel):
    """One connection. After a refusal its writing half is closed first, and what still comes is read away."""

    parser_class = _Request
    task_class = error_task_class = _Answer
    refused = False
    _lingers_until: float | None = None

    def is_late(self, now: float) -> bool:
        """Whether a request takes too long to arrive, or the end of a refused one to come."""
        if self._lingers_until is not None:
            return now > self._lingers_until
        return self.request is not None and now - self.request.began > _REQUEST_SECONDS

    def readable(self) -> bool:
        """Whether more is to be read."""
        return self._lingers_until is not None or bool(super().readable())

    def handle_read(self) -> None:
        """Reads what has come."""
        if self._lingers_until is None:
            super().handle_read()
        else:
            self.recv(MAX_HEAD_BYTES)

    def handle_close(self) -> None:
        """Closes the connection, at once or in two steps."""
        if self.refused and self.connected and self._lingers_until is None:
            try:
                self.socket.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # the other end is gone
            else:
                self._lingers_until = time.time() + _LINGER_SECONDS
                self.will_close = self.close_when_flushed = False
                return
        super().handle_close()
