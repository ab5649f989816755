"""A snapshot is bound to its knowledge base: who writes to the store without the key moves nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.conftest import Deploy
from tests.corpora import Deployed, page, write
from tests.transports import Transport, stand_before

from lamina.contract.ids import sha256_hex
from lamina.runtime.catalogue import Pointer, index_name, newest_build_key, pointer_key, read_pointer
from lamina.stores.folder import FolderStore

PRIVATE = index_name("plans")
PUBLIC = index_name("trees")


@pytest.fixture
def bases(deploy: Deploy) -> Deployed:
    """A public and a private knowledge base over one baseline."""
    return deploy(
        {"docs/oak.md": page("Oak")},
        trees={"docs/elm.md": page("Elm")},
        plans={"docs/takeover.md": page("Takeover")},
    )


def titles(deployed: Deployed, transport: Transport, name: str) -> list[str] | str:
    """What the catalog of a knowledge base lists, or the code of its error."""
    url = str(deployed.overlays[name])
    envelope = transport.call(deployed, "catalog", {"knowledge_base_url": url}).envelope
    if "error_code" in envelope:
        return str(envelope["error_code"])
    return [entry["title"] for entry in envelope["data"]]


def pointer_of(deployed: Deployed, name: str) -> Pointer:
    pointer, _ = read_pointer(FolderStore(deployed.data / "store"), name, deployed.signing_key)
    assert pointer is not None
    return pointer


def place(deployed: Deployed, key: str) -> Path:
    return deployed.data / "store" / key


def test_private_bytes_under_a_public_name_are_not_served_and_are_built_over(
    bases: Deployed, transport: Transport
) -> None:
    own, foreign = pointer_of(bases, PUBLIC), pointer_of(bases, PRIVATE)
    shutil.copy(place(bases, foreign.key), place(bases, own.key))
    fields = json.loads(place(bases, pointer_key(PUBLIC)).read_text())
    fields["sha256"] = sha256_hex(place(bases, own.key).read_bytes())
    del fields["signature"]
    place(bases, pointer_key(PUBLIC)).write_text(json.dumps(fields))
    stand_before(bases)
    assert titles(bases, transport, "trees") == "INDEX_NOT_READY"
    bases.index()
    assert "Elm" in titles(bases, transport, "trees")
    assert "Takeover" not in titles(bases, transport, "trees")


@pytest.mark.parametrize("forgery", ["key of the other", "whole pointer of the other"])
def test_a_public_pointer_to_a_private_snapshot_is_refused_where_that_is_held(
    bases: Deployed, transport: Transport, forgery: str
) -> None:
    assert "Takeover" in titles(bases, transport, "plans")
    path, theirs = place(bases, pointer_key(PUBLIC)), place(bases, pointer_key(PRIVATE)).read_text()
    if forgery == "key of the other":
        path.write_text(json.dumps({**json.loads(path.read_text()), "key": json.loads(theirs)["key"]}))
    else:
        path.write_text(theirs)
    assert titles(bases, transport, "trees") == "INDEX_NOT_READY"
    assert "Takeover" in titles(bases, transport, "plans")


def test_a_pointer_put_back_to_an_older_build_is_refused_and_healed(bases: Deployed, transport: Transport) -> None:
    path = place(bases, pointer_key(PUBLIC))
    old = path.read_bytes()
    first = pointer_of(bases, PUBLIC)
    folder = bases.overlays["trees"]
    write(folder, {"docs/ash.md": page("Ash")})
    bases.index()
    assert "Ash" in titles(bases, transport, "trees")
    path.write_bytes(old)
    assert "Ash" in titles(bases, transport, "trees")
    (folder / "docs/ash.md").unlink()
    newest = json.loads(place(bases, newest_build_key(PUBLIC)).read_text())["build"]
    bases.index()
    healed = pointer_of(bases, PUBLIC)
    assert healed.inputs == first.inputs
    assert healed.build > newest > first.build
    assert "Ash" not in titles(bases, transport, "trees")


def test_a_build_number_grows_when_the_clock_goes_back(bases: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    before = pointer_of(bases, PUBLIC).build
    monkeypatch.setattr("lamina.indexer.indexing.time.time", lambda: 1000.0)
    write(bases.overlays["trees"], {"docs/ash.md": page("Ash")})
    bases.index()
    assert pointer_of(bases, PUBLIC).build == before + 1
