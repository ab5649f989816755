"""A bounded load run: many clients, mixed traffic against `lamina serve` in another process, every answer checked."""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tests.corpora import REAL, SAMPLES, Deployed, unpacked
from tests.mcp.post import request
from tests.transports import handler_of, stand_before

from lamina.contract.envelope import compact
from lamina.runtime.limits import DEFAULT_BODIES, WINDOW_SECONDS

SEED = 20_260_101
PAUSE_SECONDS = 0.02
WORDS = (
    "definition of done",
    "evidence",
    "overlay baseline",
    "how are drafts published",
    "gauge battery",
    "zqxwv nowhere",
    "constraint on writing",
    '"no silent gaps"',
    "submit_typeset",
    "the",
)


@dataclass(frozen=True, slots=True)
class Shot:
    """One request and the answer that it must get: the text, or where that may be refused, the status alone."""

    kind: str
    method: str
    path: str
    body: bytes | None
    status: int
    text: str | None


# Weights, and the requests that share each.
Traffic = list[tuple[int, list[Shot]]]


@dataclass(slots=True)
class Tally:
    """What came back. Latencies are seconds by kind; `bodies` counts those that were given by clock minute."""

    latencies: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    statuses: Counter[int] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    bodies: Counter[int] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)


def shots(deployed: Deployed, overlay: str) -> Traffic:
    """The traffic with its weights; what must come back is what the functions of this process answer."""
    stand_before(deployed)
    asked: list[tuple[str, int, str, dict[str, Any]]] = []
    for words in WORDS:
        for extra in ({}, {"knowledge_base_url": overlay}, {"disclosure": ["blockquote", "metadata"], "limit": 5}):
            asked.append(("search", 50, "search", {"query": words, **extra}))
        asked.append(("preflight", 10, "preflight", {"task": words}))
        asked.append(("brief", 4, "brief", {"question": words}))
    for offset in (0, 25, 50):
        asked.append(("catalog", 12, "catalog", {"offset": offset, "limit": 25, "disclosure": ["blockquote"]}))
    asked.append(("catalog", 12, "catalog", {"knowledge_base_url": overlay, "limit": 100}))
    listing = handler_of("catalog")({"limit": 100}, None)["data"]
    uris = [entry["uri"] for entry in listing[::7]]
    for uri in uris:
        asked.append(("get", 10, "get", {"uri": uri, "disclosure": ["metadata", "summary"]}))
        asked.append(("body", 3, "get", {"uri": uri}))
        asked.append(("resolve", 2, "resolve", {"uri": uri, "disclosure": ["blockquote"]}))
    asked.append(("wrong", 3, "search", {"query": ""}))
    asked.append(("wrong", 3, "catalog", {"limit": 5000}))
    asked.append(("wrong", 3, "get", {"uri": "kb://nowhere", "disclosure": ["metadata"]}))
    grouped: dict[tuple[str, int], list[Shot]] = defaultdict(list)
    for kind, weight, action, arguments in asked:
        envelope = handler_of(action)(arguments, None)
        for method in ("GET", "POST"):
            grouped[kind, weight].append(_shot(kind, method, action, arguments, envelope))
    for words in WORDS:
        frame = request("tools/call", name="oddkit_search", arguments={"query": words})
        envelope = handler_of("search")({"query": words}, None)
        body = json.dumps(frame).encode()
        grouped["mcp", 6].append(Shot("mcp", "POST", "/mcp", body, 200, compact(envelope)))
    grouped["health", 1].append(Shot("health", "GET", "/health", None, 200, None))
    return [(weight, found) for (_, weight), found in grouped.items()]


def _shot(kind: str, method: str, action: str, arguments: dict[str, Any], envelope: dict[str, Any]) -> Shot:
    is_absent = envelope["status"] == "NOT_FOUND" and envelope["data"] is None
    status = 404 if is_absent else 400 if envelope["status"] == "ERROR" else 200
    text = compact(envelope)
    if method == "POST":
        return Shot(kind, method, f"/v1/{action}", json.dumps(arguments).encode(), status, text)
    return Shot(kind, method, f"/v1/{action}?{urlencode(arguments, doseq=True)}", None, status, text)


def problem_of(shot: Shot, status: int, headers: dict[str, str], text: str) -> str | None:
    """What is wrong with an answer, or None."""
    if headers.get("x-content-type-options") != "nosniff" or "cache-control" not in headers:
        return "lacks its headers"
    if shot.kind == "body" and status == 429:
        envelope = json.loads(text)
        is_told = headers.get("retry-after", "").isdecimal() and envelope["error_code"] == "RATE_LIMITED"
        return None if is_told else "is refused without saying until when"
    if status != shot.status:
        return f"has status {status}, not {shot.status}"
    if shot.kind == "mcp":
        wrapper = json.loads(json.loads(text)["result"]["content"][0]["text"])
        text = compact(wrapper["result"])
    return None if shot.text is None or text == shot.text else "differs from what the functions answer"


def client(address: tuple[str, int], traffic: Traffic, ends: float, seed: int, tally: Tally) -> None:
    """One client with one connection, until the time is over."""
    chance = random.Random(seed)
    weights = [weight for weight, _ in traffic]
    connection = HTTPConnection(*address, timeout=30)
    while time.monotonic() < ends:
        shot = chance.choice(chance.choices(traffic, weights)[0][1])
        started, minute = time.monotonic(), int(time.time() // WINDOW_SECONDS)
        try:
            sent = {"content-type": "application/json"} if shot.body is not None else {}
            connection.request(shot.method, shot.path, shot.body, sent)
            response = connection.getresponse()
            text = response.read().decode()
            headers = {name.lower(): value for name, value in response.getheaders()}
            problem = problem_of(shot, response.status, headers, text)
            status = response.status
        except OSError as error:
            connection.close()
            problem, status = f"is not answered: {type(error).__name__}", 0
        took = time.monotonic() - started
        with tally.lock:
            tally.latencies[shot.kind].append(took)
            tally.statuses[status] += 1
            if shot.kind == "body" and status == 200 and minute == int(time.time() // WINDOW_SECONDS):
                tally.bodies[minute] += 1
            if problem is not None:
                tally.wrong.append(f"{shot.method} {shot.path[:120]} {problem}")
        time.sleep(chance.expovariate(1 / PAUSE_SECONDS))
    connection.close()


@contextmanager
def served(deployed: Deployed, data: Path) -> Iterator[tuple[tuple[str, int], int]]:
    """`lamina serve` over the same folders in a process of its own; its address and process id."""
    allow = [part for name, folder in deployed.overlays.items() for part in ("--allow", f"{name}={folder}")]
    command = [sys.executable, "-m", "lamina.local.cli", "serve", str(deployed.baseline), *allow]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LAMINA_")}
    log = data.with_suffix(".log")
    with log.open("w") as told:
        process = subprocess.Popen([*command, "--data", str(data), "--port", "0"], stderr=told, env=environment)
        try:
            yield ("127.0.0.1", _port(log, process)), process.pid
        finally:
            process.terminate()
            process.wait(30)


def _port(log: Path, process: subprocess.Popen[bytes]) -> int:
    for _ in range(600):
        lines = log.read_text().splitlines()
        line = next((line for line in lines if line.startswith("Serving ")), None)
        if line is not None:
            return int(line.rsplit(":", 1)[1])
        if process.poll() is not None:
            raise RuntimeError("\n".join(lines))
        time.sleep(0.1)
    raise RuntimeError("the server did not start")


def memory_mib(process: int) -> float:
    """The resident memory of a process."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


def run(seconds: float, clients: int) -> dict[str, Any]:
    """The figures of one run."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        deployed, overlay = _corpus(folder)
        deployed.index()
        traffic = shots(deployed, overlay)
        tally, memory = Tally(), []
        with served(deployed, folder / "served") as (address, process):
            ends = time.monotonic() + seconds
            threads = [
                threading.Thread(target=client, args=(address, traffic, ends, SEED + number, tally))
                for number in range(clients)
            ]
            for thread in threads:
                thread.start()
            while any(thread.is_alive() for thread in threads):
                memory.append(memory_mib(process))
                time.sleep(min(1.0, seconds / 20))
        return figures(tally, memory, seconds, clients)


def figures(tally: Tally, memory: list[float], seconds: float, clients: int) -> dict[str, Any]:
    """The tally as numbers: milliseconds and MiB. Memory is compared after a tenth of the time and at the end."""
    every = sorted(item for found in tally.latencies.values() for item in found)
    warm = memory[len(memory) // 10 :]
    return {
        "seconds": seconds,
        "clients": clients,
        "requests": len(every),
        "requests_per_second": round(len(every) / seconds, 1),
        "wrong": len(tally.wrong),
        "wrong_examples": tally.wrong[:5],
        "statuses": dict(sorted(tally.statuses.items())),
        "milliseconds": {"all": _quantiles(every)}
        | {kind: _quantiles(sorted(found)) for kind, found in sorted(tally.latencies.items())},
        "most_bodies_in_a_minute": max(tally.bodies.values(), default=0),
        "memory_mib": {"after_warming": round(warm[0], 1), "end": round(warm[-1], 1), "most": round(max(memory), 1)},
    }


def _quantiles(found: list[float]) -> dict[str, float]:
    return {f"p{part}": round(found[min(len(found) - 1, len(found) * part // 100)] * 1000, 2) for part in (50, 99)}


def _corpus(folder: Path) -> tuple[Deployed, str]:
    """The real repositories where they are at hand, else the sample; copied, so that nobody changes them meanwhile."""
    if REAL.is_dir():
        baseline = unpacked("klappy.dev-2026-04-28.tar.gz", folder / "baseline")
        overlay = unpacked("ptxprint-mcp-2026-04-28.tar.gz", folder / "overlay")
        return Deployed(folder / "data", baseline, {"ptx": overlay}), "ptx"
    name = "gauge-firmware"
    return Deployed(folder / "data", SAMPLES / "handbook", {name: SAMPLES / name}), name


def failures(found: dict[str, Any]) -> list[str]:
    """What of a run must not be."""
    told = [f"{found['wrong']} wrong answers: {found['wrong_examples']}"] if found["wrong"] else []
    if found["most_bodies_in_a_minute"] > DEFAULT_BODIES:
        told.append(f"{found['most_bodies_in_a_minute']} bodies in a minute, where {DEFAULT_BODIES} are allowed")
    grown = found["memory_mib"]["end"] - found["memory_mib"]["after_warming"]
    if grown > max(32, found["memory_mib"]["after_warming"] * 0.25):
        told.append(f"memory grew by {grown:.0f} MiB")
    return told


def main() -> int:
    """Runs, prints the figures as JSON, and fails where an answer was wrong, memory grew or a limit gave way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--clients", type=int, default=24)
    arguments = parser.parse_args()
    found = run(arguments.seconds, arguments.clients)
    print(json.dumps(found, indent=1))
    told = failures(found)
    for item in told:
        print(item, file=sys.stderr)
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
