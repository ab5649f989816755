"""The body limit holds across processes and transports: of N+1 requests at once, N get their body, never more."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from botocore.exceptions import ClientError
from tests.conftest import Deploy
from tests.corpora import CHECKOUT, Deployed, page
from tests.fakes.aws import fake_service
from tests.transports import Reply, exchange, stand_before

from lamina.runtime.adapter import respond
from lamina.runtime.event import HttpRequest
from lamina.runtime.wiring import wire
from lamina.stores.dynamodb import KEY_ATTRIBUTE

LIMIT = 5
URI = "kb://canon/a"
# A minute that never ends, so that no test runs over the edge of one.
FIXED = 1_796_040_010.0

# What one process does: as many requests as it is told, each over the adapter; it prints the statuses.
_PROCESS = """
import json, os, sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from lamina.actions.get import ACTION
from lamina.runtime.adapter import respond
from lamina.runtime.event import HttpRequest
from lamina.runtime.limits import BodyLimit
from lamina.runtime.settings import Settings
from lamina.runtime.wiring import compose
runtime = compose(Settings.of(os.environ))
if "LIMITS_TABLE" in os.environ:
    from lamina.stores.dynamodb import DynamoRateCounter
    from lamina.stores.aws import make_client
    counter = DynamoRateCounter(make_client("dynamodb", region="us-east-1"), os.environ["LIMITS_TABLE"])
    runtime.body_limit = BodyLimit(lambda: counter, int(os.environ["LAMINA_BODY_LIMIT"]))
runtime.body_limit = replace(runtime.body_limit, wall_clock=lambda: float(sys.argv[1]))
runtime.wall_clock = lambda: float(sys.argv[1])
request = HttpRequest("GET", "/v1/get", {"uri": (sys.argv[3],)}, {}, b"", source_ip="203.0.113.7")
print("ready", flush=True)
sys.stdin.readline()
with ThreadPoolExecutor(4) as threads:
    replies = threads.map(lambda _: respond(ACTION, request, runtime), range(int(sys.argv[2])))
    print(json.dumps([reply.status for reply in replies]))
"""


@dataclass(frozen=True, slots=True)
class Limited(Deployed):
    """A deployment with a small limit."""

    def environment(self) -> dict[str, str]:
        """As its parent's, with the limit."""
        # Slots make a new class, which the short form of super does not find.
        return {**Deployed.environment(self), "LAMINA_BODY_LIMIT": str(LIMIT)}


@pytest.fixture
def limited(deploy: Deploy) -> Limited:
    made = deploy({"canon/a.md": page("A", uri=URI), "canon/b.md": page("B")})
    return Limited(made.data, made.baseline, made.overlays)


@pytest.fixture
def answering(limited: Limited, gateway: tuple[str, int]) -> tuple[str, int]:
    """The gateway over the limited deployment, in the minute that never ends."""
    stand_before(limited)
    runtime = wire()
    runtime.body_limit = replace(runtime.body_limit, wall_clock=lambda: FIXED)
    return gateway


def statuses_of_processes(environment: Mapping[str, str], *, processes: int, each: int) -> list[int]:
    """All statuses of processes that start their requests together."""
    command = [sys.executable, "-c", _PROCESS, str(FIXED), str(each), URI]
    known = {**os.environ, **environment, "PYTHONPATH": str(CHECKOUT / "shared")}
    started = [
        subprocess.Popen(command, env=known, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(processes)
    ]
    statuses: list[int] = []
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in started:
        printed, _ = process.communicate(timeout=60)
        statuses += json.loads(printed)
    return statuses


def get(address: tuple[str, int], deployed: Deployed, **headers: str) -> Reply:
    return exchange(address, deployed, "GET", f"/v1/get?uri={URI}", None, **headers)


def records(deployed: Deployed) -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for path in (deployed.data / "telemetry").rglob("*.jsonl")
        for line in path.read_text("utf-8").splitlines()
    ]


def test_one_more_than_the_limit_at_once_lets_through_the_limit(limited: Limited, answering: tuple[str, int]) -> None:
    with ThreadPoolExecutor(LIMIT + 1) as threads:
        replies = list(threads.map(lambda _: get(answering, limited), range(LIMIT + 1)))
    assert sorted(reply.status or 0 for reply in replies) == [200] * LIMIT + [429]
    refused = next(reply for reply in replies if reply.status == 429)
    assert refused.envelope["error_code"] == "RATE_LIMITED"
    assert refused.headers["retry-after"] == str(refused.envelope["retry_after_seconds"]) == "50"
    assert refused.headers["cache-control"] == "no-store"
    assert [entry["error_code"] for entry in records(limited)].count("RATE_LIMITED") == 1


def test_search_catalog_and_answers_without_a_body_go_on(limited: Limited, answering: tuple[str, int]) -> None:
    while get(answering, limited).status == 200:
        pass
    for path in ("/v1/search?query=text", "/v1/catalog", f"/v1/get?uri={URI}&disclosure=metadata"):
        assert exchange(answering, limited, "GET", path).status == 200


def test_resolve_and_get_share_the_limit_and_an_unchanged_document_counts(
    limited: Limited, answering: tuple[str, int]
) -> None:
    tag = get(answering, limited).headers["etag"]
    for _ in range(LIMIT - 2):
        assert get(answering, limited, if_none_match=tag).status == 304
    assert exchange(answering, limited, "GET", f"/v1/resolve?uri={URI}").status == 200
    assert get(answering, limited, if_none_match=tag).status == 429


def test_tools_share_the_limit_with_http(limited: Limited, answering: tuple[str, int]) -> None:
    while get(answering, limited).status == 200:
        pass
    call = {"name": "oddkit_get", "arguments": {"uri": URI}}
    frame = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    reply = exchange(answering, limited, "POST", "/mcp", json.dumps(frame).encode())
    assert reply.envelope["result"]["isError"]
    assert "RATE_LIMITED" in reply.text


def test_a_refused_call_does_not_count(limited: Limited, answering: tuple[str, int]) -> None:
    for _ in range(LIMIT + 1):
        assert exchange(answering, limited, "GET", "/v1/get?uri=").status == 400
    assert get(answering, limited).status == 200


def test_a_key_that_nobody_checked_does_not_make_another_caller(limited: Limited, answering: tuple[str, int]) -> None:
    replies = [get(answering, limited, x_api_key=f"made-up-{number}").status for number in range(LIMIT + 1)]
    assert replies == [200] * LIMIT + [429]


def test_checked_keys_are_callers_of_their_own(limited: Limited) -> None:
    from lamina.actions.get import ACTION

    runtime = limited.runtime()
    runtime.settings = runtime.settings.model_copy(update={"data": None})
    runtime.body_limit = replace(runtime.body_limit, wall_clock=lambda: FIXED)
    request = HttpRequest("GET", "/v1/get", {"uri": (URI,)}, {}, b"", api_key="one", source_ip="203.0.113.7")
    assert [respond(ACTION, request, runtime).status for _ in range(LIMIT + 1)] == [200] * LIMIT + [429]
    assert respond(ACTION, replace(request, api_key="two"), runtime).status == 200
    assert respond(ACTION, replace(request, api_key=None), runtime).status == 200


def test_direct_invocation_is_not_limited(limited: Limited, answering: tuple[str, int]) -> None:
    from tests.transports import TRANSPORTS

    direct = TRANSPORTS["direct"](answering)
    replies = [direct.call(limited, "get", {"uri": URI}) for _ in range(LIMIT + 2)]
    assert {reply.envelope["status"] for reply in replies} == {"FOUND"}


def test_processes_share_the_limit_in_one_file(limited: Limited) -> None:
    statuses = statuses_of_processes(limited.environment(), processes=3, each=LIMIT + 1)
    assert statuses.count(200) == LIMIT
    assert set(statuses) == {200, 429}


def test_processes_share_the_limit_in_one_table(limited: Limited, table: str) -> None:
    environment = {
        **limited.environment(),
        "LIMITS_TABLE": "limits",
        "AWS_ENDPOINT_URL_DYNAMODB": table,
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
    }
    statuses = statuses_of_processes(environment, processes=3, each=LIMIT + 1)
    assert statuses.count(200) == LIMIT
    assert set(statuses) == {200, 429}


@pytest.fixture
def table() -> Iterator[str]:
    """The address of a service with the table, which updates one item at a time, as the real one does."""
    with fake_service("dynamodb") as client:
        client.create_table(
            TableName="limits",
            KeySchema=[{"AttributeName": KEY_ATTRIBUTE, "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": KEY_ATTRIBUTE, "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )

        class Service(BaseHTTPRequestHandler):
            """Passes an update on to the stand-in."""

            def log_message(self, format: str, *args: Any) -> None:
                """Says nothing."""

            def do_POST(self) -> None:
                """One UpdateItem."""
                asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
                try:
                    status, answer = 200, client.update_item(**asked)
                    answer.pop("ResponseMetadata")
                except ClientError as error:
                    code = error.response["Error"]["Code"]
                    status, answer = 400, {"__type": f"com.amazonaws.dynamodb.v20120810#{code}"}
                content = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        server = HTTPServer(("127.0.0.1", 0), Service)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()
        server.server_close()
