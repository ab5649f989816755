"""MCP over stdio: a frame a line in, a frame a line out, until the client closes its end."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from lamina.contract.coercion import encodable
from lamina.contract.envelope import compact
from lamina.contract.errors import LaminaError
from lamina.contract.request import MAX_BODY_BYTES
from lamina.mcp.frames import (
    BATCHING,
    INVALID_REQUEST,
    PARSE_ERROR,
    Fields,
    ProtocolError,
    Visit,
    client_name,
    error_frame,
)
from lamina.mcp.protocol import answer
from lamina.runtime.event import parse_json
from lamina.runtime.recorder import Caller
from lamina.runtime.wiring import Runtime


@dataclass(slots=True)
class Session:
    """One client on the other end. `version` and `client` are what its handshake said, if it made one."""

    runtime: Runtime
    knowledge_base: str | None = None
    version: str | None = None
    client: str | None = None

    def reply(self, line: bytes) -> Fields | list[Fields] | None:
        """What a line is answered by; None where nothing is. `line` is without its end and may be too long."""
        if len(line) > MAX_BODY_BYTES:
            return error_frame(ProtocolError(INVALID_REQUEST, f"a frame is at most {MAX_BODY_BYTES} bytes"), None)
        try:
            frame = parse_json(line)
        except LaminaError as error:
            return error_frame(ProtocolError(PARSE_ERROR, error.message), None)
        if not isinstance(frame, list):
            return self._answer(frame, len(line))
        if self.version != BATCHING or not frame:
            return error_frame(ProtocolError(INVALID_REQUEST, f"batches are of revision {BATCHING} alone"), None)
        answers = [self._answer(inner, len(compact(inner))) for inner in frame]
        return [answer for answer in answers if answer is not None] or None

    def _answer(self, frame: Any, size: int) -> Fields | None:
        caller = Caller(mcp_client=self.client, user_agent="lamina-mcp", has_key=True)
        outcome = answer(frame, Visit(self.runtime, caller, self.knowledge_base, bytes_in=size))
        if outcome.negotiated is not None:
            self.version = outcome.negotiated
            self.client = client_name(frame["params"].get("clientInfo"))
        return outcome.frame


def serve(runtime: Runtime, knowledge_base: str | None = None) -> None:
    """Answers standard input on standard output, until the input ends.

    `knowledge_base` is what calls mean that name none. Anything else that is printed meanwhile goes to standard
    error: a line that is no frame would end the conversation.
    """
    frames, sys.stdout = sys.stdout.buffer, sys.stderr
    session = Session(runtime, knowledge_base)
    for line in lines(sys.stdin.buffer):
        reply = session.reply(line)
        if reply is not None:
            frames.write(encodable(compact(reply)).encode() + b"\n")
            frames.flush()


def lines(source: BinaryIO) -> Iterator[bytes]:
    """The lines that hold something; of one that is too long, only as much as shows that it is."""
    longest = MAX_BODY_BYTES + 2
    while line := source.readline(longest):
        rest = line
        while len(rest) == longest and not rest.endswith(b"\n"):
            rest = source.readline(longest)
        if line.strip():
            yield line.rstrip(b"\r\n")
