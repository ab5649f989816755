"""The queue, the seal and the audit trail hold on both backends, whoever races and wherever a process dies."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.knowledge import (
    AGENT,
    FILES,
    OPERATOR,
    AwsBackend,
    Desk,
    During,
    FolderBackend,
    Grave,
    Killed,
    aws_services,
    mortal,
)

from lamina.contract.ports import AuditEntry, CommitOutcome, ProposalDraft, TooManyWaiting, WorkspaceCommit
from lamina.knowledge.protocol import ErrorCode, Response
from lamina.knowledge.service import KnowledgeService

SHARED = Path(__file__).parents[2] / "shared"


@pytest.fixture(scope="module")
def services() -> Iterator[tuple[Any, Any]]:
    """S3 and DynamoDB, shared: making them is most of a test's time."""
    with aws_services() as made:
        yield made


@pytest.fixture(params=["folder", "aws"])
def desk(request: pytest.FixtureRequest, tmp_path: Path, services: tuple[Any, Any]) -> Desk:
    """An initialised workspace on each backend."""
    if request.param == "folder":
        return _filled(Desk(FolderBackend(tmp_path / "workspace")))
    return _filled(Desk(AwsBackend(*services, prefix=tmp_path.name)))


def _filled(desk: Desk) -> Desk:
    for path, content in FILES.items():
        desk.backend.write(path, content)
    desk.initialise()
    return desk


def _codes(responses: list[Response]) -> list[str]:
    return sorted("ok" if response.code is None else str(response.code) for response in responses)


def test_an_accepted_note_is_a_document_that_the_next_query_cites(desk: Desk) -> None:
    number = desk.propose()
    accepted = desk.result(desk.decision("accept", number))
    assert accepted["path"] == f"notes/two-disks-suffice-{accepted['review_sha256'][:8]}.md"
    found = desk.query("third disk")
    assert found["head"] == accepted["head"]
    passage = next(item for item in found["passages"] if item["path"] == accepted["path"])
    assert passage["fact"] == {"type": "note", "id": accepted["path"].removeprefix("notes/").removesuffix(".md")}
    note = desk.backend.read(accepted["path"])
    assert note is not None
    assert b"note_kind: decision" in note
    assert b"\nkind:" not in note


def test_initialising_twice_keeps_the_identity(desk: Desk) -> None:
    state, done = desk.service().workspace.initialise("another")
    assert (state.commit.workspace, done) == (desk.guid, False)


def test_a_hundred_parallel_proposals_under_one_key_are_one_row(desk: Desk) -> None:
    operation = desk.proposal("the one key")
    services = [desk.service() for _ in range(4)]
    with ThreadPoolExecutor(16) as pool:
        asked = [pool.submit(desk.answer, operation, AGENT, services[n % 4]) for n in range(100)]
        results = [item.result().result for item in asked]
    assert len({result and result["pending_id"] for result in results}) == 1
    assert sum(result is not None and not result["retried"] for result in results) == 1
    assert len(list(desk.running.workspace.ledger.waiting())) == 1


def test_parallel_proposals_under_different_keys_each_get_a_row(desk: Desk) -> None:
    operations = [desk.proposal(f"key-{n}") for n in range(24)]
    services = [desk.service() for _ in range(4)]
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda n: desk.answer(operations[n], AGENT, services[n % 4]).result, range(24)))
    assert len({result["pending_id"] for result in results if result}) == 24


def test_of_operators_who_accept_different_proposals_at_once_one_wins(desk: Desk) -> None:
    decisions = [desk.decision("accept", desk.propose(f"key-{n}", title=f"Note {n}")) for n in range(6)]
    services = [desk.service() for _ in decisions]
    with ThreadPoolExecutor(6) as pool:
        responses = list(pool.map(lambda n: desk.answer(decisions[n], OPERATOR, services[n]), range(6)))
    assert _codes(responses) == ["ok", *["stale_head"] * 5]
    desk.query()


def test_of_operators_who_accept_the_same_proposal_at_once_one_publishes(desk: Desk) -> None:
    decision = desk.decision("accept", desk.propose())
    services = [desk.service() for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        responses = list(pool.map(lambda item: desk.answer(decision, OPERATOR, item), services))
    fresh = [item for item in responses if item.result is not None and not item.result["retried"]]
    refused = {str(item.code) for item in responses if item.code is not None}
    assert len(fresh) == 1
    assert refused <= {"invalid_pending_id", "stale_head"}
    assert desk.audited() == [(fresh[0].result and fresh[0].result["pending_id"], "accept")]


def _accepting(desk: Desk) -> dict[str, Any]:
    return desk.decision("accept", desk.propose("to accept"))


def _rejecting(desk: Desk) -> dict[str, Any]:
    return desk.decision("reject", desk.propose("to reject"))


TRANSITIONS: dict[str, tuple[Callable[[Desk], dict[str, Any]], int]] = {
    # What is asked, and how many writes it takes.
    "propose": (lambda desk: desk.proposal(), 1),
    "accept": (_accepting, 6),
    "reject": (_rejecting, 2),
}


@pytest.mark.parametrize(
    ("transition", "write", "before"),
    [
        (name, write, before)
        for name, (_, writes) in TRANSITIONS.items()
        for write in range(1, writes + 1)
        for before in (True, False)
    ],
)
def test_a_process_killed_at_a_write_leaves_what_the_same_request_completes_once(
    desk: Desk, transition: str, write: int, before: bool
) -> None:
    operation = TRANSITIONS[transition][0](desk)
    request = desk.request(operation)
    doomed = KnowledgeService(mortal(desk.backend.open(), Grave(write, before)))
    with pytest.raises(Killed):
        doomed.answer(request, OPERATOR)
    between = desk.service()
    assert between.answer(desk.request({"op": "query", "query": "database", "limit": 16}), AGENT).ok
    again = desk.service().answer(request, OPERATOR)
    assert again.result is not None, again.code
    third = desk.service().answer(request, OPERATOR)
    assert third.result == {**again.result, "retried": True}
    if transition == "propose":
        assert len(list(desk.running.workspace.ledger.waiting())) == 1
        return
    number = operation["pending_id"]
    assert desk.audited() == [(number, transition)]
    if transition == "accept":
        path = again.result["path"]
        assert desk.backend.read(path) is not None
        assert [p["path"] for p in desk.query("third disk")["passages"]].count(path) == 1


@pytest.mark.parametrize("write", [1, 2, 3, 4])
@pytest.mark.parametrize(
    ("other", "op", "told"),
    [
        ("another", "accept", ErrorCode.STALE_HEAD),
        ("the same", "accept", ErrorCode.INVALID_PENDING_ID),
        ("the same", "reject", ErrorCode.INVALID_PENDING_ID),
    ],
)
def test_a_decision_in_the_midst_of_an_acceptance_wins(
    desk: Desk, other: str, op: str, told: ErrorCode, write: int
) -> None:
    number = desk.propose("one", title="One")
    decided = number if other == "the same" else desk.propose("two", title="Two")
    inner = desk.request(desk.decision(op, decided))
    answers: list[Response] = []
    during = During(write, lambda: answers.append(desk.service().answer(inner, OPERATOR)))
    outer = KnowledgeService(mortal(desk.backend.open(), during))
    refused = outer.answer(desk.request(desk.decision("accept", number)), OPERATOR)
    assert answers[0].ok
    assert refused.code is told
    item = desk.running.workspace.ledger.proposal(number)
    assert item is not None
    assert str(item.status) == ("pending" if other == "another" else f"{op}ed")
    assert desk.query()["head"] == (answers[0].result or {}).get("head", desk.query()["head"])


def test_the_number_of_writes_that_the_crash_tests_count_is_the_true_one(desk: Desk) -> None:
    for make, writes in TRANSITIONS.values():
        request = desk.request(make(desk))
        grave = Grave(at=0, before=True)
        KnowledgeService(mortal(desk.backend.open(), grave)).answer(request, OPERATOR)
        assert grave.writes == writes


def test_a_note_that_lost_to_another_acceptance_is_never_among_the_files(desk: Desk) -> None:
    first, second = desk.propose("a", title="First"), desk.propose("b", title="Second")
    doomed = KnowledgeService(mortal(desk.backend.open(), Grave(at=3, before=False)))
    with pytest.raises(Killed):
        doomed.answer(desk.request(desk.decision("accept", first)), OPERATOR)
    assert desk.answer(desk.decision("accept", second)).ok
    assert desk.answer(desk.decision("accept", first)).code is ErrorCode.STALE_HEAD
    assert not any(path.startswith("notes/first") for path in desk.service().workspace.files().digests)


def test_a_crashed_acceptance_may_still_be_rejected(desk: Desk) -> None:
    number = desk.propose()
    doomed = KnowledgeService(mortal(desk.backend.open(), Grave(at=3, before=False)))
    with pytest.raises(Killed):
        doomed.answer(desk.request(desk.decision("accept", number)), OPERATOR)
    assert desk.answer(desk.decision("reject", number)).ok
    assert desk.audited() == [(number, "accept"), (number, "reject")]


def test_a_changed_row_cannot_be_decided_by_an_earlier_review(desk: Desk) -> None:
    number = desk.propose()
    decision = desk.decision("accept", number)
    row = desk.running.workspace.ledger.proposal(number)
    assert row is not None
    payload = json.loads(row.payload)
    payload["capture"]["body"] = "Something nobody reviewed."
    desk.backend.tamper(number, json.dumps(payload))
    assert desk.answer(decision).code is ErrorCode.REVIEW_CHANGED
    assert desk.answer({**decision, "op": "reject"}).code is ErrorCode.REVIEW_CHANGED


def test_the_queue_takes_no_more_than_it_may_hold_but_answers_what_it_holds(desk: Desk) -> None:
    small = desk.service(most_waiting=2)
    operations = [desk.proposal(f"key-{n}") for n in range(3)]
    assert [desk.answer(item, AGENT, small).code for item in operations] == [
        None,
        None,
        ErrorCode.PENDING_LIMIT_REACHED,
    ]
    repeated = desk.answer(operations[0], AGENT, small)
    assert repeated.result is not None
    assert repeated.result["retried"]
    assert desk.answer(desk.decision("reject", repeated.result["pending_id"]), OPERATOR, small).ok
    assert desk.answer(operations[2], AGENT, small).ok


def test_a_ledger_keeps_what_it_is_given(desk: Desk) -> None:
    ledger = desk.running.workspace.ledger
    commit = ledger.latest_commit()
    assert commit is not None
    assert not ledger.replace_head(WorkspaceCommit("g", 9, "h", "m"), over=None)
    assert not ledger.replace_head(WorkspaceCommit("g", 9, "h", "m"), over="another head")
    assert ledger.replace_head(WorkspaceCommit("g", 9, "h", "m", publishing="notes/x.md"), over=commit.head)
    assert ledger.latest_commit() == WorkspaceCommit("g", 9, "h", "m", publishing="notes/x.md")
    ledger.published("another head")
    assert ledger.latest_commit() == WorkspaceCommit("g", 9, "h", "m", publishing="notes/x.md")
    ledger.published("h")
    assert ledger.latest_commit() == WorkspaceCommit("g", 9, "h", "m")

    draft = ProposalDraft("owner", "key", "{}", "2026-01-01T00:00:00+00:00")
    row, created = ledger.add(draft, most_waiting=1)
    assert created
    assert ledger.add(draft, most_waiting=1) == (row, False)
    with pytest.raises(TooManyWaiting):
        ledger.add(ProposalDraft("another", "key", "{}", "t"), most_waiting=1)
    assert ledger.proposal(row.id) == row
    assert ledger.proposal(row.id + 1000) is None
    assert list(ledger.waiting()) == [row]
    assert ledger.commit(row, commit=WorkspaceCommit("g", 10, "i", "m"), over="stale") is CommitOutcome.HEAD_MOVED
    assert list(ledger.waiting()) == [row]

    entry = AuditEntry(row.id, "reject", "2026-01-01T00:00:00+00:00", "me", "{}")
    ledger.append(entry)
    ledger.append(AuditEntry(row.id, "reject", "later", "you", "[]"))
    assert [item for item in ledger.audit() if item.pending_id == row.id] == [entry]


_OPERATOR_PROCESS = """
import json, os, sys
from tests.fakes.knowledge import FolderBackend, Grave, Killed, mortal
from lamina.knowledge.service import KnowledgeService
from pathlib import Path
root, write, request = Path(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3])
from tests.fakes.knowledge import OPERATOR
try:
    print(KnowledgeService(mortal(FolderBackend(root).open(), Grave(write, False))).answer(request, OPERATOR).text())
except Killed:
    os._exit(137)
"""


def _process(root: Path, write: int, request: dict[str, Any]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", _OPERATOR_PROCESS, str(root), str(write), json.dumps(request)]
    path = f"{SHARED}:{SHARED.parent}"
    return subprocess.Popen(command, stdout=subprocess.PIPE, env={"PYTHONPATH": path, "PATH": ""})


def test_two_processes_accept_at_once_and_one_of_them_dies(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    desk = _filled(Desk(FolderBackend(root)))
    decision = desk.request(desk.decision("accept", desk.propose()))
    processes = [_process(root, write, decision) for write in (4, 0)]
    answers = [process.communicate(timeout=60)[0] for process in processes]
    assert {process.returncode for process in processes} <= {0, 137}
    final = desk.service().answer(decision, OPERATOR)
    assert final.result is not None
    assert final.result["retried"]
    told = [json.loads(item)["result"] for item in answers if item]
    assert sum(item is not None and not item["retried"] for item in told) <= 1
    assert desk.audited() == [(final.result["pending_id"], "accept")]
    assert [p["path"] for p in desk.query("third disk")["passages"]].count(final.result["path"]) == 1
