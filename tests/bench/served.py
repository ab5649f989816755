"""A function in a fresh process, measured from within: `python -m tests.bench.served FUNCTION QUERIES TIMES`.

QUERIES is a JSON list. Prints JSON: the parts of the cold start and the warm calls in milliseconds, memory in MB.
Needs nothing but what the layer holds, so that any interpreter can run it.
"""

import contextlib
import io
import itertools
import json
import sys
import time
from pathlib import Path
from typing import Any


def event(function: str, query: str) -> dict[str, Any]:
    """The proxy event of one search, over HTTP or over MCP."""
    caller = {"identity": {"sourceIp": "192.0.2.1"}}
    shared = {"headers": {"content-type": "application/json"}, "requestContext": caller}
    if function == "mcp":
        call = {"name": "oddkit_search", "arguments": {"query": query}}
        frame = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        return {"httpMethod": "POST", "path": "/mcp", "body": json.dumps(frame), **shared}
    asked = {"query": [query]}
    return {"httpMethod": "GET", "path": "/v1/search", "multiValueQueryStringParameters": asked, "body": None, **shared}


def main(function: str, queries: list[str], times: int) -> dict[str, Any]:
    """INIT, the first answer, then every query so many times."""
    marks, used = [time.perf_counter()], time.process_time()
    with contextlib.redirect_stdout(io.StringIO()):
        from app import handler  # type: ignore[import-not-found]  # the function's own folder is on the path

    marks.append(time.perf_counter())
    answer = _answer(handler, function, queries[0])
    marks.append(time.perf_counter())
    processor = (time.process_time() - used) * 1000
    if answer["statusCode"] != 200 or '"FOUND' not in answer["body"].replace("\\", ""):
        raise SystemExit(f"the first answer is {answer['statusCode']}: {answer['body'][:300]}")
    parts = [(after - start) * 1000 for start, after in itertools.pairwise(marks)]
    warm, warm_processor = [], []
    for _ in range(times):
        for query in queries:
            started, used = time.perf_counter(), time.process_time()
            _answer(handler, function, query)
            warm.append((time.perf_counter() - started) * 1000)
            warm_processor.append((time.process_time() - used) * 1000)
    return {
        **dict(zip(("init", "answer"), parts, strict=True)),
        "total": sum(parts),
        "processor": processor,
        "warm": warm,
        "warm_processor": warm_processor,
        "memory": most_memory(),
    }


def _answer(handler: Any, function: str, query: str) -> dict[str, Any]:
    with contextlib.redirect_stdout(io.StringIO()):
        answered: dict[str, Any] = handler(event(function, query), None)
    return answered


def most_memory() -> float:
    """The most memory in MB that the process held since it began; getrusage would count its parent's."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


if __name__ == "__main__":
    figures = main(sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3]))
    sys.stdout.write(json.dumps(figures))
