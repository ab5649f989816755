"""Functions as they are deployed, in fresh processes: the layer's code compiled, S3 and Secrets Manager on loopback."""

from __future__ import annotations

import base64
import json
import os
import shutil
import statistics
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from tests.bench.figures import Line, percentile
from tests.corpora import CHECKOUT

RUNS = 10
COLD_START_MS = 450.0
COLD_MCP_MS = 500.0
FIRST_ANSWER_MS = 15.0
DEPLOYED_PYTHON = " 3.13."
WARM_MS = 5.0
_PARTS = ("init", "answer")
_BUCKET = "knowledge"


@dataclass(frozen=True, slots=True)
class Cloud:
    """The address of the stand-in for AWS."""

    address: str

    def environment(self) -> dict[str, str]:
        """The variables that the template gives a function, and where to find AWS."""
        return {
            "AWS_ENDPOINT_URL": self.address,
            "AWS_ACCESS_KEY_ID": "bench",
            "AWS_SECRET_ACCESS_KEY": "bench",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
            "LAMINA_BUCKET": _BUCKET,
            "LAMINA_BASELINE": "https://github.com/owner/repository",
            "LAMINA_SIGNING_SECRET": "signing",
            "LAMINA_VERSION": "bench",
            "POWERTOOLS_SERVICE_NAME": "lamina",
            "POWERTOOLS_METRICS_NAMESPACE": "Lamina",
        }


@contextmanager
def cloud(data: Path) -> Iterator[Cloud]:
    """S3 over the store of a data folder, and its signing key in Secrets Manager, on a free loopback port."""
    store, key = data / "store", (data / "signing.key").read_bytes()

    class Service(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 65_536

        def do_GET(self) -> None:
            path = store / unquote(urlsplit(self.path).path).removeprefix(f"/{_BUCKET}/")
            if path.is_file():
                self._send(200, path.read_bytes(), "binary/octet-stream")
            else:
                self._send(404, b"<Error><Code>NoSuchKey</Code></Error>", "application/xml")

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            value = {"ARN": "signing", "Name": "signing", "SecretBinary": base64.b64encode(key).decode()}
            self._send(200, json.dumps(value).encode(), "application/x-amz-json-1.1")

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is logged."""

        def _send(self, status: int, content: bytes, media_type: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", media_type)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("ETag", '"bench"')
            self.end_headers()
            self.wfile.write(content)
            self.wfile.flush()

    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        yield Cloud(f"http://127.0.0.1:{server.server_address[1]}")
        server.shutdown()
        thread.join()


def compiled(python: str, folder: Path) -> Path:
    """The package and the functions in a folder, with the .pyc files of an interpreter."""
    shutil.copytree(CHECKOUT / "shared" / "lamina", folder / "lamina", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(CHECKOUT / "functions", folder / "functions", ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run([python, "-m", "compileall", "-q", str(folder)], check=True, capture_output=True)
    return folder


def measured(
    python: str, layer: Path, environment: dict[str, str], function: str, queries: Sequence[str], times: int = 0
) -> dict[str, Any]:
    """What one fresh process says of itself, see `tests.bench.served`."""
    path = os.pathsep.join(map(str, (layer, layer / "functions" / function, CHECKOUT)))
    command = [python, "-m", "tests.bench.served", function, json.dumps(list(queries)), str(times)]
    base = {"PATH": os.environ.get("PATH", ""), "PYTHONPATH": path}
    run = subprocess.run(command, env={**base, **environment}, cwd=layer, capture_output=True, text=True, check=False)
    if run.returncode:
        raise RuntimeError(run.stderr)
    figures: dict[str, Any] = json.loads(run.stdout)
    return figures


def cold_starts(pythons: Sequence[str], data: Path, queries: Sequence[str], scratch: Path) -> Iterator[Line]:
    """Part by part, the median of fresh processes; the first, which compiles what is not yet, does not count."""
    for number, python in enumerate(pythons):
        layer = compiled(python, scratch / f"layer-{number}")
        shown = subprocess.run([python, "--version"], check=True, capture_output=True, text=True).stdout.strip()
        is_deployed = DEPLOYED_PYTHON in shown  # the bounds are for the Python that a deployment has
        with cloud(data) as service:
            for function in ("search", "mcp"):
                call = (python, layer, service.environment(), function, queries[:1])
                measured(*call)
                rows = [measured(*call) for _ in range(RUNS)]
                part = f"Cold start of {function} at 600 documents, {shown}, S3, median of {RUNS}"
                for name in _PARTS:
                    bound = FIRST_ANSWER_MS if name == "answer" and is_deployed else None
                    yield Line(part, name, statistics.median(row[name] for row in rows), "ms", most=bound)
                total = statistics.median(row["total"] for row in rows)
                bound = COLD_START_MS if function == "search" else COLD_MCP_MS
                yield Line(part, "total", total, "ms", most=bound if is_deployed else None)
                yield Line(part, "best total", min(row["total"] for row in rows), "ms")
                yield Line(part, "best total, processor time", min(row["processor"] for row in rows), "ms")
                memory = max(row["memory"] for row in rows)
                yield Line(part, "memory after the first answer", memory, "MB", most=256)


def warm_calls(data: Path, python: str, queries: Sequence[str], scratch: Path) -> Iterator[Line]:
    """Warm calls of the handlers, every query several times, and the memory after them."""
    layer = compiled(python, scratch / "layer-warm")
    with cloud(data) as service:
        for function in ("search", "mcp"):
            figures = measured(python, layer, service.environment(), function, queries, times=10)
            part = f"Warm {function} through the handler at 600 documents, {len(figures['warm'])} calls"
            bound = WARM_MS if function == "search" else None
            yield Line(part, "p50", percentile(figures["warm"], 0.5), "ms", most=bound)
            yield Line(part, "p95", percentile(figures["warm"], 0.95), "ms")
            yield Line(part, "p50, processor time", percentile(figures["warm_processor"], 0.5), "ms")
            yield Line(part, "memory", figures["memory"], "MB", most=256)
