"""`GET /v1/receipts/{digest}`: a kept receipt with what its verification proves, or a visibility snapshot."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lamina.contract.envelope import FOUND, Envelope, compact
from lamina.contract.errors import LaminaError, invalid_parameter
from lamina.contract.ports import ObjectStore, StoreUnavailable
from lamina.receipts.canonical import Refused, parse
from lamina.receipts.verify import Given, Unavailable, verify
from lamina.runtime.adapter import failed, method_not_allowed
from lamina.runtime.entry import guarded
from lamina.runtime.event import HttpRequest, HttpResponse, preflight
from lamina.runtime.logs import Handler
from lamina.runtime.minting import receipt_key, snapshot_key
from lamina.runtime.observed import observed
from lamina.runtime.wiring import Runtime, wire

NAME = "receipts"
# Lambda answers with at most 6 MB, and JSON within JSON grows.
MOST_BYTES = 5_000_000

_METHODS = ("GET",)
_DIGEST = re.compile(r"[0-9a-f]{64}")


def receipts() -> Handler:
    """The handler of `/v1/receipts/{digest}`."""

    def handler(event: Mapping[str, Any], context: object) -> dict[str, Any]:
        runtime, request = wire(), HttpRequest.of(event)
        return observed(NAME, request, runtime, lambda: respond(request, runtime)).event()

    return guarded(handler)


def respond(request: HttpRequest, runtime: Runtime) -> HttpResponse:
    """One request for a receipt. On one's own machine no key is needed."""
    if request.method == "OPTIONS":
        return preflight(_METHODS)
    has_key = request.api_key is not None or runtime.settings.data is not None
    try:
        if request.method not in _METHODS:
            raise method_not_allowed(request, _METHODS)
        _check_parameters(request)
        envelope = kept(runtime.store, request.path_parameters.get("digest", ""), has_key=has_key)
    except StoreUnavailable:
        return failed(LaminaError("STORE_UNAVAILABLE", "Storage did not answer. Try again in a few seconds."), NAME)
    except LaminaError as error:
        return failed(error, NAME)
    return HttpResponse(200, compact(envelope))


def kept(store: ObjectStore, digest: str, *, has_key: bool) -> Envelope:
    """The record of that digest with its verification. Raises RECEIPT_NOT_FOUND, API_KEY_REQUIRED."""
    found = _find(store, digest) if _DIGEST.fullmatch(digest) else None
    if found is None:
        raise LaminaError("RECEIPT_NOT_FOUND", f"no receipt has the digest {digest[:64]!r}.", digest=digest[:64])
    if found.private and not has_key:
        raise LaminaError("API_KEY_REQUIRED", "this receipt is of a private knowledge base: send a key in x-api-key.")
    if len(found.content) > MOST_BYTES:
        raise LaminaError(
            "RECEIPT_NOT_FOUND",
            f"that snapshot is kept, but too large to be sent: the operator can copy {found.key} from the store.",
            digest=digest,
            location=found.key,
        )
    try:
        data = parse(found.content)
    except Refused:
        data = None
    verification = verify(found.content, snapshot=_snapshot_of(store, data))
    is_named = verification.digest == digest
    return {
        "status": FOUND,
        "action": NAME,
        "data": data,
        "verification": {
            **verification.to_data(),
            "holds": verification.holds and is_named,
            "is_what_the_digest_names": is_named,
        },
    }


@dataclass(frozen=True, slots=True)
class _Kept:
    """What lies in the store under a digest."""

    key: str
    content: bytes
    private: bool


def _find(store: ObjectStore, digest: str) -> _Kept | None:
    for private in (False, True):
        for key in (receipt_key(digest, private=private), snapshot_key(digest, private=private)):
            stored = store.get(key)
            if stored is not None:
                return _Kept(key, stored.content, private)
    return None


def _snapshot_of(store: ObjectStore, data: Any) -> Given:
    """The snapshot that a receipt names; None for what names none."""
    named = data.get("visibility_snapshot") if isinstance(data, dict) else None
    digest = named.get("digest") if isinstance(named, dict) else None
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        return None
    for private in (False, True):
        stored = store.get(snapshot_key(digest, private=private))
        if stored is not None:
            return stored.content
    return Unavailable(f"the visibility snapshot {digest} is not in the store")


def _check_parameters(request: HttpRequest) -> None:
    for name in request.query:
        if name != "consumer":
            raise invalid_parameter(
                name[:64], f"unknown parameter {name[:64]!r} on {NAME}. It takes consumer.", parameters=["consumer"]
            )
