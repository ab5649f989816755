"""MCP over stdio: a frame a line, what a process remembers of its handshake, and lines that are no frames."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from tests.conftest import Corpus
from tests.corpora import Deployed
from tests.mcp.post import request, stateless

from lamina.contract.request import MAX_BODY_BYTES
from lamina.local.readiness import Readiness
from lamina.local.stdio import Session, lines

PING = request("ping")
DEEP = b"[" * 10_000 + b"]" * 10_000


def _session(sample: Corpus, **known: Any) -> Session:
    return Session(sample.deployed.runtime(), **known)


def test_stdio_answers_batches_after_the_handshake_of_the_revision_that_has_them(sample: Corpus) -> None:
    for version, expected in (("2025-03-26", list), ("2025-06-18", dict)):
        session = _session(sample)
        assert isinstance(session.reply(json.dumps([PING]).encode()), dict)
        session.reply(json.dumps(request("initialize", protocolVersion=version)).encode())
        assert isinstance(session.reply(json.dumps([PING]).encode()), expected)


def test_stdio_needs_no_headers(sample: Corpus) -> None:
    frame, _ = stateless("tools/call", name="oddkit_catalog", arguments={"limit": 1})
    reply = _session(sample).reply(json.dumps(frame).encode())
    assert isinstance(reply, dict) and reply["result"]["resultType"] == "complete"


def test_stdio_answers_a_line_that_is_no_frame_by_an_error_and_goes_on(sample: Corpus) -> None:
    session = _session(sample)
    codes = []
    for line in (b"{", DEEP, b'"' + b"x" * MAX_BODY_BYTES, b"7"):
        reply = session.reply(line)
        assert isinstance(reply, dict)
        codes.append(reply["error"]["code"])
    assert codes == [-32700, -32700, -32600, -32600]
    assert session.reply(json.dumps(PING).encode()) == {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_a_knowledge_base_of_the_process_stands_for_one_that_a_call_leaves_out(sample: Corpus) -> None:
    frame = json.dumps(request("tools/call", name="oddkit_search", arguments={"query": "gauge"})).encode()
    with_it = _session(sample, knowledge_base=sample.overlay).reply(frame)
    without = _session(sample).reply(frame)
    assert "overlay_signal" in json.dumps(with_it)
    assert "overlay_signal" not in json.dumps(without)


def test_the_handshake_and_the_tools_are_answered_while_the_index_is_built(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# A\n\nThe whistle is blue.\n")
    deployed = Deployed(tmp_path / "data", tmp_path / "docs")
    deployed.data.mkdir()
    readiness = Readiness()
    notices: list[dict[str, Any]] = []
    session = Session(deployed.runtime(), readiness=readiness, notify=notices.append)

    def send(method: str, **params: Any) -> dict[str, Any]:
        reply = session.reply(json.dumps(request(method, **params)).encode())
        assert isinstance(reply, dict)
        return dict(reply["result"])

    asked: dict[str, Any] = {"name": "oddkit_search", "arguments": {"query": "whistle"}}
    assert send("initialize", protocolVersion="2025-06-18")["serverInfo"]
    assert send("tools/list")["tools"]
    readiness.built()
    assert "INDEX_NOT_READY" in json.dumps(send("tools/call", **asked))

    session.readiness = readiness = Readiness()
    readiness.reporter("baseline")(1, 2)

    def build(frame: dict[str, Any]) -> None:
        notices.append(frame)
        deployed.index()
        readiness.built()

    session.notify = build
    assert "blue" in json.dumps(send("tools/call", **asked, _meta={"progressToken": "t"}))
    assert notices == [
        {
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": {"progressToken": "t", "progress": 1, "message": "indexing", "total": 2},
        }
    ]


def test_lines_are_split_at_their_ends_and_cut_where_they_are_too_long() -> None:
    long = b"x" * (3 * MAX_BODY_BYTES)
    given = list(lines(io.BytesIO(b"a\r\n\n  \n" + long + b"\nb")))
    assert [len(line) for line in given] == [1, MAX_BODY_BYTES + 2, 1]


def test_a_call_is_recorded_under_the_name_that_the_handshake_gave(sample: Corpus) -> None:
    session = _session(sample)
    handshake = request("initialize", protocolVersion="2025-06-18", clientInfo={"name": "a-desktop", "version": "1"})
    session.reply(json.dumps(handshake).encode())
    session.reply(json.dumps(request("tools/call", name="oddkit_catalog")).encode())
    files = (sample.deployed.data / "telemetry").rglob("*.jsonl")
    newest = max(files, key=lambda path: path.stat().st_mtime_ns)
    assert json.loads(newest.read_text("utf-8").splitlines()[-1])["consumer_label"] == "a-desktop"
