"""MCP prompts and completions: what is offered, filled in and proposed, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conftest import Corpus
from tests.mcp.post import Frame, post, request
from tests.transports import exchange

Address = tuple[str, int]


def _asked(address: Address, corpus: Corpus, method: str, **params: Any) -> Frame:
    return post(address, corpus.deployed, request(method, **params)).envelope


def test_every_prompt_is_filled_in_and_names_tools_that_there_are(sample: Corpus, gateway: Address) -> None:
    prompts = _asked(gateway, sample, "prompts/list")["result"]["prompts"]
    tools = {tool["name"] for tool in _asked(gateway, sample, "tools/list")["result"]["tools"]}
    assert {prompt["name"] for prompt in prompts} == {"start-a-task", "review-a-proposal", "write-a-page"}
    for prompt in prompts:
        [argument] = prompt["arguments"]
        filled = {argument["name"]: "the {new} gauge"}
        [message] = _asked(gateway, sample, "prompts/get", name=prompt["name"], arguments=filled)["result"]["messages"]
        text = message["content"]["text"]
        assert "the {new} gauge" in text
        named = {word.strip(".,") for word in text.split() if word.startswith("oddkit_")}
        assert named and named <= tools


@pytest.mark.parametrize(
    "params",
    [{"name": "no-such"}, {"name": "start-a-task"}, {"name": "start-a-task", "arguments": {"task": ""}}, {}],
)
def test_a_prompt_without_what_it_needs_is_refused(params: Frame, sample: Corpus, gateway: Address) -> None:
    assert _asked(gateway, sample, "prompts/get", **params)["error"]["code"] == -32602


def _completed(address: Address, corpus: Corpus, name: str, value: str) -> Frame:
    reference = {"type": "ref/resource", "uri": "{+uri}"}
    told = _asked(address, corpus, "completion/complete", ref=reference, argument={"name": name, "value": value})
    completion: Frame = told["result"]["completion"]
    return completion


def test_uris_tags_and_knowledge_bases_are_completed(corpus: Corpus, gateway: Address) -> None:
    uris = _completed(gateway, corpus, "uri", f"{corpus.scheme}://canon/")
    assert uris["values"] and all(uri.startswith(f"{corpus.scheme}://canon/") for uri in uris["values"])
    assert len(uris["values"]) <= 100 and uris["hasMore"] == (uris["total"] > 100)
    inside = _completed(gateway, corpus, "uri", "DEFINITION-of-done")
    assert f"{corpus.scheme}://canon/constraints/definition-of-done" in inside["values"] or inside["values"]
    for tag in _completed(gateway, corpus, "tags", "e")["values"][:3]:
        assert exchange(gateway, corpus.deployed, "GET", f"/v1/catalog?tags={tag}&include=canon,docs,journals,essays")
    assert _completed(gateway, corpus, "knowledge_base_url", "")["values"] == [corpus.overlay]
    assert _completed(gateway, corpus, "limit", "1") == {"values": [], "total": 0, "hasMore": False}


@pytest.mark.parametrize(
    "params",
    [{}, {"ref": {"type": "x"}, "argument": {"name": "uri", "value": ""}}, {"ref": {"type": "ref/prompt"}}],
)
def test_what_cannot_be_completed_is_refused(params: Frame, sample: Corpus, gateway: Address) -> None:
    assert _asked(gateway, sample, "completion/complete", **params)["error"]["code"] == -32602
