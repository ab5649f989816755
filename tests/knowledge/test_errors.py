"""Every error word of the knowledge contract, on every transport that can reach it; none repeats what was sent."""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.knowledge import DIGEST, FILES, Desk, FolderBackend

from lamina.contract.errors import LaminaError
from lamina.knowledge.protocol import MOST_WAITING, ErrorCode
from lamina.knowledge.workspace import Workspace
from lamina.local.cli import main
from lamina.runtime.event import HttpResponse
from lamina.runtime.knowledge import OPERATOR_RESOURCE, knowledge_tool, respond
from lamina.runtime.recorder import Caller
from lamina.runtime.settings import Settings
from lamina.runtime.wiring import Runtime, compose

MARK = "zxqv-marked-93"
Ask = Callable[[Any], dict[str, Any]]


@dataclass(slots=True)
class Reached:
    """A workspace with the transports that reach it."""

    desk: Desk
    runtime: Runtime
    monkeypatch: pytest.MonkeyPatch
    capfd: pytest.CaptureFixture[str]

    def cli(self, value: Any) -> dict[str, Any]:
        """The command line."""
        stdin = io.TextIOWrapper(io.BytesIO(json.dumps(value).encode()))
        self.monkeypatch.setattr("sys.stdin", stdin)
        self.capfd.readouterr()
        root = self.desk.running.workspace.root
        code = main(["--no-input", "--format", "json", "knowledge", "--request", "-", "--root", root])
        assert code == 0
        told: dict[str, Any] = json.loads(self.capfd.readouterr().out)
        return told

    def http(self, value: Any) -> dict[str, Any]:
        """The agent's route."""
        return self._body(self.post(value, "/v1/knowledge"))

    def operator(self, value: Any) -> dict[str, Any]:
        """The operator's route."""
        return self._body(self.post(value, OPERATOR_RESOURCE))

    def mcp(self, value: Any) -> dict[str, Any]:
        """The MCP tool."""
        return knowledge_tool(value, Caller(has_key=True), self.runtime, self.desk.service())

    def post(self, value: Any, resource: str, **event: Any) -> HttpResponse:
        """One HTTP request."""
        body = value if isinstance(value, str) else json.dumps(value)
        whole = {"httpMethod": "POST", "path": resource, "resource": resource, "body": body, **event}
        return respond(whole, self.runtime, self.desk.service())

    @staticmethod
    def _body(response: HttpResponse) -> dict[str, Any]:
        assert response.status == 200
        told: dict[str, Any] = json.loads(response.text)
        return told


@pytest.fixture
def reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Reached:
    """An initialised workspace whose sources and requests hold marked text."""
    desk = Desk(FolderBackend(tmp_path / "workspace"))
    for path, content in FILES.items():
        desk.backend.write(path, content + f"\n{MARK}\n".encode())
    desk.initialise()
    runtime = compose(Settings.of({"LAMINA_DATA": str(tmp_path / "data"), "LAMINA_BASELINE": desk.root}))
    return Reached(desk, runtime, monkeypatch, capfd)


QUERY: Mapping[str, Any] = {"op": "query", "query": MARK, "type": None, "limit": 16}
Case = Callable[[Reached], Any]


def _uninitialised(reached: Reached) -> Any:
    operation = reached.desk.proposal()
    for file in (Path(reached.desk.root) / ".lamina/knowledge").glob("ledger.sqlite*"):
        file.unlink()
    reached.desk = Desk(reached.desk.backend)
    return reached.desk.request(operation)


def _conflict(reached: Reached) -> Any:
    # Each transport has an owner of its own, so each proposes twice.
    operation = reached.desk.proposal()
    other = {**operation, "reason": f"changed {MARK}"}
    return [reached.desk.request(operation), reached.desk.request(other)]


def _queue_is_full(reached: Reached) -> Any:
    reached.desk.propose()
    with sqlite3.connect(Path(reached.desk.root) / ".lamina/knowledge/ledger.sqlite") as connection:
        connection.executemany(
            "INSERT INTO proposals (owner, key, payload, proposed_at, status) VALUES ('x', ?, '{}', '', 'pending')",
            [(str(n),) for n in range(MOST_WAITING)],
        )
    connection.close()
    return reached.desk.request(reached.desk.proposal("one more"))


def _accepting(change: Callable[[Reached], None], **context: Any) -> Case:
    def case(reached: Reached) -> Any:
        number = reached.desk.propose(title=f"About {MARK}", **context)
        decision = reached.desk.decision("accept", number)
        change(reached)
        return reached.desk.request(decision)

    return case


def _another_is_accepted(reached: Reached) -> None:
    desk = reached.desk
    desk.result(desk.decision("accept", desk.propose("another", title="Another")))


def _cited_source_is_edited(reached: Reached) -> None:
    path = reached.desk.query()["passages"][0]["path"]
    reached.desk.backend.write(path, f"Edited {MARK}".encode())


def _policy_is_edited(reached: Reached) -> None:
    reached.desk.backend.write(".kb.yml", b"scheme: other\n")


def _row_is_tampered_with(reached: Reached) -> None:
    row = next(reached.desk.running.workspace.ledger.waiting())
    payload = json.loads(row.payload)
    payload["reason"] = MARK
    reached.desk.backend.tamper(row.id, json.dumps(payload))


def _drifted(reached: Reached) -> Any:
    reached.desk.backend.write("docs/backup.md", f"Edited {MARK}".encode())
    return reached.desk.request(QUERY)


def _manifest_is_lost(reached: Reached) -> Any:
    request = reached.desk.request(QUERY)
    for manifest in (Path(reached.desk.root) / ".lamina/knowledge/objects/manifests").iterdir():
        manifest.unlink()
    return request


def _broken(reached: Reached) -> Any:
    def fail(workspace: Workspace) -> None:
        raise RuntimeError(MARK)

    request = reached.desk.request(QUERY)
    reached.monkeypatch.setattr(Workspace, "files", fail)
    return request


def _decision(op: str, **fields: Any) -> Case:
    return lambda reached: reached.desk.request({"op": op, "pending_id": 1, "review_sha256": DIGEST, **fields})


def _review_over_budget(reached: Reached) -> Any:
    def review(told: dict[str, Any]) -> Any:
        operation = {"op": "review", "pending_id": told["result"]["pending_id"]}
        return reached.desk.request(operation, max_output_bytes=2000)

    proposal = reached.desk.proposal()
    proposal["capture"]["body"] = f"{MARK} " * 400
    return [reached.desk.request(proposal), review]


ANY = ("cli", "http", "operator", "mcp")
AGENTS, OPERATORS = ("http", "mcp"), ("cli", "operator")
CASES: Mapping[ErrorCode, tuple[tuple[str, ...], Case]] = {
    ErrorCode.INVALID_INPUT: (ANY, lambda reached: {**reached.desk.request(QUERY), MARK: 1}),
    ErrorCode.WRONG_ROOT: (ANY, lambda reached: reached.desk.request(QUERY, root=f"/{MARK}")),
    ErrorCode.WRONG_WORKSPACE: (ANY, lambda reached: reached.desk.request(QUERY, knowledge_workspace=MARK)),
    ErrorCode.UNSUPPORTED_SHARED_AUTHORITY: (ANY, lambda reached: reached.desk.request(QUERY, authority="shared")),
    ErrorCode.UNSUPPORTED_BUDGET: (ANY, lambda reached: reached.desk.request(QUERY, max_tokens=5, tokenizer=MARK)),
    ErrorCode.BUDGET_EXCEEDED: (ANY, _review_over_budget),
    ErrorCode.SOURCE_DRIFT: (ANY, _drifted),
    ErrorCode.BASELINE_REQUIRED: (ANY, _uninitialised),
    ErrorCode.IDEMPOTENCY_CONFLICT: (ANY, _conflict),
    ErrorCode.PENDING_LIMIT_REACHED: (ANY, _queue_is_full),
    ErrorCode.INVALID_PENDING_ID: (ANY, lambda reached: reached.desk.request({"op": "review", "pending_id": MARK})),
    ErrorCode.INVALID_REVIEW_DIGEST: (
        OPERATORS,
        lambda reached: reached.desk.request(
            {"op": "accept", "pending_id": reached.desk.propose(), "review_sha256": MARK}
        ),
    ),
    ErrorCode.REVIEW_CHANGED: (OPERATORS, _accepting(_row_is_tampered_with)),
    ErrorCode.STALE_HEAD: (OPERATORS, _accepting(_another_is_accepted)),
    ErrorCode.STALE_MANIFEST: (OPERATORS, _accepting(lambda reached: None, source_manifest_sha256=DIGEST)),
    ErrorCode.STALE_SOURCE: (OPERATORS, _accepting(_cited_source_is_edited)),
    ErrorCode.STALE_POLICY: (OPERATORS, _accepting(_policy_is_edited)),
    ErrorCode.LOCAL_OPERATOR_ACCEPTANCE_REQUIRED: (AGENTS, _decision("accept")),
    ErrorCode.LOCAL_OPERATOR_REJECTION_REQUIRED: (AGENTS, _decision("reject")),
    ErrorCode.UNAVAILABLE: (ANY, _manifest_is_lost),
    ErrorCode.INTERNAL_ERROR: (ANY, _broken),
}


def test_the_table_has_every_word() -> None:
    assert set(CASES) == set(ErrorCode)


@pytest.mark.parametrize(
    ("code", "transport"), [(code, transport) for code, (transports, _) in CASES.items() for transport in transports]
)
def test_an_error_is_its_word_and_nothing_else(reached: Reached, code: ErrorCode, transport: str) -> None:
    made = CASES[code][1](reached)
    told: dict[str, Any] = {}
    for step in made if isinstance(made, list) else [made]:
        ask: Ask = getattr(reached, transport)
        told = ask(step(told) if callable(step) else step)
    assert told == {
        "schema": "synapse.knowledge-response/1",
        "ok": False,
        "result": None,
        "error": {"code": str(code)},
    }


def test_nothing_was_written_by_a_refused_acceptance(reached: Reached) -> None:
    case = _accepting(_cited_source_is_edited)
    assert reached.cli(case(reached))["error"] == {"code": "stale_source"}
    assert reached.desk.audited() == []
    assert len(list(reached.desk.running.workspace.ledger.waiting())) == 1


INVALID: Mapping[str, Callable[[dict[str, Any]], Any]] = {
    "no object": lambda request: [request],
    "another schema": lambda request: {**request, "schema": "synapse.knowledge-request/2"},
    "no schema": lambda request: {k: v for k, v in request.items() if k != "schema"},
    "no operation": lambda request: {k: v for k, v in request.items() if k != "operation"},
    "no scope": lambda request: {k: v for k, v in request.items() if k != "scope"},
    "no budget": lambda request: {k: v for k, v in request.items() if k != "budget"},
    "an unknown key in scope": lambda request: {**request, "scope": {**request["scope"], "x": 1}},
    "an unknown key in budget": lambda request: {**request, "budget": {**request["budget"], "x": 1}},
    "an unknown key in operation": lambda request: {**request, "operation": {**request["operation"], "x": 1}},
    "an unknown operation": lambda request: {**request, "operation": {"op": "apply"}},
    "a number as text": lambda request: {**request, "operation": {**request["operation"], "limit": "16"}},
    "a truth as number": lambda request: {**request, "operation": {**request["operation"], "limit": True}},
    "no limit at all": lambda request: {**request, "operation": {**request["operation"], "limit": 0}},
    "a blank query": lambda request: {**request, "operation": {**request["operation"], "query": "  "}},
    "half a character": lambda request: {**request, "operation": {**request["operation"], "query": "\ud800"}},
    "facts of another shape": lambda request: {
        **request,
        "scope": {**request["scope"], "facts": [{"type": "note", "id": "a", "x": 1}]},
    },
}


@pytest.mark.parametrize("name", INVALID)
def test_what_is_not_exactly_a_request_is_invalid_input(reached: Reached, name: str) -> None:
    request = INVALID[name](reached.desk.request(QUERY))
    assert reached.cli(request)["error"] == {"code": "invalid_input"}
    assert reached.http(request)["error"] == {"code": "invalid_input"}


@pytest.mark.parametrize(
    "budget",
    [
        {"max_output_bytes": 1023},
        {"max_output_bytes": -1},
        {"max_latency_ms": 0},
        {"max_tokens": 100},
        {"tokenizer": "cl100k_base:toktok-rs"},
        {"max_tokens": 100, "tokenizer": "cl100k_base"},
        {"max_tokens": 0, "tokenizer": "cl100k_base:toktok-rs"},
    ],
)
def test_a_budget_that_cannot_be_kept_is_unsupported(reached: Reached, budget: dict[str, Any]) -> None:
    assert reached.http(reached.desk.request(QUERY, **budget))["error"] == {"code": "unsupported_budget"}


@pytest.mark.parametrize("number", [0, -1, 1.5, True, "1", None, 10**30, [1], 999])
def test_what_names_no_row_is_an_invalid_pending_id(reached: Reached, number: Any) -> None:
    request = reached.desk.request({"op": "accept", "pending_id": number, "review_sha256": DIGEST})
    assert reached.operator(request)["error"] == {"code": "invalid_pending_id"}


def test_http_refuses_what_is_no_json_and_what_is_too_large(reached: Reached) -> None:
    assert reached.post("{", "/v1/knowledge").status == 400
    assert reached.post("", "/v1/knowledge").status == 400
    assert reached.post('{"a": NaN}', "/v1/knowledge").status == 400
    assert reached.post(json.dumps({"a": "x" * 262144}), "/v1/knowledge").status == 413
    refused = reached.post("{}", "/v1/knowledge", httpMethod="GET")
    assert (refused.status, refused.headers["Allow"]) == (405, "POST, OPTIONS")


def test_the_operators_route_is_not_for_pages(reached: Reached) -> None:
    request = reached.desk.request({"op": "describe"})
    assert reached.post(request, OPERATOR_RESOURCE, headers={"origin": "https://example.org"}).status == 400
    assert reached.post(request, OPERATOR_RESOURCE, httpMethod="OPTIONS").status == 405


def test_without_a_key_only_describe_is_answered(reached: Reached) -> None:
    reached.runtime.settings = reached.runtime.settings.model_copy(update={"data": None})
    assert reached.post(reached.desk.request({"op": "describe"}), "/v1/knowledge").status == 200
    assert reached.post(reached.desk.request(QUERY), "/v1/knowledge").status == 403
    with pytest.raises(LaminaError, match="API key"):
        knowledge_tool(reached.desk.request(QUERY), Caller(), reached.runtime, reached.desk.service())


def _with_key(key: str) -> dict[str, Any]:
    return {"requestContext": {"identity": {"apiKey": key, "sourceIp": "127.0.0.1"}}}


def test_review_shows_a_caller_its_own_proposals_and_the_operator_all(reached: Reached) -> None:
    made = reached.post(reached.desk.request(reached.desk.proposal()), "/v1/knowledge", **_with_key("first"))
    number = json.loads(made.text)["result"]["pending_id"]
    review = reached.desk.request({"op": "review", "pending_id": number})
    assert json.loads(reached.post(review, "/v1/knowledge", **_with_key("first")).text)["ok"]
    other = json.loads(reached.post(review, "/v1/knowledge", **_with_key("second")).text)
    assert other["error"] == {"code": "invalid_pending_id"}
    assert reached.operator(review)["ok"]


def test_each_passage_counts_as_a_body(reached: Reached) -> None:
    request = reached.desk.request(QUERY)
    passages = len(reached.http(request)["result"]["passages"])
    answers = [reached.post(request, "/v1/knowledge") for _ in range(60 // passages)]
    limited = [entry for entry in answers if entry.status == 429]
    assert len(limited) == 1
    assert (limited[0].retry_after or 0) > 0
    assert reached.post(reached.desk.request({"op": "describe"}), "/v1/knowledge").status == 200


def test_records_hold_the_operation_and_no_text(reached: Reached, tmp_path: Path) -> None:
    reached.http(reached.desk.request(QUERY))
    reached.http({**reached.desk.request(QUERY), MARK: 1})
    lines = [line for file in (tmp_path / "data/telemetry").rglob("*.jsonl") for line in file.read_text().splitlines()]
    records = [json.loads(line) for line in lines]
    assert [(entry["action"], entry["status"], entry["error_code"]) for entry in records] == [
        ("knowledge", "FOUND", None),
        ("knowledge", "ERROR", "invalid_input"),
    ]
    assert records[0]["parameters"] == ["op:query"]
    assert not any(MARK in line for line in lines)


def test_the_tool_takes_objects_as_text_and_describes_by_default(reached: Reached) -> None:
    request = reached.desk.request(QUERY)
    as_text = {name: value if name == "schema" else json.dumps(value) for name, value in request.items()}
    assert reached.mcp(as_text) == reached.mcp(request)
    assert "reject" in reached.mcp({})["result"]["operations"]
