"""`lamina serve` in a process of its own ends when it is told to, and cleanly."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.corpora import page, write
from tests.documentation.examples import environment


@pytest.mark.parametrize(("told", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_a_server_that_is_told_to_end_ends_without_a_trace(tmp_path: Path, told: signal.Signals, code: int) -> None:
    corpus = write(tmp_path / "handbook", {"docs/oak.md": page("Oak", "A tree.")})
    command = [sys.executable, "-m", "lamina.local.cli", "serve", str(corpus), "--data", str(tmp_path / "data")]
    with subprocess.Popen(
        [*command, "--port", "0"], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        said = iter(process.stderr.readline, "")
        port = next(int(found[1]) for line in said if (found := re.search(r"on http://127\.0\.0\.1:(\d+)$", line)))
        assert "Ctrl-C" in next(said)
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            connection.sendall(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n")
            assert connection.recv(65_536).startswith(b"HTTP/1.1 200")
            process.send_signal(told)
            assert process.wait(20) == code
            assert connection.recv(1) == b""
        assert process.stderr.read() == ""
