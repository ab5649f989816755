"""Mints a retrieval receipt after a brief and keeps it: here are the clock, the store, and who may ask for one."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from lamina.actions.brief import BriefRequest
from lamina.contract.envelope import Envelope
from lamina.contract.errors import LaminaError
from lamina.contract.ids import sha256_hex
from lamina.contract.ports import AlreadyExists, ObjectStore, StoreUnavailable
from lamina.contract.request import Request, SearchScope
from lamina.index.snapshot import Snapshot
from lamina.ranking.scope import Scopes
from lamina.receipts.canonical import canonical
from lamina.receipts.retrieval import Retriever, mint
from lamina.receipts.visibility import VisibilityReference, encoded

# A reference is three short values; scopes of a few snapshots alternate in one process.
_MOST_KNOWN = 64


def receipt_key(digest: str, *, private: bool) -> str:
    """Where a receipt is kept; those over private knowledge bases lie apart, for callers with a key alone."""
    return f"{_folder(private)}/{digest}.json"


def snapshot_key(digest: str, *, private: bool) -> str:
    """Where a visibility snapshot is kept."""
    return f"{_folder(private)}/visible/{digest}.json"


def _folder(private: bool) -> str:
    return "receipts/private" if private else "receipts"


@dataclass(frozen=True, slots=True)
class _Visible:
    """What a visibility snapshot is known by: the same sources under the same settings, in the same scope."""

    index: str
    revision: str
    config: str
    scope: SearchScope
    private: bool


@dataclass(slots=True)
class Minting:
    """Mints receipts. The reference to each visibility snapshot is worked out and stored once, then remembered."""

    store: ObjectStore
    version: str
    wall_clock: Callable[[], float]
    _known: OrderedDict[_Visible, VisibilityReference] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def with_receipt(
        self, request: Request, envelope: Envelope, scopes: Scopes, *, index: str, private: bool
    ) -> Envelope:
        """The envelope with the receipt that the request asked for, if it did. Raises STORE_UNAVAILABLE."""
        if not isinstance(request, BriefRequest) or request.receipt is None:
            return envelope
        data = envelope["data"]
        retriever = Retriever(
            id=data["retriever_id"], version=self.version, config_digest=data["retriever_config_digest"]
        )
        try:
            visible = self._visible(scopes, request.scope, index, private)
            receipt = mint(
                request.receipt,
                request.question,
                retriever,
                visible,
                data["results"],
                digest_of_visible=lambda uri: _digest_of(scopes, request.scope, uri),
                created_at=self._now(),
            )
            self._keep(receipt_key(receipt["receipt_digest"], private=private), canonical(receipt))
        except StoreUnavailable as error:
            raise LaminaError(
                "STORE_UNAVAILABLE",
                "The receipt could not be kept, so none was minted. Try again, or ask without receipt.",
            ) from error
        return {**envelope, "receipt": receipt}

    def _visible(self, scopes: Scopes, scope: SearchScope, index: str, private: bool) -> VisibilityReference:
        """The reference to what the scope can see; a hundred thousand documents are encoded and stored once."""
        snapshot = scopes.snapshot
        name = _Visible(index, str(snapshot.revision), snapshot.config, scope, private)
        with self._lock:
            known = self._known.get(name)
            if known is None:
                known = self._stored(snapshot, scopes, scope, private)
                self._known[name] = known
                if len(self._known) > _MOST_KNOWN:
                    self._known.popitem(last=False)
            self._known.move_to_end(name)
            return known

    def _stored(self, snapshot: Snapshot, scopes: Scopes, scope: SearchScope, private: bool) -> VisibilityReference:
        searched = scopes[scope].searched
        content = encoded(snapshot, searched)
        digest = sha256_hex(content)
        location = snapshot_key(digest, private=private)
        self._keep(location, content)
        return VisibilityReference(digest=digest, count=int(searched.sum()), location=location)

    def _keep(self, key: str, content: bytes) -> None:
        try:
            self.store.create(key, content)
        except AlreadyExists:
            return  # the key is the digest of the content, so what is there is the same

    def _now(self) -> str:
        now = datetime.fromtimestamp(self.wall_clock(), UTC)
        return now.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _digest_of(scopes: Scopes, scope: SearchScope, uri: str) -> str | None:
    """The digest of the visible document under a URI."""
    snapshot, searched = scopes.snapshot, scopes[scope].searched
    return next((snapshot.content_hash(n) for n in snapshot.with_uri(uri) if searched[n]), None)
