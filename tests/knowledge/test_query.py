"""A citation points at exactly the bytes that it shows, and a budget is never passed, whatever it is."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.fakes.knowledge import AGENT, FILES, Desk, FolderBackend

from lamina.contract.ids import sha256_hex
from lamina.contract.tokens import TOKENIZER_NAMES, count_tokens
from lamina.knowledge.citation import cut
from lamina.knowledge.protocol import ErrorCode
from lamina.knowledge.service import KnowledgeService
from lamina.runtime.knowledge_wiring import open_service
from lamina.runtime.settings import Settings

PARAGRAPH = "The reservoir is measured every hour, and the gauge reports its level.\n"
LONG = "".join(f"## Part {n}\n\n{PARAGRAPH * 4}\n" for n in range(30))
RAW: dict[str, bytes] = {
    "plain": b"# Pump\n\nThe reservoir is deep.\n",
    "without final line feed": b"# Pump\n\nThe reservoir is deep.",
    "CRLF": b"# Pump\r\n\r\nThe reservoir is deep.\r\nAnd wide.\r\n",
    "BOM": b"\xef\xbb\xbf# Pump\n\nThe reservoir is deep.\n",
    "BOM and frontmatter": b"\xef\xbb\xbf---\ntitle: Pump\n---\n\nThe reservoir is deep.\n",
    "multi-byte": "# Größe\n\nDie Tiefe ist — reservoir — 10 µm 🌊.\n".encode(),
    "long": LONG.encode(),
    "long CRLF": LONG.replace("\n", "\r\n").encode(),
    "long multi-byte": LONG.replace("measured", "gemäßigt 🌊").encode(),
    "long, without final line feed": LONG.encode().rstrip(b"\n"),
    "long BOM": b"\xef\xbb\xbf" + LONG.encode(),
    "one long line": ("wörter 🌊 " * 3000 + "reservoir " + "mehr 🌊 " * 3000).encode(),
    "lone carriage returns": b"# Pump\rThe reservoir\ris deep.\n",
    "line separators": "# Pump\n\nThe\u2028reservoir\x0bis\x85deep.\n".encode(),
    "the word at the very end": (PARAGRAPH.replace("reservoir", "lake") * 200 + "reservoir").encode(),
}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A workspace in a folder."""
    desk = Desk(FolderBackend(tmp_path / "workspace"))
    for path, content in FILES.items():
        desk.backend.write(path, content)
    return desk


@pytest.mark.parametrize("name", RAW)
def test_ranges_point_at_exactly_the_bytes_shown(desk: Desk, name: str) -> None:
    content = RAW[name]
    desk.backend.write("docs/pump.md", content)
    desk.initialise()
    passage = next(entry for entry in desk.query("reservoir")["passages"] if entry["path"] == "docs/pump.md")
    start, end = passage["bytes"]
    assert content[start:end].decode() == passage["text"]
    assert "reservoir" in passage["text"]
    assert passage["sha256"] == sha256_hex(content)
    lines = [content.count(b"\n", 0, start) + 1, content.count(b"\n", 0, max(start, end - 1)) + 1]
    assert passage["lines"] == lines


text = st.text(st.sampled_from("ab é🌊\n\r#x"), max_size=400)


@given(text, st.integers(8, 120), st.sampled_from(["a", "b", "é", "x", "zz"]))
def test_a_cut_is_whole_characters_within_its_bound(body: str, most: int, needle: str) -> None:
    content = body.encode()
    shown = cut(content, body, ((needle, 1.0),), most)
    part = content[shown.start : shown.end]
    assert part.decode() in body
    assert len(part) <= most
    assert bool(part) == bool(content)
    assert shown.first_line == content.count(b"\n", 0, shown.start) + 1
    assert shown.last_line == content.count(b"\n", 0, max(shown.start, shown.end - 1)) + 1


def test_an_uninitialised_workspace_is_read_in_part(desk: Desk) -> None:
    found = desk.query()
    assert (found["partial"], found["head"]) == (True, None)
    assert desk.answer({"op": "query", "query": "database", "limit": 1}, knowledge_workspace="x").code is (
        ErrorCode.WRONG_WORKSPACE
    )
    desk.initialise()
    found = desk.query()
    assert (found["partial"], len(found["head"])) == (False, 64)
    null = desk.answer({"op": "query", "query": "database", "limit": 1}, knowledge_workspace=None)
    assert null.code is ErrorCode.WRONG_WORKSPACE


def test_facts_and_type_select_before_anything_is_ranked(desk: Desk) -> None:
    desk.backend.write("README.md", b"# The database\n")
    desk.initialise()
    every = {(entry["fact"]["type"], entry["fact"]["id"]) for entry in desk.query()["passages"]}
    assert every == {("canon", "storage"), ("docs", "backup"), ("note", "decision"), ("docs", "README")}
    found = desk.query(facts=[{"type": "note", "id": "decision"}, {"type": "docs", "id": "decision"}])
    assert [entry["path"] for entry in found["passages"]] == ["notes/decision.md"]
    assert found["additional_candidates"] == 0
    by_type = desk.result({"op": "query", "query": "database", "type": "canon", "limit": 16})
    assert [entry["path"] for entry in by_type["passages"]] == ["canon/storage.md"]
    assert desk.query(facts=[{"type": "note", "id": "nothing"}])["passages"] == []


def test_files_that_are_not_sealed_are_not_cited(desk: Desk) -> None:
    desk.initialise()
    desk.backend.write("notes/added.md", b"A database by hand.\n")
    assert "notes/added.md" not in [entry["path"] for entry in desk.query()["passages"]]


@pytest.mark.parametrize("change", ["edited", "gone"])
def test_a_governed_file_that_changed_is_drift(desk: Desk, change: str) -> None:
    desk.initialise()
    if change == "gone":
        desk.backend.remove("docs/backup.md")
    else:
        desk.backend.write("docs/backup.md", b"Edited.\n")
    assert desk.answer({"op": "query", "query": "disks", "limit": 1}).code is ErrorCode.SOURCE_DRIFT


def test_drift_during_retrieval_is_noticed(desk: Desk) -> None:
    desk.initialise()
    ticks = itertools.count()

    def clock() -> float:
        if next(ticks) == 1:
            desk.backend.write("docs/backup.md", b"Edited while the query ran.\n")
        return 0.0

    query = desk.request({"op": "query", "query": "database", "limit": 16})
    service = desk.service(clock=clock)
    assert service.answer(query, AGENT).code is ErrorCode.SOURCE_DRIFT


def test_time_is_asked_between_passages_and_what_is_left_is_counted(desk: Desk) -> None:
    desk.initialise()
    clock = itertools.chain([0.0, 0.1, 0.2], itertools.repeat(0.3))
    service = desk.service(clock=lambda: next(clock))
    response = desk.answer({"op": "query", "query": "database", "limit": 16}, AGENT, service, max_latency_ms=300)
    assert response.result is not None
    assert len(response.result["passages"]) == 2
    assert response.result["omitted"] == {"bytes": 0, "tokens": 0, "time": 1, "limit": 0}
    assert response.result["additional_candidates"] == 1


def test_a_committed_write_is_told_however_late_it_is(desk: Desk) -> None:
    desk.initialise()
    decision = desk.decision("accept", desk.propose())
    clock = itertools.count(0.0, 1000.0)
    response = desk.answer(decision, service=desk.service(clock=lambda: next(clock)), max_latency_ms=1)
    assert response.ok


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A workspace of documents that all match, short and long, plain and hard to encode."""
    desk = Desk(FolderBackend(tmp_path_factory.mktemp("wide")))
    for number in range(24):
        body = (PARAGRAPH * number + '"quoted" \\ back\tslash é🌊 reservoir\n' * (number % 5)) or "reservoir"
        desk.backend.write(f"docs/wide-{number}.md", f"# Reservoir {number}\n\n{body}".encode())
    desk.initialise()
    return desk


@given(
    st.integers(1024, 40_000),
    st.none() | st.integers(1, 4000),
    st.sampled_from(TOKENIZER_NAMES),
    st.integers(1, 40),
    st.none() | st.integers(0, 30),
)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_budget_is_ever_passed_and_the_counts_add_up(
    wide: Desk, most_bytes: int, most_tokens: int | None, tokenizer: str, limit: int, late_after: int | None
) -> None:
    budget: dict[str, Any] = {"max_output_bytes": most_bytes, "max_tokens": most_tokens}
    budget["tokenizer"] = None if most_tokens is None else tokenizer
    wide.running.clock = _late_after(late_after)
    response = wide.answer({"op": "query", "query": "reservoir", "limit": limit}, **budget)
    assert len(response.text().encode()) <= most_bytes
    found = response.result
    assert found is not None
    if most_tokens is not None:
        assert sum(count_tokens(entry["text"]) for entry in found["passages"]) <= most_tokens
    else:
        assert found["omitted"]["tokens"] == 0
    if late_after is not None:
        assert len(found["passages"]) <= late_after
    assert len(found["passages"]) <= limit
    assert found["omitted"]["limit"] == max(0, 24 - limit)
    assert sum(found["omitted"].values()) == found["additional_candidates"] == 24 - len(found["passages"])


def _late_after(passages: int | None) -> Any:
    ticks = itertools.count(-1)
    return lambda: 0.0 if passages is None or next(ticks) < passages else 1e9


def test_a_describe_or_review_that_does_not_fit_says_so(desk: Desk) -> None:
    desk.initialise()
    assert desk.answer({"op": "describe"}, max_output_bytes=1024).code is ErrorCode.BUDGET_EXCEEDED
    assert desk.answer({"op": "describe"}).ok


def test_a_describe_needs_neither_scope_nor_budget_but_keeps_to_them(desk: Desk) -> None:
    request = {"schema": "synapse.knowledge-request/1", "operation": {"op": "describe"}}
    told = desk.running.answer(request, AGENT).result
    assert told is not None
    assert told["operations"] == ["describe", "query", "propose", "review", "accept", "reject"]
    assert told["workspace"]["root"] == desk.root
    assert set(TOKENIZER_NAMES) == set(told["capabilities"]["tokenizers"])
    assert desk.answer({"op": "describe"}, root="/elsewhere").code is ErrorCode.WRONG_ROOT


def test_the_index_is_built_once_for_a_manifest(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.initialise()
    desk.query()

    def fail(*given: Any) -> None:
        raise AssertionError("built again")

    monkeypatch.setattr("lamina.knowledge.service.index_of", fail)
    desk.query("disks")


def test_a_workspace_is_known_by_the_link_that_leads_to_it(desk: Desk, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(desk.root)
    linked = KnowledgeService(FolderBackend(link).open())
    assert linked.answer(desk.request({"op": "describe"}, root=str(link)), AGENT).ok
    assert linked.answer(desk.request({"op": "describe"}, root=desk.root), AGENT).ok


def test_the_next_process_finds_the_index_kept_and_trusts_no_other(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.initialise()
    query = desk.request({"op": "query", "query": "database", "limit": 16})
    first = open_service(desk.root, Settings.of({})).answer(query, AGENT)
    assert first.ok
    with monkeypatch.context() as patched:
        patched.setattr("lamina.knowledge.service.index_of", None)
        assert open_service(desk.root, Settings.of({})).answer(query, AGENT) == first
    kept = Path(desk.root) / ".lamina/knowledge/objects/index/snapshot"
    kept.write_bytes(kept.read_bytes()[:-1] + b"\0")
    assert open_service(desk.root, Settings.of({})).answer(query, AGENT) == first
    desk.result(desk.decision("accept", desk.propose()))
    again = desk.request({"op": "query", "query": "third", "limit": 16})
    found = open_service(desk.root, Settings.of({})).answer(again, AGENT).result
    assert found is not None
    assert len(found["passages"]) == 1
