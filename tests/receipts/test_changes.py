"""Any change of any field of a receipt, of its snapshot or of an artifact fails verification, and says why."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterator
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lamina.receipts.canonical import Refused, canonical
from lamina.receipts.retrieval import Retriever, RunIdentity, mint, sealed
from lamina.receipts.use import Consumer, ConsumerKind, Relation, mint_use
from lamina.receipts.verify import Claim, Outcome, Verification, verify
from lamina.receipts.visibility import VisibilityReference

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
digests = st.binary(max_size=8).map(lambda content: hashlib.sha256(content).hexdigest())
scores = st.floats(-(2**53) + 1, 2**53 - 1)
scalars = st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | scores | texts
REPORT = b"We boiled it.\n"


@st.composite
def records(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """A visibility snapshot and a retrieval receipt over it."""
    ids = draw(st.lists(texts, min_size=1, max_size=6, unique=True))
    documents = [
        {
            "position": position,
            "id": name,
            "origin": draw(st.sampled_from(["overlay", "baseline", "bundled"])),
            "path": draw(texts),
            "digest": draw(digests),
            "invalidated": draw(st.booleans()),
        }
        for position, name in enumerate(sorted(ids), start=1)
    ]
    snapshot = {"schema": "lamina.visibility-snapshot/1", "documents": documents}
    chosen = draw(st.lists(st.sampled_from(documents), max_size=4, unique_by=lambda entry: entry["id"]))
    results = [
        {
            "rank": rank,
            **{name: seen[name] for name in ("id", "origin", "path", "digest")},
            "score": draw(scores),
            "snippet": draw(texts),
            "evidence": draw(st.lists(texts, max_size=2)),
            "attributes": draw(st.dictionaries(texts, scalars, max_size=3)),
        }
        for rank, seen in enumerate(chosen, start=1)
    ]
    content = canonical(snapshot)
    receipt = mint(
        RunIdentity(run_id=draw(texts), actor_id=draw(st.none() | texts)),
        draw(texts),
        Retriever(id="lamina-bm25", version=draw(texts), config_digest=draw(digests)),
        VisibilityReference(
            digest=hashlib.sha256(content).hexdigest(), count=len(documents), location="receipts/visible/x.json"
        ),
        results,
        digest_of_visible=lambda name: next((str(entry["digest"]) for entry in documents if entry["id"] == name), None),
        created_at="2026-03-04T05:06:07.089Z",
    )
    return snapshot, receipt


def leaves(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all scalars in a JSON value."""
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(inner, (*place, key))
    else:
        yield place


def replaced(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    """A copy with another scalar at a place."""
    changed = copy.deepcopy(value)
    holder = changed
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = new
    return changed


def fails_with_a_reason(verification: Verification) -> bool:
    failed = [check for check in verification.checks if check.outcome == Outcome.FAILED]
    return not verification.holds and bool(failed) and all(check.reason for check in failed)


@settings(max_examples=60, deadline=None)
@given(records())
def test_an_unchanged_receipt_always_verifies_in_any_spacing(both: tuple[dict[str, Any], dict[str, Any]]) -> None:
    snapshot, receipt = both
    assert verify(canonical(receipt), snapshot=canonical(snapshot)).holds
    spaced = json.dumps(receipt, indent=2, ensure_ascii=False).encode()
    assert verify(spaced, snapshot=json.dumps(snapshot).encode()).holds


@settings(max_examples=200, deadline=None)
@given(records(), st.data(), scalars)
def test_another_value_in_any_field_of_a_receipt_fails(
    both: tuple[dict[str, Any], dict[str, Any]], data: st.DataObject, new: Any
) -> None:
    snapshot, receipt = both
    changed = replaced(receipt, data.draw(st.sampled_from(list(leaves(receipt)))), new)
    assume(canonical(changed) != canonical(receipt))
    assert fails_with_a_reason(verify(canonical(changed), snapshot=canonical(snapshot)))


@settings(max_examples=200, deadline=None)
@given(records(), st.data(), scalars)
def test_another_value_in_any_field_of_a_snapshot_fails(
    both: tuple[dict[str, Any], dict[str, Any]], data: st.DataObject, new: Any
) -> None:
    snapshot, receipt = both
    changed = replaced(snapshot, data.draw(st.sampled_from(list(leaves(snapshot)))), new)
    assume(canonical(changed) != canonical(snapshot))
    assert fails_with_a_reason(verify(canonical(receipt), snapshot=canonical(changed)))


@settings(max_examples=300, deadline=None)
@given(records(), st.data(), st.integers(1, 255))
def test_any_changed_byte_of_a_stored_record_fails_unless_it_spells_the_same_value(
    both: tuple[dict[str, Any], dict[str, Any]], data: st.DataObject, flipped: int
) -> None:
    snapshot, receipt = canonical(both[0]), canonical(both[1])
    which = data.draw(st.sampled_from(["receipt", "snapshot"]))
    original = receipt if which == "receipt" else snapshot
    place = data.draw(st.integers(0, len(original) - 1))
    changed = original[:place] + bytes([original[place] ^ flipped]) + original[place + 1 :]
    assume(not _same_value(original, changed))
    if which == "receipt":
        assert fails_with_a_reason(verify(changed, snapshot=snapshot))
    else:
        assert fails_with_a_reason(verify(receipt, snapshot=changed))


def _same_value(first: bytes, second: bytes) -> bool:
    """An escape or an exponent may be written with a capital."""
    try:
        return bool(canonical(json.loads(first)) == canonical(json.loads(second)))
    except (ValueError, Refused):
        return False


@settings(max_examples=60, deadline=None)
@given(records(), records())
def test_a_receipt_never_joins_with_the_snapshot_of_another(
    entry: tuple[dict[str, Any], dict[str, Any]], other: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    assume(entry[0] != other[0])
    verification = verify(canonical(entry[1]), snapshot=canonical(other[0]))
    assert next(c.outcome for c in verification.checks if c.claim == Claim.SNAPSHOT) == Outcome.FAILED


@settings(max_examples=60, deadline=None)
@given(records(), st.data())
def test_a_removed_or_added_result_fails_even_under_a_digest_made_anew(
    both: tuple[dict[str, Any], dict[str, Any]], data: st.DataObject
) -> None:
    snapshot, receipt = both
    assume(receipt["results"])
    removed = copy.deepcopy(receipt)
    removed["results"].pop(data.draw(st.integers(0, len(receipt["results"]) - 1)))
    assert fails_with_a_reason(verify(canonical(removed), snapshot=canonical(snapshot)))
    added = copy.deepcopy(receipt)
    del added["receipt_digest"]
    added["results"].append({**receipt["results"][0], "rank": len(receipt["results"]) + 1, "id": "kb://never seen"})
    added["visibility_snapshot"]["count"] += 1
    assert fails_with_a_reason(verify(canonical(sealed(added)), snapshot=canonical(snapshot)))


@settings(max_examples=100, deadline=None)
@given(records(), st.data(), st.binary(max_size=40))
def test_any_change_of_a_use_receipt_or_of_its_artifact_fails(
    both: tuple[dict[str, Any], dict[str, Any]], data: st.DataObject, other: bytes
) -> None:
    _, receipt = both
    assume(receipt["results"])
    consumer = Consumer(kind=ConsumerKind.DECISION, uri="x:y", digest=hashlib.sha256(REPORT).hexdigest())
    use = mint_use(receipt, 1, Relation.CONTRADICTS, consumer, created_at="2026-03-04T05:06:07.089Z")
    assert verify(canonical(use), retrieval=canonical(receipt), artifact=REPORT).holds
    assume(other != REPORT)
    assert fails_with_a_reason(verify(canonical(use), retrieval=canonical(receipt), artifact=other))
    changed = replaced(use, data.draw(st.sampled_from(list(leaves(use)))), data.draw(scalars))
    assume(canonical(changed) != canonical(use))
    assert fails_with_a_reason(verify(canonical(changed), retrieval=canonical(receipt), artifact=REPORT))
