"""In whatever order, on either backend: nothing stale, altered or unreviewed gets in, and nothing is lost."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from tests.fakes.knowledge import (
    AGENT,
    FILES,
    OPERATOR,
    AwsBackend,
    Backend,
    Desk,
    During,
    FolderBackend,
    Grave,
    Killed,
    aws_services,
    mortal,
)

from lamina.contract.ports import ProposalStatus
from lamina.knowledge.protocol import ErrorCode, Response
from lamina.knowledge.service import KnowledgeService

SETTINGS = settings(stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck))
POLICIES = (b"scheme: one\n", b"scheme: two\n")
PENDING, ACCEPTED, REJECTED = ProposalStatus.PENDING, ProposalStatus.ACCEPTED, ProposalStatus.REJECTED


@dataclass(slots=True)
class Known:
    """What the model knows of a proposal: what it was made against, and how it was decided."""

    operation: dict[str, Any]
    sources: dict[str, bytes]
    policy: bytes
    head: str
    review: str
    status: ProposalStatus = PENDING
    fresh_acceptances: int = 0
    accepted: dict[str, Any] = field(default_factory=dict)


class KnowledgeMachine(RuleBasedStateMachine):
    """People, agents and editors at one workspace."""

    def __init__(self, backend: Backend) -> None:
        super().__init__()
        self.backend = backend
        self.live = dict(FILES)
        self.policy = POLICIES[0]
        for path, content in self.live.items():
            backend.write(path, content)
        backend.write(".kb.yml", self.policy)
        self.desk = Desk(backend)
        self.desk.initialise()
        self.committed = dict(self.live)
        self.proposals: dict[int, Known] = {}
        self.by_key: dict[str, int] = {}
        self.audit: list[tuple[int, str, str]] = []

    # What happens to the files.

    @rule(path=st.sampled_from(sorted(FILES)), text=st.sampled_from(["database one", "database two"]))
    def edit(self, path: str, text: str) -> None:
        self.live[path] = f"# Edited\n\n{text}\n".encode()
        self.backend.write(path, self.live[path])

    @rule()
    def restore(self) -> None:
        for path, content in self.committed.items():
            if self.live.get(path) != content:
                self.backend.write(path, content)
        self.live = dict(self.committed)

    @rule(policy=st.sampled_from(POLICIES))
    def change_policy(self, policy: bytes) -> None:
        self.policy = policy
        self.backend.write(".kb.yml", policy)

    @rule()
    def commit(self) -> None:
        workspace = self.desk.service().workspace
        state = workspace.state()
        assert state is not None
        _, done = workspace.commit_again(state, workspace.files(), "tester")
        assert done
        self.committed = dict(self.live)

    # What agents do.

    @precondition(lambda self: self.live == self.committed)
    @rule(key=st.sampled_from("abcdef"), title=st.sampled_from(["One thing", "Another"]))
    def propose(self, key: str, title: str) -> None:
        operation = self.desk.proposal(key, title)
        if key in self.by_key:
            number = self.by_key[key]
            old = self.desk.answer(self.proposals[number].operation, AGENT).result
            assert old == {"pending_id": number, "status": str(self.proposals[number].status), "retried": True}
            if operation != self.proposals[number].operation:
                assert self.desk.answer(operation, AGENT).code is ErrorCode.IDEMPOTENCY_CONFLICT
            return
        result = self.desk.result(operation)
        assert (result["status"], result["retried"]) == ("pending", False)
        self._learn(key, operation, result["pending_id"])

    @precondition(lambda self: self.live == self.committed)
    @rule(key=st.sampled_from("abcdef"), before=st.booleans())
    def crash_while_proposing(self, key: str, before: bool) -> None:
        operation = self.desk.proposal(key, "Crashed")
        if key in self.by_key:
            return
        self._killed(operation, 1, before)
        result = self.desk.result(operation)
        assert result["retried"] is not before
        self._learn(key, operation, result["pending_id"])

    def _learn(self, key: str, operation: dict[str, Any], number: int) -> None:
        assert number not in self.proposals
        self.by_key[key] = number
        cited = {source["path"]: self.live[source["path"]] for source in operation["context"]["sources"]}
        head = operation["context"]["expected_head"]
        self.proposals[number] = Known(operation, cited, self.policy, head, self.desk.review(number))

    @rule()
    def query(self) -> None:
        response = self.desk.answer({"op": "query", "query": "database", "limit": 16}, AGENT)
        if self.live == self.committed:
            assert response.result is not None
            for passage in response.result["passages"]:
                start, end = passage["bytes"]
                assert self.live[passage["path"]][start:end].decode() == passage["text"]
        else:
            assert response.code is ErrorCode.SOURCE_DRIFT

    # What operators do.

    @precondition(lambda self: self.proposals)
    @rule(data=st.data(), op=st.sampled_from(["accept", "reject"]))
    def decide(self, data: st.DataObject, op: str) -> None:
        number = data.draw(st.sampled_from(sorted(self.proposals)))
        self._told(op, number, self._fresh(number), self._decide(op, number))

    @precondition(lambda self: self.proposals)
    @rule(data=st.data(), op=st.sampled_from(["accept", "reject"]))
    def decide_by_another_review(self, data: st.DataObject, op: str) -> None:
        number = data.draw(st.sampled_from(sorted(self.proposals)))
        response = self.desk.answer({"op": op, "pending_id": number, "review_sha256": "f" * 64})
        assert response.code is not None

    @precondition(lambda self: self.proposals)
    @rule(data=st.data(), op=st.sampled_from(["accept", "reject"]), write=st.integers(1, 6), before=st.booleans())
    def crash_while_deciding(self, data: st.DataObject, op: str, write: int, before: bool) -> None:
        number = data.draw(st.sampled_from(sorted(self.proposals)))
        fresh, pending = self._fresh(number), self.proposals[number].status is PENDING
        self._killed(self._decision(op, number), write, before)
        row = self.desk.running.workspace.ledger.proposal(number)
        assert row is not None
        if row.status is not self.proposals[number].status:
            assert pending
            assert row.status is (ACCEPTED if op == "accept" else REJECTED)
            assert op == "reject" or fresh
            # The commit was written, so the exact retry completes it and tells that it was.
            response = self._decide(op, number)
            assert response.result is not None
            assert response.result["retried"]
            self._decided(op, number, response.result)

    @precondition(lambda self: len(self.proposals) > 1)
    @rule(data=st.data(), write=st.integers(1, 4), op=st.sampled_from(["accept", "reject"]))
    def two_operators_at_once(self, data: st.DataObject, write: int, op: str) -> None:
        first = data.draw(st.sampled_from(sorted(self.proposals)))
        second = data.draw(st.sampled_from(sorted(self.proposals)))
        fresh = {number: self._fresh(number) for number in (first, second)}
        inner: list[Response] = []
        during = During(write, lambda: inner.append(self._decide(op, second)))
        service = KnowledgeService(mortal(self.backend.open(), during))
        outer = service.answer(self.desk.request(self._decision("accept", first)), OPERATOR)
        if not inner:
            self._told("accept", first, fresh[first], outer)
            return
        self._told(op, second, fresh[second], inner[0])
        if outer.result is None:
            assert outer.code in (ErrorCode.STALE_HEAD, ErrorCode.INVALID_PENDING_ID)
        elif outer.result["retried"]:
            assert self.proposals[first].accepted == {**outer.result, "retried": False}
        else:
            assert fresh[first]
            self._decided("accept", first, outer.result)

    def _decision(self, op: str, number: int) -> dict[str, Any]:
        return {"op": op, "pending_id": number, "review_sha256": self.proposals[number].review}

    def _decide(self, op: str, number: int) -> Response:
        return self.desk.answer(self._decision(op, number), service=self.desk.service())

    def _killed(self, operation: dict[str, Any], write: int, before: bool) -> None:
        doomed = KnowledgeService(mortal(self.backend.open(), Grave(write, before)))
        try:
            doomed.answer(self.desk.request(operation), OPERATOR)
        except Killed:
            return

    def _fresh(self, number: int) -> bool:
        """Whether everything that a proposal rests on is as it was."""
        known = self.proposals[number]
        commit = self.desk.running.workspace.ledger.latest_commit()
        assert commit is not None
        return (
            commit.head == known.head
            and self.live == self.committed
            and all(self.live.get(path) == content for path, content in known.sources.items())
            and self.policy == known.policy
        )

    def _told(self, op: str, number: int, fresh: bool, response: Response) -> None:
        """What an undisturbed decision must have answered."""
        known = self.proposals[number]
        wanted = ACCEPTED if op == "accept" else REJECTED
        if known.status is wanted:
            assert response.result is not None
            assert response.result["retried"]
        elif known.status is not PENDING:
            assert response.code is ErrorCode.INVALID_INPUT
        elif op == "accept" and not fresh:
            assert str(response.code).startswith("stale_")
        else:
            assert response.result is not None, response.code
            assert not response.result["retried"]
            self._decided(op, number, response.result)

    def _decided(self, op: str, number: int, result: dict[str, Any]) -> None:
        known = self.proposals[number]
        known.status = ACCEPTED if op == "accept" else REJECTED
        if op == "accept":
            known.fresh_acceptances += 1
            known.accepted = {**result, "retried": False}
            note = self.backend.read(result["path"])
            assert note is not None
            assert known.operation["capture"]["body"].encode() in note
            self.live[result["path"]] = self.committed[result["path"]] = note

    # What holds always.

    @invariant()
    def at_most_one_acceptance(self) -> None:
        assert all(known.fresh_acceptances <= 1 for known in self.proposals.values())

    @invariant()
    def nothing_is_lost_or_altered(self) -> None:
        for number, known in self.proposals.items():
            row = self.desk.running.workspace.ledger.proposal(number)
            assert row is not None
            assert json.loads(row.payload)["capture"] == known.operation["capture"]
            assert row.status is known.status

    @invariant()
    def the_audit_trail_only_grows(self) -> None:
        now = [(item.pending_id, item.transition, item.at) for item in self.desk.running.workspace.ledger.audit()]
        assert set(self.audit) <= set(now)
        assert len({entry[:2] for entry in now}) == len(now)
        for number, known in self.proposals.items():
            if known.status is not PENDING:
                assert (number, "accept" if known.status is ACCEPTED else "reject") in {item[:2] for item in now}
        self.audit = now

    @invariant()
    def the_files_are_those_of_the_model(self) -> None:
        contents = dict(self.desk.running.workspace.files().contents)
        assert contents == self.live


def test_a_workspace_in_a_folder_survives_everything(tmp_path: Path) -> None:
    numbers = itertools.count()
    run_state_machine_as_test(
        # Any factory will do, though only classes are declared.
        lambda: KnowledgeMachine(FolderBackend(tmp_path / str(next(numbers)))),  # type: ignore[arg-type]
        settings=settings(SETTINGS, max_examples=40),
    )


def test_a_workspace_on_aws_survives_everything() -> None:
    numbers = itertools.count()
    with aws_services() as (s3, dynamodb):
        run_state_machine_as_test(
            # Any factory will do, though only classes are declared.
            lambda: KnowledgeMachine(AwsBackend(s3, dynamodb, f"kb-{next(numbers)}")),  # type: ignore[arg-type]
            settings=settings(SETTINGS, max_examples=8),
        )
