"""Keys: each knowledge base has its own, and every store takes them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lamina.contract.ids import Revision
from lamina.runtime.catalogue import index_name, pointer_key, snapshot_key, snapshot_prefix
from lamina.stores.keys import check_key

# Names of the allow list, and of repositories that an owner pattern allows.
names = st.text("ab-_./~", min_size=1, max_size=6) | st.text(min_size=1, max_size=400).filter(str.isprintable)
REVISION = Revision("0" * 12, "1" * 12)


@given(names, names)
def test_two_names_never_share_a_key(entry: str, other: str) -> None:
    assert (index_name(entry) == index_name(other)) == (entry == other)
    if entry != other:
        key = snapshot_key(index_name(other), REVISION, "2" * 12)
        assert not key.startswith(snapshot_prefix(index_name(entry), REVISION))


def test_owners_and_repositories_with_hyphens_are_told_apart() -> None:
    assert index_name("acme/field-notes") != index_name("acme-field/notes")


@given(names)
def test_every_store_takes_the_keys_of_any_name(name: str) -> None:
    check_key(pointer_key(index_name(name)))
    check_key(snapshot_key(index_name(name), REVISION, "2" * 12, retry=99))
