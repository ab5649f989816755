"""Marked text through every parameter, header, path and body leaves no trace in records, logs, metrics or reports."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import pytest
from tests.conftest import Deploy
from tests.corpora import CHECKOUT, Deployed, page
from tests.transports import exchange, stand_before

from lamina.actions.registry import ACTIONS
from lamina.http.telemetry_report import reports_of
from lamina.local.template import routes
from lamina.runtime.adapter import respond
from lamina.runtime.event import HttpRequest
from lamina.runtime.metrics import MetricsSink
from lamina.runtime.wiring import Runtime, wire
from lamina.telemetry.figures import Period

URI = "kb://canon/a"
MARK = "xq7secretz"
# What operations names as recorded: the label that a caller gives itself.
LABELS = frozenset({"consumer"})
HEADERS = {
    "authorization": f"Bearer {MARK}",
    "cookie": f"session={MARK}",
    "x-api-key": MARK,
    "x-forwarded-for": f"{MARK}, 203.0.113.77",
    "referer": f"https://example.org/{MARK}",
    "origin": f"https://{MARK}.example.org",
    "user-agent": f"client/1.0 ({MARK}; {MARK})",
    "accept": f"application/json, text/{MARK}",
    "accept-language": MARK,
    "if-none-match": f'"{MARK}"',
    "traceparent": MARK,
    "x-amzn-trace-id": f"Root={MARK}",
    "x-hub-signature-256": f"sha256={MARK}",
    "x-github-delivery": MARK,
    "x-github-event": MARK,
    "mcp-session-id": MARK,
    "mcp-method": MARK,
    "mcp-name": MARK,
    "mcp-protocol-version": MARK,
}
# What an endpoint looks at before it reads a body, and would refuse the whole request for.
LOOKED_AT_FIRST = frozenset({"origin", "accept", *(name for name in HEADERS if name.startswith("mcp-"))})
VALID: Mapping[str, dict[str, Any]] = {
    "search": {"query": "text"},
    "preflight": {"task": "text"},
    "get": {"uri": URI},
    "resolve": {"uri": URI},
    "brief": {"question": "text"},
}


@pytest.fixture
def deployed(deploy: Deploy) -> Deployed:
    overlay = {"canon/o.md": page("Own", "Text of the project.", uri="kb://canon/o")}
    return deploy({"canon/a.md": page("A", "Some text.", uri=URI), "canon/b.md": page("B")}, project=overlay)


@pytest.fixture
def logs(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """Everything that is logged, however little it matters; the libraries' own chatter aside."""
    caplog.set_level(logging.DEBUG, "lamina")
    caplog.set_level(logging.INFO)
    return caplog


@dataclass(frozen=True, slots=True)
class Sent:
    """One HTTP request with marks in it."""

    method: str
    path: str
    query: Mapping[str, str]
    body: bytes | None = None

    def over(self, address: tuple[str, int], deployed: Deployed, but: Collection[str] = ()) -> None:
        """Sends it to the gateway with all marked headers but some."""
        path = f"{self.path}?{urlencode(self.query)}" if self.query else self.path
        headers = {name.replace("-", "_"): value for name, value in HEADERS.items() if name not in but}
        with suppress(ValueError):  # a page is no JSON
            exchange(address, deployed, self.method, path, self.body, **headers)

    def request(self) -> HttpRequest:
        """The same as an event would give it."""
        return HttpRequest(
            self.method,
            self.path,
            {name: (value,) for name, value in self.query.items()},
            dict(HEADERS),
            self.body or b"",
            api_key=MARK,
            source_ip="203.0.113.77",
        )


def marked_arguments(action: str) -> Iterator[dict[str, Any]]:
    """A call for every parameter, marked, beside what the action needs; one unknown parameter; the rest marked."""
    valid = VALID.get(action, {})
    for name in ACTIONS[action].request.model_fields:
        if name not in LABELS:
            yield {**valid, name: MARK}
            yield {**valid, name: [MARK, MARK]}
    yield {**valid, MARK: MARK}
    yield {**valid, "knowledge_base_url": f"https://github.com/{MARK}/{MARK}"}
    yield {**valid, "knowledge_base_url": "project", "limit": MARK}


def requests_of(action: str) -> Iterator[Sent]:
    """Every marked call by GET and by POST, and what is no call at all."""
    path = f"/v1/{action.replace('_', '-')}"
    for arguments in marked_arguments(action):
        flat = {name: value if isinstance(value, str) else ",".join(value) for name, value in arguments.items()}
        yield Sent("GET", path, flat)
        yield Sent("POST", path, {}, json.dumps(arguments).encode())
    for body in (MARK, f'{{"{MARK}"', f'["{MARK}"]', f'{{"query": {{"{MARK}": ["{MARK}"]}}}}'):
        yield Sent("POST", path, {MARK: MARK}, body.encode())
    yield Sent("DELETE", path, {MARK: MARK})
    yield Sent("OPTIONS", path, {MARK: MARK})


def written(deployed: Deployed) -> str:
    """All that telemetry and the limit have written, and the reports of it."""
    files = [*(deployed.data / "telemetry").rglob("*"), *deployed.data.glob("limits.sqlite*")]
    texts = [path.read_bytes().decode("utf-8", "replace") for path in files if path.is_file()]
    reports = reports_of(wire())
    now = datetime.now(UTC).date()
    for period in Period:
        for key in reports.write(period, now):
            stored = reports.store.get(key)
            assert stored is not None
            texts.append(stored.content.decode())
    return "\n".join(texts)


def test_a_label_is_found_so_that_anything_else_would_be(
    deployed: Deployed, gateway: tuple[str, int], logs: pytest.LogCaptureFixture
) -> None:
    exchange(gateway, deployed, "GET", f"/v1/search?query=text&consumer={MARK}")
    assert written(deployed).count(MARK) > 3


@pytest.mark.parametrize("action", ACTIONS)
def test_no_parameter_and_no_header_of_an_action_leaves_a_trace(
    action: str,
    deployed: Deployed,
    gateway: tuple[str, int],
    logs: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    for sent in requests_of(action):
        sent.over(gateway, deployed)
    text = written(deployed)
    assert f'"action":"{action}"' in text
    assert MARK not in text
    assert "127.0.0.1" not in text
    assert MARK not in logs.text
    assert MARK not in "".join(capfd.readouterr())


@pytest.mark.parametrize("action", ACTIONS)
def test_no_metric_line_holds_a_mark(
    action: str,
    deployed: Deployed,
    logs: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    runtime = replace_sink(deployed.runtime())
    for sent in requests_of(action):
        respond(ACTIONS[action], sent.request(), runtime)
    printed = "".join(capfd.readouterr())
    assert '"Namespace":"Lamina"' in printed
    for trace in (MARK, "203.0.113.77"):
        assert trace not in printed
        assert trace not in logs.text


@pytest.mark.parametrize("route", routes(CHECKOUT / "template.yaml"), ids=lambda route: route.path)
def test_no_route_keeps_what_is_sent_to_it(
    route: Any,
    deployed: Deployed,
    gateway: tuple[str, int],
    logs: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    path = route.path.replace("{proxy+}", f"{MARK}/{MARK}").replace("{digest}", MARK)
    frames = [
        {"jsonrpc": "2.0", "id": MARK, "method": method, "params": params}
        for method, params in (
            (MARK, {MARK: MARK}),
            ("tools/call", {"name": MARK, "arguments": {MARK: MARK}}),
            ("tools/call", {"name": "oddkit_search", "arguments": {"query": MARK, "include": MARK}}),
            ("tools/call", {"name": "oddkit", "arguments": {"action": MARK, "input": MARK}}),
            ("resources/read", {"uri": f"kb://{MARK}"}),
        )
    ]
    for body in (None, MARK, *map(json.dumps, frames), json.dumps({"operation": MARK, "ref": MARK, "action": MARK})):
        for method in ("GET", "POST"):
            sent = Sent(method, path, {} if body else {MARK: MARK}, body.encode() if body else None)
            sent.over(gateway, deployed)
            sent.over(gateway, deployed, but=LOOKED_AT_FIRST)
            Sent(method, path, {"uri": MARK, "format": MARK}, b"{}").over(gateway, deployed)
    text = written(deployed)
    assert MARK not in text
    assert MARK not in logs.text
    assert MARK not in "".join(capfd.readouterr())


def test_a_fault_whose_message_quotes_the_call_is_logged_without_it(
    deployed: Deployed, logs: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    def broken(request: Any, reading: Any) -> Any:
        raise RuntimeError(f"cannot handle {MARK}")

    runtime = replace_sink(deployed.runtime())
    runtime.log_tracebacks = False
    action = replace(ACTIONS["search"], run=broken)
    response = respond(action, Sent("GET", "/v1/search", {"query": MARK}).request(), runtime)
    assert (response.status, json.loads(response.text)["error_code"]) == (500, "INTERNAL_ERROR")
    assert "INTERNAL_ERROR on search" in logs.text
    assert MARK not in logs.text + response.text + "".join(capfd.readouterr())


def test_a_private_knowledge_base_is_in_the_records_and_in_no_report(
    deployed: Deployed, gateway: tuple[str, int]
) -> None:
    closed = Closed(deployed.data, deployed.baseline, deployed.overlays)
    exchange(gateway, closed, "GET", "/v1/get?uri=kb://canon/o&knowledge_base_url=project&consumer=insider")
    exchange(gateway, closed, "GET", "/v1/search?query=text&knowledge_base_url=project&consumer=insider")
    exchange(gateway, closed, "GET", "/v1/search?query=text")
    stand_before(closed)
    records = "".join(path.read_text("utf-8") for path in (closed.data / "telemetry").rglob("*.jsonl"))
    assert records.count('"knowledge_base_url":"project"') == 2
    report = exchange(gateway, closed, "GET", "/v1/telemetry?format=json")
    assert report.envelope["totals"]["calls"] == 1
    assert not [word for word in ("project", "insider", "canon/o") if word in report.text]


@dataclass(frozen=True, slots=True)
class Closed(Deployed):
    """A deployment whose overlays are private."""

    def environment(self) -> dict[str, str]:
        """As its parent's, every entry private."""
        allow = "\n".join(f"private:{name}={folder}" for name, folder in self.overlays.items())
        return {**Deployed.environment(self), "LAMINA_ALLOW": allow}


def replace_sink(runtime: Runtime) -> Runtime:
    """The runtime with the sink that a deployment on AWS has."""
    runtime.sink = MetricsSink("stack")
    return runtime
