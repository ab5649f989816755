"""brief and its receipts over every transport and at the store."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import rfc8785
from tests.conftest import Ask, Corpus, Deploy
from tests.corpora import Deployed, page
from tests.transports import Transport, exchange

from lamina.actions.brief import ACTION
from lamina.contract.ports import AlreadyExists, StoredObject, StoreUnavailable
from lamina.http.receipts import respond as respond_receipts
from lamina.runtime.adapter import respond
from lamina.runtime.event import HttpRequest
from lamina.runtime.wiring import Runtime
from lamina.sources.address import AllowList

FILES = {
    "docs/kettle.md": page("Kettle", "A kettle boils water."),
    "docs/teapot.md": page("Teapot", "A teapot holds what the kettle boiled."),
    "docs/cold-kettle.md": page("Cold Kettle", "A kettle never boils.", status="retracted"),
}
CAMP = {"docs/camp.md": page("Camp Kettle", "The camp kettle hangs on a hook.")}


def test_a_brief_is_the_same_over_every_transport(ask: Ask, corpus: Corpus) -> None:
    envelope = ask("brief", question=corpus.query).envelope
    assert envelope["status"] == "FOUND"
    data = envelope["data"]
    assert list(data) == [
        "question",
        "retriever_id",
        "retriever_config_digest",
        "hits",
        "citation_ids",
        "results",
        "text",
    ]
    assert {"total", "limit", "offset", "receipt"}.isdisjoint(envelope)
    assert data["question"] == corpus.query
    assert len(data["citation_ids"]) == 5
    found = ask("search", query=corpus.query, exclude_invalidated=True, limit=5).envelope
    assert data["citation_ids"] == [hit["uri"] for hit in found["data"]]
    assert [hit["score"] for hit in data["hits"]] == [hit["score"] for hit in found["data"]]


def test_the_main_argument_and_numbers_are_taken_in_their_older_forms(ask: Ask, corpus: Corpus) -> None:
    envelope = ask("brief", input=corpus.query, limit="2", max_chars="100000", exclude_invalidated="true").envelope
    assert len(envelope["data"]["results"]) == 2
    assert envelope["omitted_by_budget"] == 0


def test_wrong_briefs_are_errors_over_every_transport(ask: Ask) -> None:
    for arguments, code in (
        ({"question": " "}, "EMPTY_QUERY"),
        ({"question": "x", "limit": 26}, "INVALID_PARAMETER"),
        ({"question": "x", "max_chars": -1}, "INVALID_PARAMETER"),
        ({"question": "x", "receipt": "nothing"}, "INVALID_PARAMETER"),
    ):
        assert ask("brief", **arguments).envelope["error_code"] == code


def test_a_receipt_minted_over_every_transport_verifies_by_hand(transport: Transport, deploy: Deploy) -> None:
    deployed = deploy(FILES, camp=CAMP)
    arguments = {"question": "kettle?", "knowledge_base_url": "camp", "receipt": '{"run_id": "r1", "actor_id": "a"}'}
    envelope = transport.call(deployed, "brief", arguments).envelope
    receipt, data = envelope["receipt"], envelope["data"]
    rest = {name: value for name, value in receipt.items() if name != "receipt_digest"}
    assert receipt["receipt_digest"] == _digest(rfc8785.dumps(rest))
    assert receipt["results"] == data["results"]
    assert (receipt["question"], receipt["run_id"], receipt["actor_id"]) == ("kettle?", "r1", "a")
    assert receipt["retriever"]["config_digest"] == data["retriever_config_digest"]
    store = deployed.data / "store"
    assert (store / f"receipts/{receipt['receipt_digest']}.json").read_bytes() == rfc8785.dumps(receipt)
    named = receipt["visibility_snapshot"]
    content = (store / named["location"]).read_bytes()
    assert named["digest"] == _digest(content)
    snapshot = json.loads(content)
    assert content == rfc8785.dumps(snapshot)
    assert named["count"] == len(snapshot["documents"]) == 4
    seen = [(entry["position"], entry["id"], entry["origin"], entry["invalidated"]) for entry in snapshot["documents"]]
    assert seen == [
        (1, "kb://docs/camp", "overlay", False),
        (2, "kb://docs/cold-kettle", "baseline", True),
        (3, "kb://docs/kettle", "baseline", False),
        (4, "kb://docs/teapot", "baseline", False),
    ]
    raw = {entry["path"]: entry["digest"] for entry in snapshot["documents"]}
    assert raw["docs/kettle.md"] == _digest((deployed.baseline / "docs/kettle.md").read_bytes())


def test_a_shadowed_document_is_not_visible(deploy: Deploy, asking: Callable[[Deployed], Ask]) -> None:
    deployed = deploy(FILES, camp={"docs/kettle.md": page("Kettle", "Ours.", uri="kb://docs/kettle")})
    snapshot = _visible(deployed, asking(deployed), knowledge_base_url="camp")
    seen = {entry["id"]: entry["origin"] for entry in snapshot}
    assert seen == {"kb://docs/cold-kettle": "baseline", "kb://docs/kettle": "overlay", "kb://docs/teapot": "baseline"}


def test_each_scope_has_its_own_snapshot_and_one_scope_has_one(
    deploy: Deploy, asking: Callable[[Deployed], Ask]
) -> None:
    deployed = deploy(FILES, camp=CAMP)
    ask = asking(deployed)
    alone = _visible(deployed, ask, knowledge_base_url="camp", search_scope="kb_only")
    assert [entry["id"] for entry in alone] == ["kb://docs/camp"]
    for question in ("kettle", "teapot", "hook"):
        ask("brief", question=question, knowledge_base_url="camp", receipt={"run_id": question})
    kept = [path.name for path in (deployed.data / "store/receipts/visible").iterdir()]
    assert len(kept) == 2


def test_a_document_of_the_bundle_says_so(deploy: Deploy, asking: Callable[[Deployed], Ask]) -> None:
    deployed = deploy(FILES, camp=CAMP)
    scope = {"knowledge_base_url": "camp", "search_scope": "kb_with_required_baseline"}
    origins = {entry["origin"] for entry in _visible(deployed, asking(deployed), **scope)}
    assert origins == {"overlay", "bundled"}


def test_a_receipt_needs_a_key_on_a_deployment_and_none_at_home(deploy: Deploy) -> None:
    deployed = deploy(FILES)
    runtime = _on_aws(deployed)
    asked = {"question": "kettle", "receipt": "run_id=r1"}
    refused = respond(ACTION, _get("/v1/brief", asked), runtime)
    assert (refused.status, json.loads(refused.text)["error_code"]) == (403, "API_KEY_REQUIRED")
    assert not (deployed.data / "store/receipts").exists()
    assert respond(ACTION, _get("/v1/brief", {"question": "kettle"}), runtime).status == 200
    assert "receipt" in json.loads(respond(ACTION, _get("/v1/brief", asked, key="k"), runtime).text)
    assert "receipt" in json.loads(respond(ACTION, _get("/v1/brief", asked), deployed.runtime()).text)


def test_a_receipt_of_a_private_knowledge_base_is_given_only_to_callers_with_a_key(deploy: Deploy) -> None:
    deployed = deploy(FILES, camp=CAMP)
    runtime = _on_aws(deployed)
    entries = [f"private:camp={deployed.overlays['camp']}"]
    runtime.allow = AllowList.parse(entries, allow_folders=True)
    asked = {"question": "kettle", "knowledge_base_url": "camp", "receipt": "run_id=r1"}
    receipt = json.loads(respond(ACTION, _get("/v1/brief", asked, key="k"), runtime).text)["receipt"]
    for digest in (receipt["receipt_digest"], receipt["visibility_snapshot"]["digest"]):
        refused = respond_receipts(_get(f"/v1/receipts/{digest}", digest=digest), runtime)
        assert (refused.status, json.loads(refused.text)["error_code"]) == (403, "API_KEY_REQUIRED")
        given = respond_receipts(_get(f"/v1/receipts/{digest}", digest=digest, key="k"), runtime)
        assert json.loads(given.text)["verification"]["holds"] is True


def test_a_kept_receipt_is_given_with_what_it_proves(deploy: Deploy, gateway: tuple[str, int]) -> None:
    deployed = deploy(FILES)
    body = json.dumps({"question": "kettle", "receipt": {"run_id": "r1"}}).encode()
    receipt = exchange(gateway, deployed, "POST", "/v1/brief", body).envelope["receipt"]
    reply = exchange(gateway, deployed, "GET", f"/v1/receipts/{receipt['receipt_digest']}")
    assert (reply.status, reply.envelope["data"]) == (200, receipt)
    assert reply.headers["cache-control"] == "no-store"
    verification = reply.envelope["verification"]
    assert verification["holds"] is True
    assert [(entry["claim"], entry["outcome"]) for entry in verification["checks"]][:2] == [
        ("internally consistent and unmutated", "proven"),
        ("joined with its visibility snapshot", "proven"),
    ]
    named = receipt["visibility_snapshot"]["digest"]
    snapshot = exchange(gateway, deployed, "GET", f"/v1/receipts/{named}").envelope
    assert _digest(rfc8785.dumps(snapshot["data"])) == named
    assert snapshot["verification"]["holds"] is True


def test_a_kept_receipt_that_was_changed_or_lost_its_snapshot_does_not_hold(
    deploy: Deploy, gateway: tuple[str, int], asking: Callable[[Deployed], Ask]
) -> None:
    deployed = deploy(FILES)
    receipt = asking(deployed)("brief", question="kettle", receipt={"run_id": "r1"}).envelope["receipt"]
    path = f"/v1/receipts/{receipt['receipt_digest']}"
    kept = deployed.data / f"store/receipts/{receipt['receipt_digest']}.json"
    original = kept.read_bytes()
    kept.write_bytes(original.replace(b'"rank":1', b'"rank":2', 1))
    assert exchange(gateway, deployed, "GET", path).envelope["verification"]["holds"] is False
    kept.write_bytes(original)
    (deployed.data / "store" / receipt["visibility_snapshot"]["location"]).unlink()
    verification = exchange(gateway, deployed, "GET", path).envelope["verification"]
    assert verification["holds"] is False
    assert verification["checks"][1]["outcome"] == "unavailable"


def test_receipts_answer_what_is_wrong_with_the_request(deploy: Deploy, gateway: tuple[str, int]) -> None:
    deployed = deploy(FILES)
    for method, path, status, code in (
        ("GET", "/v1/receipts/" + "0" * 64, 404, "RECEIPT_NOT_FOUND"),
        ("GET", "/v1/receipts/..%2f..%2fsigning", 404, "RECEIPT_NOT_FOUND"),
        ("GET", "/v1/receipts/" + "A" * 64, 404, "RECEIPT_NOT_FOUND"),
        ("POST", "/v1/receipts/" + "0" * 64, 405, "METHOD_NOT_ALLOWED"),
        ("GET", "/v1/receipts/" + "0" * 64 + "?verbose=1", 400, "INVALID_PARAMETER"),
    ):
        reply = exchange(gateway, deployed, method, path)
        assert (reply.status, reply.envelope["error_code"]) == (status, code)
    assert exchange(gateway, deployed, "OPTIONS", "/v1/receipts/x").status == 204


class _Counting:
    """A store in memory that counts what is written, and may fail."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.writes: list[str] = []
        self.fails = False

    def create(self, key: str, content: bytes) -> None:
        self.writes.append(key)
        if self.fails:
            raise StoreUnavailable("down")
        if key in self.objects:
            raise AlreadyExists(key)
        self.objects[key] = content

    def get(self, key: str) -> StoredObject | None:
        content = self.objects.get(key)
        return None if content is None else StoredObject(content, "1")

    def replace(self, key: str, content: bytes, *, version: str | None = None) -> None:
        raise AssertionError("a receipt is never written over")

    def delete(self, key: str) -> None:
        raise AssertionError("a receipt is never removed")

    def keys(self, prefix: str) -> Any:
        return iter(sorted(key for key in self.objects if key.startswith(prefix)))


def test_a_snapshot_is_stored_once_and_the_same_receipt_twice_is_one(deploy: Deploy) -> None:
    runtime, store = deploy(FILES).runtime(), _Counting()
    runtime.store, runtime.wall_clock = store, lambda: 1_750_000_000.5
    asked = _get("/v1/brief", {"question": "kettle", "receipt": "run_id=r1"})
    first, second = (json.loads(respond(ACTION, asked, runtime).text) for _ in range(2))
    assert first["receipt"] == second["receipt"]
    assert first["receipt"]["created_at"] == "2025-06-15T15:06:40.500Z"
    assert [key.count("/visible/") for key in store.writes] == [1, 0, 0]
    assert len(store.objects) == 2


def test_a_receipt_that_cannot_be_kept_is_not_given(deploy: Deploy) -> None:
    runtime, store = deploy(FILES).runtime(), _Counting()
    runtime.store, store.fails = store, True
    asked = _get("/v1/brief", {"question": "kettle", "receipt": "run_id=r1"})
    failed = respond(ACTION, asked, runtime)
    assert (failed.status, json.loads(failed.text)["error_code"]) == (503, "STORE_UNAVAILABLE")
    store.fails = False
    assert "receipt" in json.loads(respond(ACTION, asked, runtime).text)


def test_a_new_index_is_a_new_snapshot_in_the_same_process(deploy: Deploy, asking: Callable[[Deployed], Ask]) -> None:
    deployed = deploy(FILES)
    ask = asking(deployed)
    before = ask("brief", question="kettle", receipt={"run_id": "r"}).envelope["receipt"]
    (deployed.baseline / "docs/urn.md").write_text(page("Urn", "A kettle for many."), "utf-8")
    deployed.index()
    after = ask("brief", question="kettle", receipt={"run_id": "r"}).envelope["receipt"]
    assert (before["visibility_snapshot"]["count"], after["visibility_snapshot"]["count"]) == (3, 4)


def test_telemetry_tells_that_a_receipt_was_minted_and_not_for_whom(deploy: Deploy) -> None:
    deployed = deploy(FILES)
    asked = {"question": "kettle marker-question", "receipt": "run_id=marker-run", "limit": "3"}
    respond(ACTION, _get("/v1/brief", asked), deployed.runtime())
    written = "".join(path.read_text("utf-8") for path in (deployed.data / "telemetry").rglob("*.jsonl"))
    record = json.loads(written)
    assert (record["action"], record["limit"], "receipt" in record["parameters"]) == ("brief", 3, True)
    assert "marker" not in written


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _visible(deployed: Deployed, ask: Ask, **scope: Any) -> list[dict[str, Any]]:
    """The documents of the snapshot that a receipt over a scope names."""
    receipt = ask("brief", question="kettle", receipt={"run_id": "r"}, **scope).envelope["receipt"]
    content = (deployed.data / "store" / receipt["visibility_snapshot"]["location"]).read_bytes()
    documents: list[dict[str, Any]] = json.loads(content)["documents"]
    return documents


def _on_aws(deployed: Deployed) -> Runtime:
    """The runtime as it is where callers are strangers: without a data folder of its own."""
    runtime = deployed.runtime()
    return replace(runtime, settings=runtime.settings.model_copy(update={"data": None}))


def _get(
    path: str, query: dict[str, str] | None = None, *, key: str | None = None, digest: str | None = None
) -> HttpRequest:
    return HttpRequest(
        method="GET",
        path=path,
        query={name: (value,) for name, value in (query or {}).items()},
        headers={},
        body=b"",
        api_key=key,
        path_parameters={} if digest is None else {"digest": digest},
    )
