"""The examples of the documentation as something to run: `console` blocks of commands with their answers.

A line that begins with `$ ` is a command, one that begins with `> ` continues it, and what follows is the answer.
In an answer `…` stands for anything and white space for nothing; JSON is compared in its compact form. A command
without an answer has to succeed. `curl` is not needed: its GETs and POSTs are made here.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
DOCUMENTED_ADDRESS = "http://127.0.0.1:8787"

_CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_SERVING = re.compile(r"on (http://127\.0\.0\.1:\d+)$", re.MULTILINE)
_START_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Example:
    """One command of a page and the answer that the page shows; `line` is where its block begins."""

    page: Path
    line: int
    command: str
    answer: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(CHECKOUT)}:{self.line} {self.command.splitlines()[0][:60]}"


def examples_of(page: Path) -> list[Example]:
    """The examples of a page, in order."""
    text = page.read_text("utf-8")
    found = []
    for block in _CONSOLE.finditer(text):
        line = text.count("\n", 0, block.start()) + 1
        for part in re.split(r"^\$ ", block[1], flags=re.MULTILINE)[1:]:
            first, *rest = part.splitlines()
            more = [re.sub(r"^> ?", "", entry) for entry in rest if entry.startswith(">")]
            answer = "\n".join(entry for entry in rest if not entry.startswith(">"))
            found.append(Example(page, line, "\n".join((first, *more)), answer.strip()))
    return found


def agrees(shown: str, given: str) -> bool:
    """Whether an answer is what a page shows."""
    pieces = (re.escape(_condensed(piece)) for piece in shown.split("…"))
    return re.fullmatch(".*?".join(pieces), _condensed(given), re.DOTALL) is not None


def _condensed(text: str) -> str:
    with suppress(ValueError):  # what is not JSON is compared as text
        text = json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":"))
    return re.sub(r"\s+", "", text)


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder that looks like a fresh checkout, with the sample served from it at `address`."""

    folder: Path
    address: str

    def run(self, example: Example) -> str:
        """The answer to an example. Raises AssertionError where a command without an answer fails."""
        words = shlex.split(example.command.replace("\\\n", " "))
        if words[0] == "curl":
            return self._fetched(words[1:])
        done = subprocess.run(
            ["sh", "-c", example.command],
            cwd=self.folder,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
        )
        assert example.answer or done.returncode == 0, f"{example}: exit code {done.returncode}\n{done.stdout}"
        return done.stdout

    def _fetched(self, words: list[str]) -> str:
        """What `curl -s [-H HEADER]… [-d BODY] URL` prints."""
        url, body, headers = "", None, {}
        following = iter(words)
        for word in following:
            if word == "-H":
                name, _, value = next(following).partition(":")
                headers[name.strip()] = value.strip()
            elif word == "-d":
                body = next(following).encode()
            elif word != "-s":
                url = word
        assert url.startswith(DOCUMENTED_ADDRESS), url
        address = url.replace(DOCUMENTED_ADDRESS, self.address)
        request = urllib.request.Request(address, body, headers)  # noqa: S310 - the address is our own
        try:
            with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310
                return str(response.read().decode())
        except urllib.error.HTTPError as error:
            with error:
                return error.read().decode()


def environment() -> dict[str, str]:
    """Where commands find the package, and no setting of the machine's own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LAMINA_")}
    return {**kept, "PYTHONPATH": str(CHECKOUT / "shared"), "NO_COLOR": "1", "COLUMNS": "200"}


@contextmanager
def served(folder: Path, serve: str = ".venv/bin/lamina serve") -> Iterator[Workspace]:
    """A workspace in `folder` in which the command `serve` runs, on a free port."""
    (folder / "samples").symlink_to(CHECKOUT / "samples")
    lamina = folder / ".venv" / "bin" / "lamina"
    lamina.parent.mkdir(parents=True)
    lamina.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m lamina.local.cli "$@"\n')
    lamina.chmod(0o755)
    log = folder / "serve.log"
    with log.open("w") as written:
        process = subprocess.Popen([*shlex.split(serve), "--port", "0"], cwd=folder, env=environment(), stderr=written)
    try:
        yield Workspace(folder, _address(process, log))
    finally:
        process.terminate()
        process.wait()


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    """Where the server listens, once it says so."""
    for _ in range(_START_SECONDS * 20):
        if found := _SERVING.search(log.read_text("utf-8")):
            return found[1]
        assert process.poll() is None, f"lamina serve ended:\n{log.read_text('utf-8')}"
        time.sleep(0.05)
    raise AssertionError(f"lamina serve says no address:\n{log.read_text('utf-8')}")
