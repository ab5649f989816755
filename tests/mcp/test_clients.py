"""The official clients of MCP against the real server: both eras, over HTTP and stdio, in Python and JavaScript."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from tests.conftest import Corpus
from tests.corpora import CHECKOUT
from tests.transports import stand_before

pytest.importorskip("mcp.client", reason="the official SDK is not installed")

from lamina.contract.envelope import ERROR
from mcp import Client, MCPError, StdioServerParameters, stdio_client

Use = Callable[[Client], Coroutine[Any, Any, None]]

MODES = ("2026-07-28", "auto", "legacy")
TRANSPORTS = ("http", "stdio")
# Of each line of the JavaScript SDK the release that the test was written with.
PACKAGES = ("@modelcontextprotocol/sdk@1.32.2", "@modelcontextprotocol/client@2.4.0")

CALLS: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("oddkit_search", {"query": "gauge battery", "limit": "3"}, "FOUND"),
    ("oddkit_search", {"query": "zzqqxxyy"}, "NOT_FOUND"),
    ("oddkit_search", {"query": "gauge", "disclosure": ["body"]}, ERROR),
    ("oddkit_catalog", {"disclosure": "blockquote,metadata", "limit": 5}, "FOUND"),
    ("oddkit_preflight", {"task": "Write a notice about a flood"}, "FOUND"),
    ("oddkit_get", {"uri": "rill://README"}, "FOUND"),
    ("oddkit_get", {"uri": "rill://no/such"}, "NOT_FOUND"),
    ("oddkit_resolve", {"uri": "README.md"}, "FOUND"),
    ("oddkit", {"action": "search", "input": "gauge", "result_grouping": "overlay_first"}, "FOUND"),
    ("oddkit", {"action": "orient", "input": "gauge"}, "FOUND"),
    ("oddkit", {"action": "no-such-action", "input": "gauge"}, ERROR),
    ("baseline_check", {}, "COMPLETE"),
)


def _environment() -> dict[str, str]:
    paths = os.pathsep.join((str(CHECKOUT / "shared"), str(CHECKOUT)))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LAMINA_")}
    # Vectors would be made while the client waits for its first answer.
    return {**kept, "PYTHONPATH": paths, "LAMINA_ENCODER": "none"}


def _stdio(sample: Corpus, data: Path) -> StdioServerParameters:
    overlays = [f"--allow={name}={folder}" for name, folder in sample.deployed.overlays.items()]
    command = ["-m", "lamina.local.cli", "mcp", str(sample.deployed.baseline), *overlays, "--data", str(data)]
    return StdioServerParameters(command=sys.executable, args=command, env=_environment())


@pytest.fixture(params=TRANSPORTS)
def connect(
    request: pytest.FixtureRequest, sample: Corpus, gateway: tuple[str, int], tmp_path: Path
) -> Callable[[str], Client]:
    """A client of a mode, over each transport."""
    if request.param == "stdio":
        return lambda mode: Client(stdio_client(_stdio(sample, tmp_path)), mode=mode)
    stand_before(sample.deployed)
    return lambda mode: Client(f"http://{gateway[0]}:{gateway[1]}/mcp", mode=mode)


def _run(connect: Callable[[str], Client], mode: str, use: Use) -> None:
    async def session() -> None:
        async with connect(mode) as client:
            await use(client)

    asyncio.run(asyncio.wait_for(session(), 60))


@pytest.mark.parametrize("mode", MODES)
def test_the_python_client_calls_every_tool_and_reads_a_document(mode: str, connect: Callable[[str], Client]) -> None:
    async def use(client: Client) -> None:
        assert client.protocol_version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        for name, arguments, status in CALLS:
            result = await client.call_tool(name, arguments)
            wrapper = json.loads(result.content[0].text)  # type: ignore[union-attr]
            assert (name, status) == (name, wrapper["result"]["status"])
            assert result.is_error is (status == ERROR)
            if status == ERROR:
                assert result.structured_content is None
            else:
                assert result.structured_content is not None
                assert set(wrapper["result"]) <= set(result.structured_content["result"])
                Draft202012Validator(tools[name].output_schema).validate(result.structured_content)
        page = await client.list_resources()
        assert page.resources and page.next_cursor is None
        assert len((await client.list_resource_templates()).resource_templates) == 1
        document = await client.read_resource(page.resources[0].uri)
        assert document.contents[0].text.startswith("# ")  # type: ignore[union-attr]
        with pytest.raises(MCPError, match="Resource not found"):
            await client.read_resource("rill://no/such")
        with pytest.raises(MCPError, match="Unknown tool"):
            await client.call_tool("no_such_tool", {})

    _run(connect, mode, use)


def test_nothing_but_frames_is_printed_on_stdio(sample: Corpus, tmp_path: Path) -> None:
    server = _stdio(sample, tmp_path)
    ping = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    done = subprocess.run(
        [server.command, *server.args], input=f"{ping}\n{{\n{ping}", env=server.env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert [json.loads(line).get("id") for line in done.stdout.splitlines()] == [1, None, 1]


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the JavaScript clients, from the npm registry."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("node is not installed")
    folder = tmp_path_factory.mktemp("npm")
    command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", *PACKAGES]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        pytest.skip(f"the npm registry does not give the clients: {done.stderr[-200:]}")
    return folder


JAVASCRIPT = """
const [module_, http, stdio, options, url, server, calls] = process.argv.slice(2);
const { Client } = await import(module_);
const { StreamableHTTPClientTransport } = await import(http);
const { StdioClientTransport } = await import(stdio);
const told = [];
const transports = [new StreamableHTTPClientTransport(new URL(url)), new StdioClientTransport(JSON.parse(server))];
for (const transport of transports) {
  const client = new Client({ name: "a-client", version: "1" }, JSON.parse(options));
  await client.connect(transport);
  const { tools } = await client.listTools();
  const statuses = [];
  for (const [name, args] of JSON.parse(calls)) {
    const result = await client.callTool({ name, arguments: args });
    const { status } = JSON.parse(result.content[0].text).result;
    statuses.push([status, result.isError === true, result.structuredContent?.result.status ?? null]);
  }
  const { resources } = await client.listResources();
  const { contents } = await client.readResource({ uri: resources[0].uri });
  const absent = await client.readResource({ uri: "rill://no/such" }).catch((error) => error.message);
  told.push({ tools: tools.length, statuses, text: contents[0].text.slice(0, 2), absent });
  await client.close();
}
console.log(JSON.stringify(told));
"""

_SDK = "@modelcontextprotocol/sdk/client"
_CLIENT = "@modelcontextprotocol/client"
CLIENTS: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "1.x": (f"{_SDK}/index.js", f"{_SDK}/streamableHttp.js", f"{_SDK}/stdio.js", {}),
    "2.x legacy": (_CLIENT, _CLIENT, f"{_CLIENT}/stdio", {}),
    "2.x auto": (_CLIENT, _CLIENT, f"{_CLIENT}/stdio", {"versionNegotiation": {"mode": "auto"}}),
}


@pytest.mark.parametrize("version", CLIENTS)
def test_the_javascript_client_calls_tools_and_reads_a_document(
    version: str, packages: Path, sample: Corpus, gateway: tuple[str, int], tmp_path: Path
) -> None:
    stand_before(sample.deployed)
    module, http, stdio, options = CLIENTS[version]
    script = packages / "client.mjs"
    script.write_text(JAVASCRIPT, "utf-8")
    server = _stdio(sample, tmp_path)
    calls = json.dumps([call[:2] for call in CALLS])
    started = json.dumps({"command": server.command, "args": server.args, "env": server.env, "stderr": "ignore"})
    url = f"http://{gateway[0]}:{gateway[1]}/mcp"
    done = subprocess.run(
        ["node", script, module, http, stdio, json.dumps(options), url, started, calls],
        cwd=packages,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    expected = [[status, status == ERROR, None if status == ERROR else status] for *_, status in CALLS]
    told = json.loads(done.stdout)
    assert len(told) == 2
    for entry in told:
        assert expected == entry["statuses"]
        assert (entry["tools"] >= 6, entry["text"]) == (True, "# ")
        assert "Resource not found" in entry["absent"]


# What docs/clients.md tells people to paste.

_BLOCKS = re.compile(r"^ *```(json|jsonc|toml)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)


def _snippets() -> list[tuple[str, str]]:
    return _BLOCKS.findall((CHECKOUT / "docs" / "clients.md").read_text("utf-8"))


def test_every_configuration_on_the_page_of_clients_is_valid_json() -> None:
    snippets = _snippets()
    assert len(snippets) >= 10
    for language, text in snippets:
        assert language == "json"
        assert isinstance(json.loads(text), dict)


def test_every_command_on_the_page_of_clients_starts_a_server(sample: Corpus, tmp_path: Path) -> None:
    servers = [
        server
        for _, text in _snippets()
        for server in next(iter(json.loads(text).values())).values()
        if isinstance(server, dict) and server.get("command", "").endswith("lamina")
    ]
    assert len(servers) >= 3
    for server in servers:
        arguments = {"/path/to/markdown": str(sample.deployed.baseline), "/path/to/data": str(tmp_path)}
        given = [arguments.get(entry, entry) for entry in server["args"]]
        done = subprocess.run(
            [sys.executable, "-m", "lamina.local.cli", *given],
            input='{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
            env=_environment(),
            capture_output=True,
            text=True,
        )
        assert json.loads(done.stdout) == {"jsonrpc": "2.0", "id": 1, "result": {}}, done.stderr
