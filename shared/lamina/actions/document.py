"""The answer about one document: found with its tiers, or absent with what may have been meant."""

from __future__ import annotations

from typing import Any

from lamina.actions.page import disclose, floor
from lamina.actions.reading import Reading
from lamina.actions.report import legacy_tokens
from lamina.contract.disclosure import Flag
from lamina.contract.envelope import FOUND, NOT_FOUND, Answer, CallFacts, Envelope
from lamina.contract.errors import LaminaError
from lamina.contract.ids import slug, without_suffix
from lamina.contract.request import DocumentRequest, SearchScope
from lamina.ranking.rank import rank

_SUGGESTIONS = 3
_LIKELY = 50
_LONGEST_GUESSED = 512
_MOST_TOLD = 200


def answered(request: DocumentRequest, reading: Reading, document: int, extra: dict[str, Any] | None = None) -> Answer:
    """FOUND, with the tiers asked for. Raises SECTION_NOT_FOUND."""
    snapshot = reading.snapshot
    body = _section(snapshot.body(document), request.section) if request.section is not None else None
    data: dict[str, Any] = {
        **floor(snapshot, document, with_source=request.knowledge_base_url is not None),
        "content_hash": snapshot.content_hash(document),
        **disclose(snapshot, document, request.flags),
    }
    if body is not None and Flag.BODY in request.flags:
        data["body"] = body
    envelope: Envelope = {
        "status": FOUND,
        "action": request.action,
        "data": data,
        "disclosure_applied": [str(flag) for flag in request.flags],
        **(extra or {}),
        "revision": str(snapshot.revision),
    }
    if request.include_legacy_envelope:
        envelope["legacy"] = {"content": data.get("body")}
    # The old get gave the whole file, whatever was asked.
    whole = legacy_tokens(snapshot, [document]) + int(snapshot.tokens[document, 4])
    facts = CallFacts(tokens_legacy_equivalent=whole, document_uri=data["uri"])
    return Answer(envelope, snapshot.revision, facts)


def absent(
    request: DocumentRequest,
    reading: Reading,
    extra: dict[str, Any] | None = None,
    *,
    status: str = NOT_FOUND,
    suggest: bool = True,
) -> Answer:
    """No document to give: what may have been meant, and why a file that is present cannot be read."""
    snapshot = reading.snapshot
    envelope: Envelope = {
        "status": status,
        "action": request.action,
        "data": None,
        "disclosure_applied": [str(flag) for flag in request.flags],
        **(extra or {}),
    }
    name = without_suffix(request.uri.split("://", 1)[-1].strip("/"))
    unreadable = [reject for reject in snapshot.rejects if without_suffix(reject.path) == name]
    if unreadable and "reason" not in envelope:
        envelope["reason"] = f"{unreadable[0].path} is present but not readable: {unreadable[0].reason}."
    if status == NOT_FOUND:
        envelope["did_you_mean"] = _near(reading, name) if suggest else []
    envelope["revision"] = str(snapshot.revision)
    return Answer(envelope, snapshot.revision)


def _near(reading: Reading, name: str) -> list[str]:
    """Up to three URIs of documents that the words of the path find, those with the same last word first."""
    if len(name) > _LONGEST_GUESSED:
        return []
    snapshot = reading.snapshot
    scope = reading.scopes[SearchScope.MERGED]
    ranked = rank(scope.postings, name.replace('"', " ").replace("/", " "), text_of=snapshot.body)
    last = name.rsplit("/", 1)[-1]
    likely = ranked.found[ranked.best(_LIKELY)].tolist()
    likely.sort(key=lambda number: not snapshot.uris[number].endswith(f"/{last}"))
    return [snapshot.uris[number] for number in likely[:_SUGGESTIONS]]


def _section(body: str, wanted: str) -> str:
    from lamina.corpus.markdown import outline  # the parser takes 40 ms to import, and only sections need it

    headings = outline(body).headings
    name = " ".join(wanted.split()).lstrip("# ").casefold()
    for heading in headings:
        if heading.text.casefold() == name or heading.slug in (name, slug(wanted)):
            return body[heading.start : heading.end]
    known = ", ".join(heading.text for heading in headings[:20]) or "none: the document has no headings"
    raise LaminaError(
        "SECTION_NOT_FOUND",
        f"the document has no section {wanted[:80]!r}. Its headings: {known}.",
        section=wanted[:200],
        headings=[heading.text for heading in headings[:_MOST_TOLD]],
    )
