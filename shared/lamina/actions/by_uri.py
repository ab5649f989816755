"""What the actions share that answer one document by its URI: found with its tiers, or absent with what was meant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic import Field

from lamina.actions.action import Cached, QueryContext
from lamina.actions.entry import disclosed, entry_fields, floor
from lamina.actions.legacy import legacy_tokens
from lamina.contract.coercion import Text, TextList
from lamina.contract.disclosure import DOCUMENT_FLAGS, Flag
from lamina.contract.envelope import FOUND, NOT_FOUND, Answer, CallFacts, Envelope
from lamina.contract.errors import LaminaError
from lamina.contract.filters import FILTERS
from lamina.contract.ids import slug, without_suffix
from lamina.contract.request import Request, SearchScope
from lamina.contract.schema import (
    LEGACY,
    REVISION,
    STALE,
    TEXT,
    TEXTS,
    AnswerField,
    Schema,
    nullable,
    object_of,
    opening,
)
from lamina.ranking.rank import rank

_SUGGESTIONS = 3
_MOST_LIKELY = 50
_LONGEST_NAME = 512
_MOST_TOLD = 200
_CONTENT_HASH = AnswerField("content_hash", TEXT, "SHA-256 of the raw file")


class DocumentRequest(Request):
    """What every action takes that answers one document by its URI."""

    main: ClassVar[str | None] = "uri"
    permitted: ClassVar[tuple[Flag, ...]] = DOCUMENT_FLAGS

    uri: Text = Field("", description="The document: a URI, an alias or a repository path.")
    input: Text = Field("", description="The same as uri, under its older name.")
    disclosure: TextList = Field(
        (str(Flag.BODY),),
        description="Tiers to add to uri and title.",
        json_schema_extra={"items": {"type": "string", "enum": [str(flag) for flag in DOCUMENT_FLAGS]}},
    )
    section: Text | None = Field(
        None, description="Narrows body to one section with its subsections: a heading's text or slug."
    )

    @classmethod
    def unknown(cls, name: str) -> LaminaError:
        """The error of a parameter that there is not, most telling first."""
        if name not in FILTERS:
            return super().unknown(name)
        return LaminaError(
            "FILTER_NOT_PERMITTED",
            f"filter {name!r} is not permitted on {cls.action}: the URI is the selector. "
            "Use search or catalog to select by filters.",
            parameter=name,
        )


def document_answer(
    request: type[DocumentRequest], *fields: AnswerField, statuses: Sequence[str] = (FOUND, NOT_FOUND)
) -> Schema:
    """The answer about one document, with the fields that the action adds."""
    entry = object_of(*entry_fields(request.permitted, _CONTENT_HASH))
    return object_of(
        *opening(request.action, *statuses),
        AnswerField("data", nullable(entry)),
        AnswerField("disclosure_applied", TEXTS, "the flags in force, in canonical order"),
        AnswerField("reason", TEXT, "why there is no document, where more is known than that", always=False),
        AnswerField("did_you_mean", TEXTS, "with NOT_FOUND: up to three URIs", always=False),
        REVISION,
        STALE,
        LEGACY,
        *fields,
    )


def cached_with_body(envelope: Envelope) -> Cached:
    """A body is counted, so its caller alone may keep it; an answer without one may be kept by nobody."""
    has_body = str(Flag.BODY) in envelope["disclosure_applied"] and envelope["status"] != NOT_FOUND
    return Cached.BY_THE_CALLER if has_body else Cached.BY_NOBODY


def answered(
    request: DocumentRequest, context: QueryContext, document: int, extra: dict[str, Any] | None = None
) -> Answer:
    """FOUND, with the tiers asked for. Raises SECTION_NOT_FOUND."""
    snapshot = context.snapshot
    body = _section(snapshot.body(document), request.section) if request.section is not None else None
    data: dict[str, Any] = {
        **floor(snapshot, document, with_source=request.knowledge_base_url is not None),
        "content_hash": snapshot.content_hash(document),
        **disclosed(snapshot, document, request.flags),
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
    # The legacy get gave the whole file, whatever was asked.
    whole = legacy_tokens(snapshot, [document]) + int(snapshot.tokens[document, 4])
    facts = CallFacts(tokens_legacy_equivalent=whole, document_uri=data["uri"])
    return Answer(envelope, snapshot.revision, facts)


def absent(
    request: DocumentRequest,
    context: QueryContext,
    extra: dict[str, Any] | None = None,
    *,
    status: str = NOT_FOUND,
    suggest: bool = True,
) -> Answer:
    """No document to give: what may have been meant, and why a file that is present cannot be read."""
    snapshot = context.snapshot
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
        envelope["did_you_mean"] = _near(context, name) if suggest else []
    envelope["revision"] = str(snapshot.revision)
    return Answer(envelope, snapshot.revision)


def _near(context: QueryContext, name: str) -> list[str]:
    """Up to three URIs of documents that the words of the path find, those with the same last word first."""
    if len(name) > _LONGEST_NAME:
        return []
    snapshot = context.snapshot
    scope = context.scopes[SearchScope.MERGED]
    ranked = rank(scope.postings, name.replace('"', " ").replace("/", " "), text_of=snapshot.body)
    last = name.rsplit("/", 1)[-1]
    likely = ranked.found[ranked.best(_MOST_LIKELY)].tolist()
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
