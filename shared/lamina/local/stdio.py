"""MCP over stdio: a frame a line in, a frame a line out, until the client closes its end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from lamina.contract.coercion import encodable
from lamina.contract.envelope import compact
from lamina.contract.errors import LaminaError
from lamina.contract.request import MAX_BODY_BYTES
from lamina.local.readiness import READY, Readiness
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

# What cannot be answered without an index.
_ASKING = ("tools/call", "resources/list", "resources/read")
# Seconds that a call waits for a build before it is told that there is no index yet.
_PATIENCE_SECONDS = 5.0
_PROGRESS_SECONDS = 0.5


@dataclass(slots=True)
class Session:
    """One client on the other end. `version` and `client` are what its handshake said, if it made one.

    `notify` sends it a frame that answers none.
    """

    runtime: Runtime
    knowledge_base: str | None = None
    readiness: Readiness = READY
    notify: Callable[[Fields], None] = lambda frame: None
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
        self._wait(frame)
        caller = Caller(mcp_client=self.client, user_agent="lamina-mcp", has_key=True)
        outcome = answer(frame, Visit(self.runtime, caller, self.knowledge_base, bytes_in=size))
        if outcome.negotiated is not None:
            self.version = outcome.negotiated
            self.client = client_name(frame["params"].get("clientInfo"))
        return outcome.frame

    def _wait(self, frame: Any) -> None:
        """Gives a build that still runs the time that the frame can wait: with progress to its end, else a moment."""
        if not isinstance(frame, dict) or frame.get("method") not in _ASKING or self.readiness.wait(0):
            return
        params = frame.get("params")
        meta = params.get("_meta") if isinstance(params, dict) else None
        token = meta.get("progressToken") if isinstance(meta, dict) else None
        if not isinstance(token, str | int):
            self.readiness.wait(_PATIENCE_SECONDS)
            return
        for done, total in self.readiness.steps(_PROGRESS_SECONDS):
            told = {"progressToken": token, "progress": done, "message": "indexing"}
            self.notify(
                {
                    "jsonrpc": "2.0",
                    "method": "notifications/progress",
                    "params": {**told, "total": total} if total else told,
                }
            )


def serve(runtime: Runtime, knowledge_base: str | None = None, readiness: Readiness = READY) -> None:
    """Answers standard input on standard output, until the input ends.

    `knowledge_base` is what calls mean that name none, `readiness` tells of builds that still run. Anything else that
    is printed meanwhile goes to standard error: a line that is no frame would end the conversation.
    """
    frames, sys.stdout = sys.stdout.buffer, sys.stderr

    def send(frame: Fields | list[Fields]) -> None:
        frames.write(encodable(compact(frame)).encode() + b"\n")
        frames.flush()

    session = Session(runtime, knowledge_base, readiness, send)
    for line in lines(sys.stdin.buffer):
        reply = session.reply(line)
        if reply is not None:
            send(reply)


def lines(source: BinaryIO) -> Iterator[bytes]:
    """The lines that hold something; of one that is too long, only as much as shows that it is."""
    longest = MAX_BODY_BYTES + 2
    while line := source.readline(longest):
        rest = line
        while len(rest) == longest and not rest.endswith(b"\n"):
            rest = source.readline(longest)
        if line.strip():
            yield line.rstrip(b"\r\n")
