"""Documents as MCP resources: every one of the catalog is listed, and read by its URI under get's rules."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Corpus, Deploy
from tests.corpora import Deployed, page
from tests.mcp.post import Frame, post, request, stateless
from tests.transports import exchange

from lamina.local.stdio import Session
from lamina.mcp.endpoint import respond
from lamina.mcp.resources import PAGE
from lamina.runtime.event import HttpRequest, HttpResponse
from lamina.runtime.settings import Settings
from lamina.runtime.wiring import compose

Address = tuple[str, int]


def _pages(address: Address, deployed: Deployed) -> Iterator[list[dict[str, Any]]]:
    cursor: dict[str, str] = {}
    while True:
        result = post(address, deployed, request("resources/list", **cursor)).envelope["result"]
        yield result["resources"]
        if "nextCursor" not in result:
            return
        cursor = {"cursor": result["nextCursor"]}


def _read(address: Address, deployed: Deployed, uri: str) -> dict[str, Any]:
    return post(address, deployed, request("resources/read", uri=uri)).envelope


def test_the_pages_hold_what_the_catalog_holds(corpus: Corpus, gateway: Address) -> None:
    pages = list(_pages(gateway, corpus.deployed))
    listed = [entry["uri"] for resources in pages for entry in resources]
    kinds = "canon,docs,journals,essays,apocrypha"
    catalog = exchange(gateway, corpus.deployed, "GET", f"/v1/catalog?limit=500&max_tokens=30000&include={kinds}")
    assert catalog.envelope["total"] == len(listed) == len(set(listed))
    assert catalog.uris == listed[: len(catalog.uris)]
    assert max(map(len, pages)) <= PAGE


def test_a_listed_resource_has_a_name_and_a_type(sample: Corpus, gateway: Address) -> None:
    for entry in next(_pages(gateway, sample.deployed)):
        assert entry["name"]
        assert entry["mimeType"] == "text/markdown"


def test_every_listed_resource_can_be_read_and_is_the_body_of_get(sample: Corpus, gateway: Address) -> None:
    for entry in next(_pages(gateway, sample.deployed)):
        [contents] = _read(gateway, sample.deployed, entry["uri"])["result"]["contents"]
        got = exchange(gateway, sample.deployed, "POST", "/v1/get", json.dumps({"uri": entry["uri"]}).encode())
        assert got.envelope["data"]["body"] == contents["text"]
        assert (entry["uri"], "text/markdown") == (contents["uri"], contents["mimeType"])


def test_a_document_is_read_by_its_path_and_its_alias_too(deploy: Deploy, gateway: Address) -> None:
    deployed = deploy({"docs/new.md": page("New", uri="kb://docs/new", aliases=["kb://docs/old"])})
    for uri in ("kb://docs/new", "kb://docs/old", "docs/new.md"):
        assert "# New" in _read(gateway, deployed, uri)["result"]["contents"][0]["text"]


def test_a_uri_with_letters_that_uris_lack_is_listed_encoded_and_read_so(deploy: Deploy, gateway: Address) -> None:
    names = ("ünïcode", "with space", "50%25 off", "日本")
    deployed = deploy({f"docs/{at}.md": page(name, uri=f"kb://docs/{name}") for at, name in enumerate(names)})
    [resources] = _pages(gateway, deployed)
    assert all(entry["uri"].isascii() and " " not in entry["uri"] for entry in resources)
    for entry in resources:
        assert f"# {entry['name']}\n" in _read(gateway, deployed, entry["uri"])["result"]["contents"][0]["text"]


def test_a_declared_uri_that_is_none_is_replaced_and_does_not_spoil_the_list(deploy: Deploy, gateway: Address) -> None:
    deployed = deploy({"docs/a.md": page("A", uri="kb://a"), "docs/b.md": page("B", uri="http://[oops")})
    [resources] = _pages(gateway, deployed)
    assert [(entry["name"], entry["uri"]) for entry in resources] == [("A", "kb://a"), ("B", "kb://docs/b")]


def test_a_page_comes_from_the_snapshot_of_the_first(deploy: Deploy, gateway: Address) -> None:
    deployed = deploy({f"docs/{number:03}.md": page(str(number)) for number in range(PAGE + 20)})
    pages = _pages(gateway, deployed)
    first = next(pages)
    (deployed.baseline / "docs" / "000.md").unlink()
    deployed.index()
    rest = [entry for resources in pages for entry in resources]
    assert len({entry["uri"] for entry in [*first, *rest]}) == PAGE + 20


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "nonsense",
        "ünïcode",
        7,
        base64.urlsafe_b64encode(b"[1]").decode(),
        base64.urlsafe_b64encode(b'["1", 2]').decode(),
        base64.urlsafe_b64encode(b'[-1, "0123456789ab"]').decode(),
        base64.urlsafe_b64encode(b'[5, "0123456789ab"]').decode(),
    ],
)
def test_a_cursor_that_is_none_of_ours_is_refused(cursor: Any, sample: Corpus, gateway: Address) -> None:
    reply = post(gateway, sample.deployed, request("resources/list", cursor=cursor))
    assert reply.envelope["error"]["code"] == -32602


def test_the_template_covers_any_uri(sample: Corpus, gateway: Address) -> None:
    result = post(gateway, sample.deployed, request("resources/templates/list")).envelope["result"]
    assert [entry["uriTemplate"] for entry in result["resourceTemplates"]] == ["{+uri}"]


def test_an_absent_document_is_an_error_that_names_what_may_be_meant(sample: Corpus, gateway: Address) -> None:
    error = _read(gateway, sample.deployed, "rill://canon/flood")["error"]
    assert error["code"] == -32002
    assert error["data"]["uri"] == "rill://canon/flood"
    assert error["data"]["did_you_mean"]


def test_the_documents_of_an_overlay_are_resources_of_its_address(sample: Corpus, gateway: Address) -> None:
    def uris(path: str) -> set[str]:
        frame = json.dumps(request("resources/list")).encode()
        reply = exchange(gateway, sample.deployed, "POST", path, frame)
        return {entry["uri"] for entry in reply.envelope["result"]["resources"]}

    assert uris("/mcp") < uris(f"/mcp?knowledge_base_url={sample.overlay}")


def test_a_knowledge_base_that_is_not_allowed_is_an_error_with_its_envelope(sample: Corpus, gateway: Address) -> None:
    frame = json.dumps(request("resources/list")).encode()
    reply = exchange(gateway, sample.deployed, "POST", "/mcp?knowledge_base_url=nobody", frame)
    assert reply.envelope["error"]["code"] == -32602
    assert reply.envelope["error"]["data"]["error_code"] == "KNOWLEDGE_BASE_NOT_ALLOWED"


def test_without_an_index_a_list_is_an_error_and_a_call_a_result(tmp_path: Path) -> None:
    session = Session(compose(Settings.of({"LAMINA_DATA": str(tmp_path)})))
    listed = session.reply(json.dumps(request("resources/list")).encode())
    called = session.reply(json.dumps(request("tools/call", name="oddkit_catalog")).encode())
    assert isinstance(listed, dict) and isinstance(called, dict)
    assert listed["error"]["code"] == -32603
    assert listed["error"]["data"]["error_code"] == "INDEX_NOT_READY"
    assert called["result"]["isError"] is True


def test_a_read_document_is_kept_by_nobody(sample: Corpus, gateway: Address) -> None:
    frame, headers = stateless("resources/read", uri="rill://README")
    result = post(gateway, sample.deployed, frame, **headers).envelope["result"]
    assert (result["resultType"], result["ttlMs"], result["cacheScope"]) == ("complete", 0, "private")


def test_reading_is_held_to_the_limit_of_bodies_like_get(sample: Corpus) -> None:
    variables = {**sample.deployed.environment(), "LAMINA_BODY_LIMIT": "2", "LAMINA_VERSION": "limited"}
    runtime = compose(Settings.of(variables))
    runtime.body_limit = replace(runtime.body_limit, wall_clock=lambda: 30.0)
    reading = request("resources/read", uri="rill://README")
    getting = request("tools/call", name="oddkit_get", arguments={"uri": "rill://README"})
    outlining = request("tools/call", name="oddkit_get", arguments={"uri": "rill://README", "disclosure": []})

    def answered(frame: Frame) -> tuple[Frame, HttpResponse]:
        content = json.dumps(frame).encode()
        response = respond(HttpRequest("POST", "/mcp", {}, {}, content, source_ip="192.0.2.1"), runtime)
        return json.loads(response.text), response

    assert "result" in answered(reading)[0]
    assert answered(getting)[0]["result"]["isError"] is False
    refused, _ = answered(reading)
    assert (refused["error"]["code"], refused["error"]["data"]["error_code"]) == (-32603, "RATE_LIMITED")
    called, response = answered(getting)
    assert called["result"]["isError"] is True
    assert (response.status, response.retry_after) == (200, 30)
    assert answered(outlining)[0]["result"]["isError"] is False
