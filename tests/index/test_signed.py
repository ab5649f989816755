"""Sealed indexes: what went in comes out, and nothing else is ever opened."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina.index.signed import FORMAT, SnapshotRefused, sign, verify

KEY = b"k" * 32
DATA = {"uris": ["a", "b"], "numbers": (1, 2.5, None, True), "bytes": b"\x00\xff", "nested": {"x": [{}]}}


def sealed(data: dict[str, Any], key: bytes = KEY, kind: str = "snapshot") -> bytes:
    return sign(data, key, kind=kind, documents=2, revision="r", config="c")


def forged(payload: bytes, key: bytes = KEY, **changes: Any) -> bytes:
    """Any bytes under a valid signature, as only the owner of the key could make them."""
    manifest = {
        "format": FORMAT,
        "kind": "snapshot",
        "documents": 1,
        "revision": "r",
        "config": "c",
        "sha256": hashlib.sha256(payload).hexdigest(),
        "payload_bytes": len(payload),
        **changes,
    }
    magic = sealed({})[:8]
    header = json.dumps(manifest).encode()
    signature = hmac.new(key, magic + header, hashlib.sha256).digest()
    return magic + len(header).to_bytes(4, "big") + header + signature + payload


def test_what_went_in_comes_out() -> None:
    manifest, data = verify(sealed(DATA), KEY, kind="snapshot")
    assert data == DATA
    assert (manifest.documents, manifest.revision, manifest.config) == (2, "r", "c")


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.tuples(inner) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.text(), plain))
def test_any_plain_data_survives(data: dict[str, Any]) -> None:
    assert verify(sealed(data), KEY, kind="snapshot")[1] == data


def test_a_change_of_any_byte_is_refused() -> None:
    content = sealed(DATA)
    for at in range(len(content)):
        for flip in (0x01, 0x80, 0xFF):
            changed = bytearray(content)
            changed[at] ^= flip
            with pytest.raises(SnapshotRefused):
                verify(bytes(changed), KEY, kind="snapshot")


def test_a_cut_or_an_addition_anywhere_is_refused() -> None:
    content = sealed(DATA)
    for length in range(len(content)):
        with pytest.raises(SnapshotRefused):
            verify(content[:length], KEY, kind="snapshot")
    with pytest.raises(SnapshotRefused):
        verify(content + b"\x00", KEY, kind="snapshot")


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=400))
def test_any_other_bytes_are_refused(content: bytes) -> None:
    for tried in (content, sealed(DATA)[:12] + content):
        with pytest.raises(SnapshotRefused):
            verify(tried, KEY, kind="snapshot")


def test_another_key_another_kind_and_another_format_are_refused() -> None:
    with pytest.raises(SnapshotRefused, match="signature"):
        verify(sealed(DATA), b"x" * 32, kind="snapshot")
    with pytest.raises(SnapshotRefused, match="a parsed where a snapshot"):
        verify(sealed(DATA, kind="parsed"), KEY, kind="snapshot")
    with pytest.raises(SnapshotRefused, match="format"):
        verify(forged(pickle.dumps({}), format=FORMAT + 1), KEY, kind="snapshot")
    with pytest.raises(SnapshotRefused, match="another version"):
        verify(forged(pickle.dumps({}), a_later_field=1), KEY, kind="snapshot")


class Exploit:
    """Unpickled, it would create a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.mkdir, (str(self.path),)


def test_an_exploit_never_runs_whoever_signed_it(tmp_path: Path) -> None:
    target = tmp_path / "made-by-the-pickle"
    payload = pickle.dumps({"uris": Exploit(target)})
    for content in (payload, forged(payload, key=b"x" * 32), forged(payload)):
        with pytest.raises(SnapshotRefused):
            verify(content, KEY, kind="snapshot")
    assert not target.exists()
    pickle.loads(payload)
    assert target.exists(), "the exploit would have worked"


def test_only_plain_data_can_be_sealed(tmp_path: Path) -> None:
    for value in (Exploit(tmp_path / "x"), os.mkdir, object(), Path("x"), range(3)):
        with pytest.raises(SnapshotRefused):
            sealed({"value": value})


@pytest.mark.parametrize(
    "payload", [b"", b"\x80", b"nonsense", pickle.dumps([1]), pickle.dumps("text"), b"\x80\x05Pid\n."]
)
def test_a_signed_payload_that_is_no_mapping_is_refused(payload: bytes) -> None:
    with pytest.raises(SnapshotRefused):
        verify(forged(payload), KEY, kind="snapshot")


def test_the_reason_holds_nothing_of_the_content() -> None:
    with pytest.raises(SnapshotRefused) as raised:
        verify(forged(pickle.dumps({"secret-name": os.mkdir})), KEY, kind="snapshot")
    assert "mkdir" not in str(raised.value)
