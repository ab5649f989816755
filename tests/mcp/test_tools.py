"""The MCP tools: their schemas are what clients take, and they answer what HTTP answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from tests.conftest import Corpus, Deploy
from tests.corpora import page
from tests.mcp.post import Frame, call, post, request
from tests.transports import exchange

from lamina.actions.parameters import ListRequest
from lamina.actions.registry import ACTIONS
from lamina.contract.disclosure import CAPS
from lamina.contract.envelope import ERROR, compact
from lamina.contract.schema import advertised, request_schema
from lamina.contract.tokens import count_tokens
from lamina.mcp.tools import instructions, tools
from lamina.runtime.settings import Settings

Address = tuple[str, int]

TOOLS = tools(Settings.of({"LAMINA_DATA": "/nowhere"}))
LISTED = [tool.listed() for tool in TOOLS.values()]
RETRIEVAL = ("search", "catalog", "preflight", "get", "resolve")

# What function-calling clients accept in a parameter's schema; the rest is refused or silently dropped by some.
_WORDS = {"type", "description", "default", "enum", "items", "minimum", "maximum"}
_OF_OBJECTS = {"properties", "required", "additionalProperties", "minLength", "maxLength"}
_TYPES = {"string", "integer", "number", "boolean", "array", "object"}


def _named(tool: Mapping[str, Any]) -> str:
    return str(tool["name"])


def _schemas(schema: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(schema, dict):
        yield schema
        for value in schema.values():
            yield from _schemas(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _schemas(value)


def test_the_tools_are_those_that_callers_know() -> None:
    names = [_named(tool) for tool in LISTED]
    assert [f"oddkit_{name}" for name in RETRIEVAL] == names[:5]
    assert names[-1] == "oddkit"


def test_every_action_that_is_a_tool_is_one_and_the_router_names_them_all() -> None:
    expected = [*(name for name, action in ACTIONS.items() if action.is_tool), "orient"]
    names = {_named(tool) for tool in LISTED}
    assert {"orient", *(ACTIONS[name].tool("oddkit_") for name in expected[:-1])} <= names
    assert expected == LISTED[-1]["inputSchema"]["properties"]["action"]["enum"]


def test_the_prefix_is_the_deployments() -> None:
    for prefix, search, router in (("kb_", "kb_search", "kb"), ("oddkit_", "oddkit_search", "oddkit")):
        assert {search, router} < set(tools(Settings.of({"LAMINA_TOOL_PREFIX": prefix})))


def test_knowledge_is_a_tool_where_there_is_a_workspace(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "knowledge" in TOOLS
    on_aws = {"LAMINA_BUCKET": "b", "LAMINA_VERSION": "with and without a workspace"}
    assert "knowledge" not in tools(Settings.of(on_aws))
    monkeypatch.setenv("KNOWLEDGE_ROOT", "s3://bucket/notes")
    assert "knowledge" in tools(Settings.of({**on_aws, "LAMINA_VERSION": "with one"}))


def test_the_list_of_tools_is_cheap() -> None:
    taken = [{word: tool[word] for word in ("name", "description", "inputSchema")} for tool in LISTED]
    assert sum(count_tokens(compact(tool)) for tool in taken) <= 3_500
    assert sum(count_tokens(compact(tool["outputSchema"])) for tool in LISTED) <= 2_000


def test_instructions_are_five_lines_that_name_the_tools_of_the_deployment() -> None:
    for prefix in ("oddkit_", "kb_"):
        text = instructions(Settings.of({"LAMINA_TOOL_PREFIX": prefix}))
        assert len(text.splitlines()) == 5
        assert all(f"{prefix}{name}" in text for name in RETRIEVAL)


@pytest.mark.parametrize("tool", LISTED, ids=_named)
def test_names_and_descriptions_keep_to_the_bounds_of_clients(tool: Frame) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_-]+", tool["name"])
    assert len(f"lamina:{tool['name']}") < 60
    assert 0 < len(tool["description"]) < 1_024


@pytest.mark.parametrize("tool", LISTED, ids=_named)
def test_input_schemas_hold_nothing_that_clients_refuse(tool: Frame) -> None:
    schema = tool["inputSchema"]
    assert schema["type"] == "object"
    assert set(schema) <= {"type", "properties", "required", "additionalProperties"}
    assert set(schema.get("required", ())) <= set(schema["properties"])
    for name, entry in _parameters(schema):
        assert re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", name)
        assert set(entry) <= _WORDS | _OF_OBJECTS, name
        assert entry["type"] in _TYPES, name
        assert entry["type"] != "array" or entry["items"]["type"] in _TYPES - {"array", "object"}, name
        assert "default" not in entry or entry["default"] is not None, name
        for values in (entry, entry.get("items", {})):
            assert all(isinstance(value, str) for value in values.get("enum", ())), name


def _parameters(schema: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every parameter, those inside of others too."""
    for name, entry in schema.get("properties", {}).items():
        yield name, entry
        yield from _parameters(entry)


@pytest.mark.parametrize("tool", LISTED, ids=_named)
def test_schemas_are_valid_and_without_references(tool: Frame) -> None:
    for schema in (tool["inputSchema"], tool["outputSchema"]):
        Draft202012Validator.check_schema(schema)
        assert not any(word in entry for entry in _schemas(schema) for word in ("$ref", "$defs", "anyOf", "oneOf"))


def _offered(action: str) -> dict[str, Any]:
    """The parameters that a tool has to tell: a client's name is told when it connects."""
    properties = advertised(request_schema(ACTIONS[action].request))["properties"]
    return {name: entry for name, entry in properties.items() if name != "consumer"}


@pytest.mark.parametrize("name", [name for name, action in ACTIONS.items() if action.is_tool])
def test_a_tool_carries_every_parameter_default_and_value_of_its_action(name: str) -> None:
    told = TOOLS[ACTIONS[name].tool("oddkit_")].input_schema["properties"]
    of_the_tool = ACTIONS[name].tool_defaults
    assert of_the_tool == {parameter: told[parameter]["default"] for parameter in of_the_tool}
    for parameter, entry in _offered(name).items():
        for word in ("type", "default", "enum", "maximum", *(() if parameter == "exclude" else ("items",))):
            if word == "default" and parameter in of_the_tool:
                continue
            expected = None if entry.get(word) is False else entry.get(word)
            assert expected == told[parameter].get(word), (parameter, word)
    main = ACTIONS[name].request.main
    required = TOOLS[ACTIONS[name].tool("oddkit_")].input_schema.get("required", [])
    assert required == ([] if main is None else [main])


@pytest.mark.parametrize("name", [n for n, action in ACTIONS.items() if issubclass(action.request, ListRequest)])
def test_a_tool_of_lists_tells_its_caps(name: str) -> None:
    text = TOOLS[f"oddkit_{name}"].input_schema["properties"]["limit"]["description"]
    caps = [cap for flag, cap in CAPS.items() if flag is None or flag in ACTIONS[name].request.permitted]
    assert [cap for cap in caps if str(cap) not in text] == []


@pytest.mark.parametrize("tool", LISTED, ids=_named)
def test_every_parameter_is_described_in_every_tool_and_no_old_name_is_offered(tool: Frame) -> None:
    properties = tool["inputSchema"]["properties"]
    assert [name for name, entry in properties.items() if not entry.get("description")] == []
    assert not any(entry.get("deprecated") for entry in properties.values())
    assert "input" not in properties or tool["name"] == "oddkit"


def test_the_router_declares_every_parameter_that_it_passes_on() -> None:
    declared = TOOLS["oddkit"].input_schema["properties"]
    for action in ACTIONS.values():
        for name, entry in _offered(action.name).items() if action.is_tool else ():
            told = declared["input" if name == action.request.main else name]
            assert (told["type"], "items" in told) == (entry["type"], "items" in entry)


def _typed(schema: Mapping[str, Any], prefix: str = "", levels: int = 2) -> Iterator[tuple[str, Any]]:
    """The type of every field of an answer and of the objects in it."""
    for name, field in schema.get("properties", {}).items() if levels else ():
        yield f"{prefix}{name}", field["type"]
        yield from _typed(field, f"{prefix}{name}.", levels - 1)
        yield from _typed(field.get("items", {}), f"{prefix}{name}[].", levels - 1)


@pytest.mark.parametrize("name", [name for name, action in ACTIONS.items() if action.is_tool])
def test_an_output_schema_has_every_field_that_its_action_answers(name: str) -> None:
    told = TOOLS[ACTIONS[name].tool("oddkit_")].output_schema["properties"]["result"]
    assert dict(_typed(ACTIONS[name].answer)) == dict(_typed(told))


def test_all_tools_are_marked_read_only_and_idempotent_but_knowledge() -> None:
    hints = {_named(tool): tool["annotations"] for tool in LISTED if tool["name"] != "knowledge"}
    assert all(entry == {"readOnlyHint": True, "idempotentHint": True} for entry in hints.values())
    assert TOOLS["knowledge"].listed()["annotations"]["readOnlyHint"] is False


# What a model is not told where it is empty or as usual.
SAYING_NOTHING = ("disclosure_applied", "filters_applied", "filtered_out")

# Every action, found and not, in every odd form that clients send.
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("search", {"query": "gauge battery"}),
    ("search", {"query": "gauge", "knowledge_base_url": "OVERLAY", "disclosure": ["blockquote", "metadata"]}),
    ("search", {"query": "gauge", "knowledge_base_url": "OVERLAY", "result_grouping": "grouped"}),
    ("search", {"query": "zzqqxxyy"}),
    ("search", {"input": "gauge", "limit": "2", "disclosure": '["summary"]'}),
    ("search", {"query": "gauge", "disclosure": "blockquote,metadata", "public": "true"}),
    ("search", {"query": "gauge", "max_tokens": 600, "include_legacy_envelope": True}),
    ("search", {"query": "gauge", "disclosure": ["body"]}),
    ("search", {"query": ""}),
    ("search", {"query": "gauge", "nonsense": 1}),
    ("catalog", {}),
    ("catalog", {"limit": 501}),
    ("catalog", {"include": ["journals"], "sort_by": "date", "order": "desc", "include_legacy_envelope": "true"}),
    ("catalog", {"audience": "nobody-has-this"}),
    ("preflight", {"task": "Write a notice about a flood"}),
    ("preflight", {"task": "rotate a key", "knowledge_base_url": "OVERLAY", "search_scope": "kb_only"}),
    ("get", {"uri": "README.md"}),
    ("get", {"uri": "README.md", "disclosure": ["metadata", "blockquote"], "include_legacy_envelope": True}),
    ("get", {"uri": "README.md", "section": "no such heading"}),
    ("get", {"uri": "no/such/document.md"}),
    ("get", {"uri": "README.md", "tags": ["x"]}),
    ("resolve", {"uri": "README.md"}),
    ("resolve", {"uri": "no/such/document.md"}),
    ("get", {"uri": "README.md", "knowledge_base_url": "https://github.com/someone/else"}),
    ("brief", {"question": "gauge battery", "limit": "3"}),
    ("brief", {"input": "gauge", "knowledge_base_url": "OVERLAY", "kinds": "canon,docs", "max_chars": 400}),
    ("brief", {"question": ""}),
)


@pytest.mark.parametrize(("action", "arguments"), CALLS, ids=[f"{a} {compact(b)}" for a, b in CALLS])
def test_a_tool_answers_what_http_answers_and_a_model_reads_what_says_something(
    action: str, arguments: dict[str, Any], corpus: Corpus, gateway: Address
) -> None:
    sent = {name: corpus.overlay if value == "OVERLAY" else value for name, value in arguments.items()}
    over_http = exchange(gateway, corpus.deployed, "POST", f"/v1/{action}", json.dumps(sent).encode())
    if action == "brief":
        sent["detail"] = "full"
    for tool, given in ((ACTIONS[action].tool("oddkit_"), sent), ("oddkit", {"action": action, **sent})):
        result = call(gateway, corpus.deployed, tool, given)
        [content] = result["content"]
        source = over_http.envelope.get("governance_source")
        wrapper = {"action": action, "result": over_http.envelope, "governance_source": source}
        assert content["type"] == "text"
        is_error = over_http.envelope["status"] == ERROR
        assert result["isError"] is is_error
        if is_error:
            assert compact(wrapper) == content["text"]
            assert "structuredContent" not in result
        else:
            assert wrapper == result["structuredContent"]
            read = json.loads(content["text"])["result"]
            expected = {name: value for name, value in over_http.envelope.items() if name in read}
            told = {name: value for name, value in read.items() if name != "match"}
            assert told == {name: value for name, value in expected.items() if name != "match"}
            assert read.get("match", {}).items() <= expected.get("match", {}).items()
            assert set(over_http.envelope) - set(read) <= {"limit", "offset", *SAYING_NOTHING}
            listed = next(entry for entry in LISTED if entry["name"] == tool)
            Draft202012Validator(listed["outputSchema"]).validate(result["structuredContent"])


@pytest.mark.parametrize("tool", LISTED, ids=_named)
def test_a_parameter_that_is_null_is_not_given(tool: Frame, sample: Corpus, gateway: Address) -> None:
    needed = {"action": "search", "input": "gauge", "query": "gauge", "task": "gauge", "uri": "README.md"}
    needed |= {"question": "gauge"}
    schema = tool["inputSchema"]
    given = {name: needed[name] for name in schema["properties"] if name in needed and name in ("input", "action")}
    given |= {name: needed[name] for name in schema.get("required", ())}
    nothing = dict.fromkeys(schema["properties"])
    with_nulls = call(gateway, sample.deployed, tool["name"], {**nothing, **given})
    assert with_nulls["isError"] is False, with_nulls["content"]
    assert call(gateway, sample.deployed, tool["name"], given) == with_nulls


def test_a_brief_is_text_and_ids_unless_all_of_it_is_asked_for(sample: Corpus, gateway: Address) -> None:
    def brief(**arguments: Any) -> Frame:
        result = call(gateway, sample.deployed, "brief", {"question": sample.query, **arguments})
        data: Frame = json.loads(result["content"][0]["text"])["result"]["data"]
        assert result["structuredContent"]["result"]["data"] == data
        return data

    short, full = brief(), brief(detail="full")
    assert set(short) == {"text", "citation_ids"}
    assert {"hits", "results", "retriever_config_digest"} <= set(full)
    assert (short["text"], short["citation_ids"]) == (full["text"], full["citation_ids"])
    assert "results" in brief(receipt={"run_id": "r", "actor_id": None})
    body = json.dumps({"question": sample.query}).encode()
    over_http = exchange(gateway, sample.deployed, "POST", "/v1/brief", body).envelope["data"]
    assert over_http == full


def test_what_is_empty_or_as_usual_is_left_out_of_the_text(sample: Corpus, gateway: Address) -> None:
    def read(**arguments: Any) -> set[str]:
        result = call(gateway, sample.deployed, "oddkit_search", {"query": sample.query, **arguments})
        return set(json.loads(result["content"][0]["text"])["result"])

    usual = read(include=["journals", "canon", "docs", "essays", "apocrypha"], limit=2)
    assert usual & {"limit", "offset", "disclosure_applied", "filtered_out"} == set()
    assert "filters_applied" in usual
    assert "filters_applied" not in read()
    assert {"filtered_out", "filtered_out_by"} <= read(include="apocrypha")
    assert "disclosure_applied" in read(disclosure="summary")


def test_a_circular_supersession_is_an_answer_that_fits_its_schema(deploy: Deploy, gateway: Address) -> None:
    deployed = deploy(
        {
            "docs/a.md": page("A", superseded_by="docs/b.md"),
            "docs/b.md": page("B", superseded_by="docs/a.md"),
        }
    )
    result = call(gateway, deployed, "oddkit_resolve", {"uri": "docs/a.md"})
    assert result["structuredContent"]["result"]["status"] == "CIRCULAR_SUPERSESSION"
    Draft202012Validator(TOOLS["oddkit_resolve"].output_schema).validate(result["structuredContent"])


@pytest.mark.parametrize("action", ["oddkit_search", "time", "", None, 7, ["get"]])
def test_an_action_that_there_is_not_is_refused_by_the_names_of_those_that_are(
    action: Any, sample: Corpus, gateway: Address
) -> None:
    result = call(gateway, sample.deployed, "oddkit", {"action": action, "input": "x"})
    envelope = json.loads(result["content"][0]["text"])["result"]
    assert result["isError"] is True
    assert envelope["error_code"] == "INVALID_PARAMETER"
    assert envelope["parameter"] == "action"
    assert envelope["action"] is None
    assert all(name in envelope["error_message"] for name in RETRIEVAL)


@pytest.mark.parametrize("action", RETRIEVAL)
def test_the_router_takes_input_for_whatever_an_action_reads(action: str, sample: Corpus, gateway: Address) -> None:
    nothing: dict[str, Any] = {"query": "", "task": "", "uri": "", "sort_by": None, "section": None, "kinds": []}
    for rest in ({}, nothing):
        result = call(gateway, sample.deployed, "oddkit", {"action": action, "input": "README.md", **rest})
        assert result["isError"] is False, result["content"]


def test_knowledge_answers_its_own_response_in_the_wrapper(sample: Corpus, gateway: Address) -> None:
    described = call(gateway, sample.deployed, "knowledge", {})
    body = b'{"schema":"synapse.knowledge-request/1","operation":{"op":"describe"}}'
    over_http = exchange(gateway, sample.deployed, "POST", "/v1/knowledge", body)
    refused = call(gateway, sample.deployed, "knowledge", {"operation": {"op": "no-such"}})
    for result, is_ok in ((described, True), (refused, False)):
        wrapper = json.loads(result["content"][0]["text"])
        assert wrapper == result["structuredContent"]
        assert (wrapper["action"], wrapper["result"]["ok"], result["isError"]) == ("knowledge", is_ok, not is_ok)
        Draft202012Validator(TOOLS["knowledge"].output_schema).validate(wrapper)
    if over_http.status == 200:
        assert f'"result":{over_http.text},' in described["content"][0]["text"]


def test_a_tool_that_there_is_not_is_a_protocol_error(sample: Corpus, gateway: Address) -> None:
    reply = post(gateway, sample.deployed, request("tools/call", name="oddkit_orient", arguments={}))
    assert reply.envelope["error"]["code"] == -32602


def test_what_the_address_says_stands_for_what_a_call_leaves_out(sample: Corpus, gateway: Address) -> None:
    frame = request("tools/call", name="oddkit_search", arguments={"query": "gauge"})
    path = f"/mcp?knowledge_base_url={sample.overlay}&consumer=a-site"
    reply = exchange(gateway, sample.deployed, "POST", path, json.dumps(frame).encode())
    envelope = reply.envelope["result"]["structuredContent"]["result"]
    assert "overlay_signal" in envelope["match"]
    assert _last_record(sample)["consumer_label"] == "a-site"


def test_a_call_is_recorded_under_the_name_that_the_client_gives_itself(sample: Corpus, gateway: Address) -> None:
    frame = request("tools/call", name="oddkit_catalog", arguments={})
    frame["params"]["_meta"] = {"io.modelcontextprotocol/clientInfo": {"name": "an-editor", "version": "1"}}
    post(gateway, sample.deployed, frame)
    record = _last_record(sample)
    assert record["action"] == "catalog"
    assert (record["consumer_label"], record["consumer_source"]) == ("an-editor", "clientInfo")


def test_a_call_of_no_action_is_recorded_without_what_it_said(sample: Corpus, gateway: Address) -> None:
    call(gateway, sample.deployed, "oddkit", {"action": "marked-action", "input": "marked-input"})
    record = _last_record(sample)
    assert (record["action"], record["error_code"]) == ("oddkit", "INVALID_PARAMETER")
    assert "marked" not in json.dumps(record)


def _last_record(corpus: Corpus) -> dict[str, Any]:
    files = (corpus.deployed.data / "telemetry").rglob("*.jsonl")
    newest = max(files, key=lambda path: path.stat().st_mtime_ns)
    record: dict[str, Any] = json.loads(newest.read_text("utf-8").splitlines()[-1])
    return record
