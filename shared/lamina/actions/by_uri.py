"""What the actions share that answer one document by its URI: found with its tiers, or absent with what was meant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, field_validator, model_validator

from lamina.actions.action import Cached, QueryContext
from lamina.actions.entry import disclosed, entry_fields, floor
from lamina.actions.legacy import legacy_tokens
from lamina.actions.parts import MOST_SECTIONS, PART_FIELDS, Body, about, outline_of, part_of, sections_of
from lamina.contract.coercion import Boolean, Integer, Names, Text, TextList
from lamina.contract.disclosure import DOCUMENT_FLAGS, Flag
from lamina.contract.envelope import FOUND, NOT_FOUND, Answer, CallFacts, Envelope
from lamina.contract.errors import LaminaError, invalid_parameter
from lamina.contract.filters import FILTERS
from lamina.contract.request import Request, SearchScope
from lamina.contract.schema import (
    LEGACY,
    REVISION,
    STALE,
    TEXT,
    TEXTS,
    AnswerField,
    Schema,
    list_of,
    nullable,
    object_of,
    opening,
)
from lamina.corpus.address import bare, spellings
from lamina.index.nearest import LONGEST_COMPARED, nearest
from lamina.index.snapshot import Reject, Snapshot
from lamina.ranking.rank import rank

_SUGGESTIONS = 3
_MOST_LIKELY = 3
_MOST_LINKS = 50
_PARTS = ("section", "about", "outline", "from_line")
_CONTENT_HASH = AnswerField("content_hash", TEXT, "SHA-256 of the raw file")
_CONTENT = AnswerField(
    "content",
    {"type": ["string", "null"], "deprecated": True},
    "only with `include_legacy_envelope`: the body, where older callers read it",
    always=False,
)
_PAGES = list_of(object_of(AnswerField("uri", TEXT), AnswerField("title", TEXT)))
_COUNT = {"type": "integer"}
_LINKS = AnswerField(
    "links",
    object_of(
        AnswerField("out", _PAGES, f"the documents that it links to, {_MOST_LINKS} at most"),
        AnswerField("out_total", _COUNT, "how many there are"),
        AnswerField("back", _PAGES, f"the documents that link to it, {_MOST_LINKS} at most"),
        AnswerField("back_total", _COUNT, "how many there are"),
    ),
    "with `links`: where it leads and what leads to it",
    always=False,
)


class DocumentRequest(Request):
    """What every action takes that answers one document by its URI."""

    main: ClassVar[str | None] = "uri"
    permitted: ClassVar[tuple[Flag, ...]] = DOCUMENT_FLAGS

    uri: Text = Field("", description="URI, alias or path of the document.")
    input: Text = Field(
        "", description="The same as uri, under its older name.", json_schema_extra={"deprecated": True}
    )
    disclosure: TextList = Field(
        (str(Flag.BODY),),
        description="Tiers to add.",
        json_schema_extra={"items": {"type": "string", "enum": [str(flag) for flag in DOCUMENT_FLAGS]}},
    )
    section: Names = Field(
        default_factory=tuple,
        description="Only these sections: slugs, headings or a part of one.",
        json_schema_extra={"maxItems": MOST_SECTIONS},
    )
    about: Text | None = Field(None, description="Only the sections that answer this question.")
    outline: Boolean = Field(False, description="The headings instead of the body.")
    from_line: Annotated[Integer, Field(ge=1)] | None = Field(None, description="Where the body goes on: `next_line`.")
    max_tokens: Annotated[Integer, Field(ge=1)] | None = Field(None, description="Most tokens of the body.")
    links: Boolean = Field(False, description="Add the documents that it links to, and those that link to it.")

    @property
    def flags(self) -> tuple[Flag, ...]:
        """The active flags; an outline stands in for the body."""
        return tuple(flag for flag in super().flags if not (self.outline and flag == Flag.BODY))

    @field_validator("section")
    @classmethod
    def _sections_are_few(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(value) > MOST_SECTIONS:
            raise ValueError(f"must hold at most {MOST_SECTIONS} values")
        return value

    @model_validator(mode="after")
    def _part_is_one(self) -> Self:
        """Raises INVALID_PARAMETER where the body is asked for in two ways."""
        given = [name for name in _PARTS if getattr(self, name)]
        if len(given) > 1:
            raise invalid_parameter(given[1], f"{given[0]} and {given[1]} do not go together. Send one of them.")
        return self

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
    entry = object_of(*entry_fields(request.permitted, _CONTENT_HASH), *PART_FIELDS, _LINKS)
    return object_of(
        *opening(request.action, *statuses),
        AnswerField("data", nullable(entry)),
        AnswerField("disclosure_applied", TEXTS, "the flags in force, in canonical order"),
        AnswerField("reason", TEXT, "why there is no document, where more is known than that", always=False),
        AnswerField("did_you_mean", TEXTS, "with NOT_FOUND: up to three URIs", always=False),
        REVISION,
        STALE,
        LEGACY,
        _CONTENT,
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
    previewed = [flag for flag in request.flags if flag != Flag.BODY]
    data: dict[str, Any] = {
        **floor(snapshot, document, with_source=request.knowledge_base_url is not None),
        "content_hash": snapshot.content_hash(document),
        **disclosed(snapshot, document, previewed),
        **_body(request, Body.of(snapshot, document)),
    }
    if request.links:
        data["links"] = _links(snapshot, document)
    envelope: Envelope = {
        "status": FOUND,
        "action": request.action,
        "data": data,
        "disclosure_applied": [str(flag) for flag in request.flags],
        **(extra or {}),
        "revision": str(snapshot.revision),
    }
    if request.include_legacy_envelope:
        envelope |= {"legacy": {"content": data.get("body")}, "content": data.get("body")}
    # The legacy get gave the whole file, whatever was asked.
    whole = legacy_tokens(snapshot, [document]) + int(snapshot.tokens[document, 4])
    facts = CallFacts(tokens_legacy_equivalent=whole, document_uri=data["uri"])
    return Answer(envelope, snapshot.revision, facts)


def _body(request: DocumentRequest, text: Body) -> dict[str, Any]:
    """What of the body was asked for. Raises SECTION_NOT_FOUND, INVALID_PARAMETER."""
    if request.outline:
        return outline_of(text, request.max_tokens)
    if Flag.BODY not in request.flags:
        return {}
    if request.section:
        return sections_of(text, request.section, request.max_tokens)
    if request.about:
        return about(text, request.about, request.max_tokens)
    return part_of(text, request.from_line, request.max_tokens)


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
    unread = _unread(snapshot, request.uri)
    if unread is not None and "reason" not in envelope:
        envelope["reason"] = f"{unread.path} is present but not indexed: {unread.reason}."
    if status == NOT_FOUND:
        envelope["did_you_mean"] = _suggested(context, request.uri) if suggest else []
    envelope["revision"] = str(snapshot.revision)
    return Answer(envelope, snapshot.revision)


def _unread(snapshot: Snapshot, name: str) -> Reject | None:
    """The file that a name means and that is not in the index."""
    wanted = {spelling.rpartition("://")[2].casefold() for spelling in spellings(name)}
    for reject in snapshot.rejects:
        path = bare(reject.path).casefold()
        if path in wanted or path.rpartition(".")[0] in wanted:
            return reject
    return None


def _suggested(context: QueryContext, name: str) -> list[str]:
    """Up to three URIs: those that are spelled most like a name, then those that its words find."""
    if len(name) > LONGEST_COMPARED:
        return []
    snapshot = context.snapshot
    alike = nearest(name, snapshot.uris, snapshot.paths, _SUGGESTIONS)
    if len(alike) < _SUGGESTIONS:
        words = " ".join(spellings(name)[-1].rpartition("://")[2].replace('"', " ").split("/"))
        ranked = rank(context.scopes[SearchScope.MERGED].postings, words, text_of=snapshot.body)
        alike += ranked.found[ranked.best(_MOST_LIKELY)].tolist()
    return list(dict.fromkeys(snapshot.uris[number] for number in alike))[:_SUGGESTIONS]


def _links(snapshot: Snapshot, document: int) -> dict[str, Any]:
    """The documents that a document links to and that link to it, in order of URI, as many as are shown of each."""
    found: dict[str, Any] = {}
    for name, numbers in (("out", snapshot.links.get(document, ())), ("back", snapshot.linked_from(document))):
        shown = [number for number in numbers if snapshot.find(snapshot.uris[number]) == number]
        found[name] = [floor(snapshot, number, with_source=False) for number in shown[:_MOST_LINKS]]
        found[f"{name}_total"] = len(shown)
    return found
