"""Stored indexes as nobody should store them: refused, whoever signed them, and no part of them is run."""

from __future__ import annotations

import hashlib
import hmac
import json
import pickle
import pickletools
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from lamina.index.parsed import ParseCache
from lamina.index.signed import FORMAT, SnapshotRefused, sign, verify
from lamina.index.snapshot import Snapshot

KEY = b"k" * 32
DATA: dict[str, Any] = {"revision": "0" * 12, "uris": ["kb://a"], "bodies": (b"", [b"x" * 40]), "aliases": {}}
SEALED = sign(DATA, KEY, kind="snapshot", documents=1, revision="0" * 12, config="c")
OPCODES = [opcode.code.encode("latin-1") for opcode in pickletools.opcodes]

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def signed(payload: bytes) -> bytes:
    """Any payload under a signature that verifies, as one who holds the key would make it."""
    manifest = {
        "format": FORMAT,
        "kind": "snapshot",
        "documents": 1,
        "revision": "",
        "config": "",
        "sha256": hashlib.sha256(payload).hexdigest(),
        "payload_bytes": len(payload),
    }
    header = json.dumps(manifest).encode()
    magic = SEALED[:8]
    signature = hmac.new(KEY, magic + header, hashlib.sha256).digest()
    return magic + len(header).to_bytes(4, "big") + header + signature + payload


def opened(content: bytes) -> dict[str, Any] | None:
    """The data, None where it is refused. Anything else that is raised is a fault."""
    try:
        return verify(content, KEY, kind="snapshot")[1]
    except SnapshotRefused:
        return None


@settings(max_examples=300, deadline=None)
@given(st.integers(0, len(SEALED) - 1), st.integers(1, 255), st.binary(max_size=4))
def test_any_change_to_a_sealed_index_is_refused(at: int, change: int, extra: bytes) -> None:
    content = bytearray(SEALED)
    content[at] ^= change
    assert opened(bytes(content)) is None
    assert opened(SEALED[:at]) is None
    assert opened(SEALED + extra) == (None if extra else DATA)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(OPCODES) | st.binary(max_size=9), max_size=12).map(b"".join))
def test_a_pickle_of_any_opcodes_is_refused_or_plain_even_under_the_right_signature(payload: bytes) -> None:
    found = opened(signed(b"\x80\x05" + payload + b"."))
    if found is not None:
        assert all(type(value).__module__ == "builtins" for value in found.values())


class Run:
    """What unpickling would run."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (exec, ("raise SystemExit('a pickle ran')",))


def test_a_pickle_that_names_code_is_refused_under_the_right_signature() -> None:
    for protocol in range(6):
        assert opened(signed(pickle.dumps({"x": Run()}, protocol=protocol))) is None


def test_a_pickle_that_claims_to_be_huge_is_refused() -> None:
    for payload in (b"\x8e" + b"\xff" * 8, b"\x8d" + b"\x7f" * 8, b"B\xff\xff\xff\xff", b"\x8b\xff\xff\xff\x7f"):
        assert opened(signed(b"\x80\x05" + payload)) is None


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from(["revision", "uris", "postings", "tokens", "analysis", "entries"]), plain))
def test_plain_data_of_another_shape_is_no_snapshot_and_no_memory_of_a_build(data: dict[str, Any]) -> None:
    try:
        Snapshot.from_data(data)
    except SnapshotRefused:
        pass
    else:
        raise AssertionError("such data is no snapshot")
    assert ParseCache.from_data(data).entries == {}
