"""An action that is no part of the product, registered as its recipe says: every transport and table knows it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, cast

import jsonschema
import numpy as np
import pytest
from pydantic import Field
from tests.conftest import Deploy
from tests.corpora import Deployed, page
from tests.transports import stand_before

from lamina.actions.action import Action, QueryContext
from lamina.actions.page import Page, Row, cached_by_all, page_answer
from lamina.actions.parameters import ListRequest
from lamina.actions.registry import ACTIONS
from lamina.contract.coercion import Text
from lamina.contract.envelope import Answer
from lamina.contract.schema import TEXT, AnswerField
from lamina.http.openapi import document
from lamina.local.cli import main
from lamina.local.reference import main as write_tables
from lamina.mcp.endpoint import mcp
from lamina.mcp.tools import tools
from lamina.runtime.adapter import adapt
from lamina.runtime.wiring import wire

DATES = {"docs/old.md": "2024-03-01", "docs/new.md": "2026-02-03", "docs/middle.md": "2025-07-09"}
NEWEST_FIRST = ["kb://docs/new", "kb://docs/middle", "kb://docs/old"]


class RecentRequest(ListRequest):
    """The parameters of recent."""

    action: ClassVar[str] = "recent"

    since: Text = Field("", description="Only documents of this date, YYYY-MM-DD, or newer.")


def recent(request: RecentRequest, context: QueryContext) -> Answer:
    """The dated documents of the scope, newest first."""
    snapshot = context.snapshot
    searched = np.flatnonzero(context.scopes[request.scope].searched).tolist()
    dated = [number for number in searched if (snapshot.dates[number] or "") > request.since]
    newest = sorted(dated, key=lambda number: snapshot.dates[number] or "", reverse=True)
    shown = newest[request.offset : request.offset + request.limit]
    rows = [Row(number, {"date": snapshot.dates[number]}) for number in shown]
    listing = Page(context, request, rows, len(newest), {}, lambda rows, entries: {}, lambda entries: {})
    return Answer(listing.envelope(), snapshot.revision)


RECENT = Action(
    RecentRequest.action,
    "The newest documents.",
    RecentRequest,
    recent,
    page_answer(RecentRequest, (AnswerField("date", TEXT, "the day from the frontmatter"),)),
    cached=cached_by_all,
)


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(cast(dict[str, Action], ACTIONS), RECENT.name, RECENT)
    tools.cache_clear()
    yield
    tools.cache_clear()


@pytest.fixture
def deployed(deploy: Deploy) -> Deployed:
    ready = deploy({path: page(path, date=date) for path, date in DATES.items()})
    stand_before(ready)
    return ready


def _checked(envelope: dict[str, Any]) -> list[str]:
    """The URIs of an answer that is as its own schema says."""
    jsonschema.validate(envelope, RECENT.answer)
    return [entry["uri"] for entry in envelope["data"]]


def test_direct_invocation_calls_it(deployed: Deployed) -> None:
    assert _checked(adapt(RECENT)({"limit": 2}, None)) == NEWEST_FIRST[:2]
    assert _checked(adapt(RECENT)({"since": "2025-12-31"}, None)) == NEWEST_FIRST[:1]
    assert adapt(RECENT)({"disclosure": "body"}, None)["error_code"] == "DISCLOSURE_FLAG_NOT_PERMITTED"


def test_http_calls_it_by_get_and_post_and_may_keep_its_pages(deployed: Deployed) -> None:
    get = {"httpMethod": "GET", "path": "/v1/recent", "queryStringParameters": {"limit": "2"}}
    post = {"httpMethod": "POST", "path": "/v1/recent", "body": '{"limit": 2}'}
    for event in (get, post):
        response = adapt(RECENT)(event, None)
        assert response["statusCode"] == 200
        assert _checked(json.loads(response["body"])) == NEWEST_FIRST[:2]
    assert adapt(RECENT)(get, None)["headers"]["Cache-Control"].startswith("public")


def _over_mcp(method: str, **params: Any) -> dict[str, Any]:
    frame = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    response = mcp()({"httpMethod": "POST", "path": "/mcp", "body": json.dumps(frame)}, None)
    result: dict[str, Any] = json.loads(response["body"])["result"]
    return result


def test_mcp_lists_it_under_the_prefix_and_calls_it(deployed: Deployed) -> None:
    listed = {tool["name"]: tool for tool in _over_mcp("tools/list")["tools"]}
    assert listed["oddkit_recent"]["description"].startswith("The newest documents.")
    assert listed["oddkit_recent"]["inputSchema"]["properties"]["since"]["description"].startswith("Only documents of")
    assert "recent" in listed["oddkit"]["inputSchema"]["properties"]["action"]["enum"]
    for tool, arguments in (("oddkit_recent", {"limit": 2}), ("oddkit", {"action": "recent", "limit": 2})):
        called = _over_mcp("tools/call", name=tool, arguments=arguments)
        jsonschema.validate(called["structuredContent"], listed[tool]["outputSchema"])
        assert _checked(called["structuredContent"]["result"]) == NEWEST_FIRST[:2]


def test_the_command_line_calls_it(deployed: Deployed, capsys: pytest.CaptureFixture[str]) -> None:
    data = ["--data", str(deployed.data)]
    assert main(["index", str(deployed.baseline), *data]) == 0
    capsys.readouterr()
    assert main(["recent", "--limit", "2", "--format", "json", *data]) == 0
    assert _checked(json.loads(capsys.readouterr().out)) == NEWEST_FIRST[:2]
    assert main(["recent", "--since", "2025-12-31", "--format", "text", *data]) == 0
    assert NEWEST_FIRST[0] in capsys.readouterr().out


def test_openapi_describes_it(deployed: Deployed) -> None:
    described = document(wire().settings)
    path = described["paths"]["/v1/recent"]
    assert set(path) == {"get", "post"}
    assert {"name": "since", "in": "query"}.items() <= path["get"]["parameters"][-1].items()
    told = path["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    assert told == {"$ref": "#/components/schemas/RecentAnswer"}
    assert set(described["components"]["schemas"]["RecentAnswer"]["properties"]) == set(RECENT.answer["properties"])


def test_the_documentation_gets_a_page_with_its_tables(tmp_path: Path) -> None:
    (tmp_path / "actions").mkdir()
    readme = tmp_path / "README.md"
    readme.write_text("<!-- generated: actions -->\n<!-- end -->\n", "utf-8")
    assert write_tables([str(tmp_path)]) == 0
    assert "[`recent`](docs/actions/recent.md) | nothing | The newest documents." in readme.read_text("utf-8")
    made = tmp_path / "actions" / "recent.md"
    text = made.read_text("utf-8")
    assert text.startswith("# recent\n\nThe newest documents.\n\n`GET /v1/recent`, `POST /v1/recent`, `lamina recent`.")
    assert "```console\n$ .venv/bin/lamina recent\n```" in text
    assert "| `since` | text | none | Only documents of this date, YYYY-MM-DD, or newer. |" in text
    assert "| `data[].date` | text | always | the day from the frontmatter |" in text
    assert "| `summary` | the `## Summary` section | 25 |" in text
    made.write_text(text.replace("The newest documents.", "By hand."), "utf-8")
    assert write_tables([str(tmp_path)]) == 0
    assert "By hand." in made.read_text("utf-8")
