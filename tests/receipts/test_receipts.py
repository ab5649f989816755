"""Receipts by themselves: the canonical form, what is refused at minting, and what each verification proves."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from lamina.receipts.canonical import Refused, canonical, digest_of, parse
from lamina.receipts.retrieval import Retriever, RunIdentity, mint, sealed
from lamina.receipts.use import Consumer, ConsumerKind, Relation, UseReceipt, mint_use
from lamina.receipts.verify import Claim, Outcome, Unavailable, Verification, verify
from lamina.receipts.visibility import VisibilityReference

ARTICLE, REPORT = b"# Kettle\n", b"We boiled it.\n"
AT = "2026-03-04T05:06:07.089Z"


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def visible(*names: str) -> dict[str, Any]:
    """A visibility snapshot of documents by name; `kettle` is the article."""
    documents = [
        {
            "position": position,
            "id": f"kb://{name}",
            "origin": "baseline",
            "path": f"{name}.md",
            "digest": digest(ARTICLE if name == "kettle" else name.encode()),
            "invalidated": False,
        }
        for position, name in enumerate(names, start=1)
    ]
    return {"schema": "lamina.visibility-snapshot/1", "documents": documents}


SNAPSHOT = visible("camp", "kettle", "teapot")


def result(rank: int, name: str, **changes: Any) -> dict[str, Any]:
    """A result for one of the visible documents."""
    seen = next(entry for entry in SNAPSHOT["documents"] if entry["path"] == f"{name}.md")
    return {
        "rank": rank,
        **{field: seen[field] for field in ("id", "origin", "path", "digest")},
        "score": 3.25,
        "snippet": "It whistles.",
        "evidence": [],
        "attributes": {},
        **changes,
    }


def receipt(*results: dict[str, Any], snapshot: dict[str, Any] = SNAPSHOT, **changes: Any) -> dict[str, Any]:
    """A retrieval receipt minted over a snapshot."""
    by_id = {entry["id"]: entry["digest"] for entry in snapshot["documents"]}
    content = canonical(snapshot)
    arguments: dict[str, Any] = {
        "run": RunIdentity(run_id="r1", actor_id="a1"),
        "question": "kettle?",
        "retriever": Retriever(id="lamina-bm25", version="1.2", config_digest="c" * 64),
        "visible": VisibilityReference(digest=digest(content), count=len(by_id), location="receipts/visible/x.json"),
        "results": results or (result(1, "kettle"), result(2, "teapot")),
        "digest_of_visible": by_id.get,
        "created_at": AT,
        **changes,
    }
    return mint(**arguments)


def outcomes(verification: Verification) -> dict[Claim, Outcome]:
    return {check.claim: check.outcome for check in verification.checks}


def reason(verification: Verification, claim: Claim) -> str:
    return next(check.reason or "" for check in verification.checks if check.claim == claim)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"b": 1, "a": 2.0, "é": None, "\U0001f600": True, "\ufb33": False},
         b'{"a":2,"b":1,"\xc3\xa9":null,"\xf0\x9f\x98\x80":true,"\xef\xac\xb3":false}'),
        ([1e21, 1e-7, 0.000001, 333333333.33333329, -0.0, 1e300], b"[1e+21,1e-7,0.000001,333333333.3333333,0,1e+300]"),
        ("\u20ac$\u000f\nA'B\"\\\\\"/", '"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"'.encode()),
    ],
    ids=["names by UTF-16", "numbers", "text"],
)  # fmt: skip
def test_the_canonical_form_is_that_of_rfc_8785(value: Any, expected: bytes) -> None:
    assert canonical(value) == expected
    assert digest_of(value) == digest(expected)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800", 2**53, b"x"], ids=repr)
def test_what_json_cannot_carry_has_no_canonical_form(value: Any) -> None:
    with pytest.raises(Refused):
        canonical({"value": value})


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b'{"a":1,"a":1}', b'{"a":NaN}', b'"\xff"', b"[" * 100_000],
    ids=lambda entry: repr(entry[:12]),
)
def test_what_is_no_json_is_refused(content: bytes) -> None:
    with pytest.raises(Refused):
        parse(content)


def test_a_receipt_records_the_run_the_question_the_retriever_and_every_result() -> None:
    minted = receipt()
    rest = {name: value for name, value in minted.items() if name != "receipt_digest"}
    assert minted["receipt_digest"] == digest(canonical(rest))
    assert (minted["run_id"], minted["actor_id"], minted["question"]) == ("r1", "a1", "kettle?")
    assert "profile_id" not in minted
    assert minted["retriever"] == {"id": "lamina-bm25", "version": "1.2", "config_digest": "c" * 64}
    assert [entry["rank"] for entry in minted["results"]] == [1, 2]
    assert minted["created_at"] == AT


@pytest.mark.parametrize(
    "results",
    [
        [result(2, "kettle")],
        [result(1, "kettle"), result(3, "teapot")],
        [result(1, "kettle"), result(1, "teapot")],
        [result(1, "kettle"), result(2, "kettle")],
        [result(1, "kettle", digest="0" * 64)],
        [result(1, "kettle", id="kb://unseen")],
        [result(1, "kettle", score=float("inf"))],
        [result(1, "kettle", score=float("nan"))],
        [result(1, "kettle", score=2.0**53)],
        [result(1, "kettle", attributes={"a": 1e300})],
        [result(1, "kettle", attributes={"a": float("nan")})],
        [result(1, "kettle", attributes={"a": [1]})],
        [result(1, "kettle", attributes={"a": "x" * 513})],
        [result(1, "kettle", attributes={f"a{n}": n for n in range(33)})],
        [result(1, "kettle", attributes={"a": 2**53})],
        [result(1, "kettle", evidence=[{"a": 1}])],
        [result(1, "kettle", mood="good")],
    ],
    ids=lambda results: repr(results[-1])[:40],
)
def test_minting_refuses_results_that_are_not_in_order_not_finite_not_bounded_or_not_seen(
    results: list[dict[str, Any]],
) -> None:
    with pytest.raises(Refused):
        receipt(*results)


def test_a_whole_receipt_joined_with_its_snapshot_and_a_document_proves_all_claims() -> None:
    verification = verify(json.dumps(receipt()).encode(), snapshot=canonical(SNAPSHOT), artifact=ARTICLE)
    assert outcomes(verification) == {
        Claim.UNMUTATED: Outcome.PROVEN,
        Claim.SNAPSHOT: Outcome.PROVEN,
        Claim.ARTIFACT: Outcome.PROVEN,
    }
    assert verification.holds


def test_a_receipt_of_nothing_verifies() -> None:
    nothing = receipt(results=())
    assert verify(canonical(nothing), snapshot=canonical(SNAPSHOT)).holds


def test_what_nobody_gave_is_not_checked_and_what_cannot_be_had_is_an_error_of_its_own() -> None:
    alone = verify(canonical(receipt()))
    assert outcomes(alone)[Claim.SNAPSHOT] == Outcome.NOT_CHECKED
    assert alone.holds
    missing = verify(canonical(receipt()), snapshot=Unavailable("it was deleted"))
    assert outcomes(missing)[Claim.SNAPSHOT] == Outcome.UNAVAILABLE
    assert reason(missing, Claim.SNAPSHOT) == "it was deleted"
    assert not missing.holds


def test_spacing_and_order_of_names_are_no_change() -> None:
    minted = dict(reversed(receipt().items()))
    snapshot = json.dumps(SNAPSHOT, indent=2).encode()
    assert verify(json.dumps(minted, indent=1).encode(), snapshot=snapshot).holds


@pytest.mark.parametrize("names", ["camp kettle", "camp kettle teapot urn", "kettle camp teapot", ""])
def test_a_receipt_does_not_join_with_another_snapshot(names: str) -> None:
    verification = verify(canonical(receipt()), snapshot=canonical(visible(*names.split())))
    assert outcomes(verification)[Claim.SNAPSHOT] == Outcome.FAILED
    assert "another snapshot" in reason(verification, Claim.SNAPSHOT)
    assert not verification.holds


def _with(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    changed = copy.deepcopy(receipt())
    change(changed)
    return changed


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda entry: entry["results"].pop(), "receipt_digest"),
        (lambda entry: entry["results"].append(result(3, "camp")), "receipt_digest"),
        (lambda entry: entry["results"].reverse(), "rank"),
        (lambda entry: entry["results"][0].update(score=3.26), "receipt_digest"),
        (lambda entry: entry["results"][0].update(score="3.25"), "score"),
        (lambda entry: entry.update(question="Kettle?"), "receipt_digest"),
        (lambda entry: entry.update(execution_id="e"), "receipt_digest"),
        (lambda entry: entry.pop("actor_id"), "receipt_digest"),
        (lambda entry: entry.update(note="trust me"), "note"),
        (lambda entry: entry["visibility_snapshot"].update(count=2), "receipt_digest"),
        (lambda entry: entry["visibility_snapshot"].update(count=1), "more results"),
        (lambda entry: entry.update(receipt_digest="0" * 64), "receipt_digest"),
        (lambda entry: entry.update(schema="lamina.retrieval-receipt/2"), "schema"),
    ],
)
def test_a_changed_receipt_fails_with_the_reason(change: Callable[[dict[str, Any]], object], told: str) -> None:
    verification = verify(json.dumps(_with(change)).encode(), snapshot=canonical(SNAPSHOT), artifact=ARTICLE)
    assert outcomes(verification)[Claim.UNMUTATED] == Outcome.FAILED
    assert told in reason(verification, Claim.UNMUTATED)
    assert Outcome.PROVEN not in outcomes(verification).values()
    assert not verification.holds


def test_a_result_added_under_a_new_digest_does_not_join_with_the_snapshot() -> None:
    forged = receipt()
    del forged["receipt_digest"]
    forged["results"].append(result(3, "camp", id="kb://invented"))
    verification = verify(canonical(sealed(forged)), snapshot=canonical(SNAPSHOT))
    assert outcomes(verification) == {
        Claim.UNMUTATED: Outcome.PROVEN,
        Claim.SNAPSHOT: Outcome.FAILED,
        Claim.ARTIFACT: Outcome.NOT_CHECKED,
    }
    assert "kb://invented" in reason(verification, Claim.SNAPSHOT)


@pytest.mark.parametrize("field", ["digest", "origin", "path"])
def test_a_result_that_is_another_document_in_the_snapshot_does_not_join(field: str) -> None:
    forged = receipt()
    del forged["receipt_digest"]
    forged["results"][0][field] = {"digest": "0" * 64, "origin": "overlay", "path": "x.md"}[field]
    verification = verify(canonical(sealed(forged)), snapshot=canonical(SNAPSHOT))
    assert outcomes(verification)[Claim.SNAPSHOT] == Outcome.FAILED


def test_a_brief_beside_its_receipt_must_show_what_the_receipt_records() -> None:
    minted = receipt()
    shown = {
        "question": "kettle?",
        "retriever_id": "lamina-bm25",
        "retriever_config_digest": "c" * 64,
        "results": minted["results"],
        "citation_ids": ["kb://kettle", "kb://teapot"],
    }
    assert outcomes(verify(canonical(minted), shown=shown))[Claim.BRIEF] == Outcome.PROVEN
    fewer = {**shown, "citation_ids": ["kb://kettle"]}
    assert outcomes(verify(canonical(minted), shown=fewer))[Claim.BRIEF] == Outcome.FAILED


def test_a_snapshot_by_itself_is_only_consistent_and_tells_its_digest() -> None:
    verification = verify(canonical(SNAPSHOT))
    assert outcomes(verification) == {Claim.CONSISTENT: Outcome.PROVEN}
    assert verification.digest == digest(canonical(SNAPSHOT))
    gap = copy.deepcopy(SNAPSHOT)
    gap["documents"][1]["position"] = 3
    twice = copy.deepcopy(SNAPSHOT)
    twice["documents"][1]["id"] = twice["documents"][0]["id"]
    for broken in (gap, twice):
        assert outcomes(verify(canonical(broken))) == {Claim.CONSISTENT: Outcome.FAILED}


@pytest.mark.parametrize("content", [b"not json", b"[]", b"{}", b'{"schema": "other/1"}', b'{"schema": 4}'], ids=repr)
def test_what_is_no_record_of_ours_is_told_so(content: bytes) -> None:
    verification = verify(content)
    assert (verification.kind, verification.holds) == ("unknown", False)


def used(rank: int = 1, **changes: Any) -> dict[str, Any]:
    """A use receipt of the report for a rank."""
    arguments: dict[str, Any] = {
        "relation": Relation.SUPPORTS,
        "consumer": Consumer(kind=ConsumerKind.ARTIFACT, uri="file:report.md", digest=digest(REPORT)),
        "created_at": AT,
        **changes,
    }
    return mint_use(receipt(), rank, **arguments)


def test_a_use_receipt_joins_with_its_retrieval_receipt_and_with_the_artifact() -> None:
    verification = verify(canonical(used()), retrieval=canonical(receipt()), artifact=REPORT)
    assert outcomes(verification) == {
        Claim.UNMUTATED: Outcome.PROVEN,
        Claim.RETRIEVAL: Outcome.PROVEN,
        Claim.ARTIFACT: Outcome.PROVEN,
    }
    assert used()["id"] == "kb://kettle"


def test_a_use_receipt_of_another_retrieval_another_rank_or_another_artifact_does_not_join() -> None:
    other = receipt(question="teapot?")
    assert outcomes(verify(canonical(used()), retrieval=canonical(other)))[Claim.RETRIEVAL] == Outcome.FAILED
    moved = {name: value for name, value in used().items() if name != "receipt_digest"}
    for rank in (2, 9):
        forged = canonical(sealed({**moved, "rank": rank}))
        assert outcomes(verify(forged, retrieval=canonical(receipt())))[Claim.RETRIEVAL] == Outcome.FAILED
    changed = verify(canonical(used()), artifact=REPORT + b" ")
    assert outcomes(changed)[Claim.ARTIFACT] == Outcome.FAILED
    assert digest(REPORT) in reason(changed, Claim.ARTIFACT)


def test_a_use_receipt_is_only_minted_of_a_rank_of_a_verified_receipt() -> None:
    for rank in (0, 3):
        with pytest.raises(Refused):
            used(rank)
    consumer = Consumer(kind=ConsumerKind.DECISION, uri="x:y", digest="0" * 64)
    with pytest.raises(Refused):
        mint_use({**receipt(), "question": "?"}, 1, Relation.EXTENDS, consumer, created_at=AT)
    with pytest.raises(ValidationError):
        Consumer(kind=ConsumerKind.OTHER, uri="x:y", digest="short")
    with pytest.raises(Refused):
        UseReceipt.of({**used(), "relation": "likes"})
