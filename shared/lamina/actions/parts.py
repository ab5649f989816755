"""Which part of a document's body is given: all of it, a part within a budget, sections of it, or its outline."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final

from lamina.contract.envelope import compact
from lamina.contract.errors import LaminaError, invalid_parameter
from lamina.contract.schema import COUNT, TEXT, AnswerField, Schema, list_of, nullable, object_of
from lamina.contract.tokens import RESPONSE_CEILING, count_each, count_tokens
from lamina.corpus.blocks import blocks, fitting
from lamina.index.snapshot import BODY_COLUMN, Snapshot
from lamina.index.structure import Section, Structure, line_starts
from lamina.ranking.sections import rank_sections

MOST_SECTIONS: Final = 20
"""Sections that one call names."""
ABOUT_TOKENS: Final = 1_500
"""Tokens of the sections that answer a question, where the caller sets no budget."""
_MOST_ABOUT: Final = 5
# A longer section is ranked in parts, so that the part that answers is given and not its beginning.
_LONGEST_RANKED: Final = 400
_MOST_TOLD: Final = 200

LINES: Final[Schema] = {"type": "array", "items": {"type": "integer"}}
_NEXT_LINE = AnswerField("next_line", nullable(COUNT), "in part: `from_line` of what follows, null at the end", False)
PART_FIELDS: Final = (
    AnswerField("lines", LINES, "in part: first and last line of `body` in the file, from 1", always=False),
    _NEXT_LINE,
    AnswerField("body_tokens", COUNT, "in part: cl100k_base tokens of the whole body", always=False),
    AnswerField(
        "omitted_by_budget",
        COUNT,
        "in part or with sections: cl100k_base tokens that were asked for and did not fit",
        always=False,
    ),
    AnswerField(
        "sections",
        list_of(
            object_of(
                AnswerField("slug", nullable(TEXT), "its name for get; null before the first heading"),
                AnswerField("heading", nullable(TEXT), "its heading"),
                AnswerField("lines", LINES, "its first and last line in the file"),
                AnswerField("tokens", COUNT, "its cl100k_base tokens"),
                AnswerField(
                    "body", TEXT, "its Markdown; left out where `body` is it, and where it did not fit", always=False
                ),
                _NEXT_LINE,
            )
        ),
        "with `section` or `about`: the sections, those of `about` best first",
        always=False,
    ),
    AnswerField(
        "outline",
        list_of(
            object_of(
                AnswerField("slug", TEXT, "its name for get"),
                AnswerField("heading", TEXT, "its heading"),
                AnswerField("level", {"type": "integer", "minimum": 1, "maximum": 6}, "1 to 6"),
                AnswerField("line", COUNT, "its line in the file"),
                AnswerField("tokens", COUNT, "its cl100k_base tokens, subsections included"),
            )
        ),
        "with `outline`: the headings, instead of the body",
        always=False,
    ),
)


@dataclass(frozen=True, slots=True)
class Body:
    """A document's body with its structure; `tokens` are those of the whole body, `starts` where its lines begin."""

    body: str
    structure: Structure
    tokens: int
    starts: Sequence[int]

    @classmethod
    def of(cls, snapshot: Snapshot, document: int) -> Body:
        """The body of a document."""
        body = snapshot.body(document)
        tokens = int(snapshot.tokens[document, BODY_COLUMN])
        return cls(body, snapshot.structure(document), tokens, line_starts(body))

    def line(self, position: int) -> int:
        """The line of the file on which a place of the body stands, from 1."""
        return self.structure.first_line + bisect_right(self.starts, position) - 1

    def next_line(self, end: int) -> int | None:
        """The line that follows a piece that ends here, None at the end; a line that was cut is not begun again."""
        number = bisect_left(self.starts, end)
        return None if number == len(self.starts) else self.structure.first_line + number


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a body, `body[start:end]`, and the section that it is of or stands in."""

    start: int
    end: int
    section: Section | None


def part_of(text: Body, from_line: int | None, max_tokens: int | None) -> dict[str, Any]:
    """The body, or its part from a line on within the budget. Raises INVALID_PARAMETER for a line past the end."""
    if from_line is None and max_tokens is None and text.tokens <= RESPONSE_CEILING:
        return {"body": text.body}
    start = _start_of(text, from_line)
    most = min(max_tokens or RESPONSE_CEILING, RESPONSE_CEILING)
    # Only a budget of the caller's own cuts a line: what follows the cut could not be asked for by its line.
    given = fitting(text.body[start:], most, cut_lines=max_tokens is not None)
    return {
        "body": given,
        "lines": lines_of(text, Span(start, start + len(given), None)),
        "next_line": text.next_line(start + len(given)),
        "body_tokens": text.tokens,
        "omitted_by_budget": count_tokens(text.body[start + len(given) :]),
    }


def sections_of(text: Body, wanted: Sequence[str], max_tokens: int | None) -> dict[str, Any]:
    """The sections of these names within the budget: one as the body, several each with its own.

    Raises SECTION_NOT_FOUND.
    """
    found = [_named(text.structure, name) for name in wanted]
    spans = [Span(section.start, section.end, section) for section in dict.fromkeys(found)]
    told = _within(text, spans, max_tokens or RESPONSE_CEILING)
    if len(spans) == 1:
        [only] = told["sections"]
        return {"body": only.pop("body", ""), **told}
    return told


def about(text: Body, question: str, max_tokens: int | None) -> dict[str, Any]:
    """The sections that answer a question, best first, within the budget."""
    spans = _ranked_spans(text)
    titled = [
        f"{span.section.heading}\n{text.body[span.start : span.end]}" if span.section else text.body[: span.end]
        for span in spans
    ]
    best = [spans[number] for number in rank_sections(question, titled)[:_MOST_ABOUT]]
    return _within(text, best, max_tokens or ABOUT_TOKENS)


def outline_of(text: Body, max_tokens: int | None) -> dict[str, Any]:
    """The headings in order, as many as fit."""
    sections = text.structure.sections
    tokens = count_each([text.body[section.start : section.end] for section in sections])
    entries = [
        {"slug": s.slug, "heading": s.heading, "level": s.level, "line": text.line(s.start), "tokens": cost}
        for s, cost in zip(sections, tokens, strict=True)
    ]
    costs = list(accumulate(count_each([compact(entry) for entry in entries])))
    shown = bisect_right(costs, min(max_tokens or RESPONSE_CEILING, RESPONSE_CEILING))
    omitted = {"omitted_by_budget": costs[-1] - (costs[shown - 1] if shown else 0)} if shown < len(costs) else {}
    return {"outline": entries[:shown], **omitted}


def passage(text: Body, position: int | None, max_tokens: int) -> Span:
    """The section around a place, whole where it fits, else the blocks of it from that of the place on.

    Without a place it is how the body begins.
    """
    position = position or 0
    number = text.structure.at(position)
    section = None if number is None else text.structure.sections[number]
    if number is None or section is None:
        start, end = 0, text.structure.sections[0].start if text.structure.sections else len(text.body)
    else:
        start, end = section.start, section.end
        if count_tokens(text.body[start:end]) > max_tokens:
            end = text.structure.own_end(number)
    if count_tokens(text.body[start:end]) > max_tokens:
        for block in blocks(text.body[start:end]):
            if start + len(block) > position:
                break
            start += len(block)
        end = start + len(fitting(text.body[start:end], max_tokens))
    return Span(start, end, section)


def lines_of(text: Body, span: Span) -> list[int]:
    """The first and the last line of a piece in the file."""
    written = text.body[span.start : span.end].rstrip()
    return [text.line(span.start), text.line(span.start + max(len(written) - 1, 0))]


def _within(text: Body, spans: Sequence[Span], most: int) -> dict[str, Any]:
    """Sections in order, each whole where it fits in what is left, the first that does not in part."""
    costs = count_each([text.body[span.start : span.end] for span in spans])
    left, omitted = min(most, RESPONSE_CEILING), 0
    told = []
    for span, cost in zip(spans, costs, strict=True):
        section = span.section
        entry: dict[str, Any] = {
            "slug": None if section is None else section.slug,
            "heading": None if section is None else section.heading,
            "lines": lines_of(text, span),
            "tokens": cost,
        }
        if cost <= left:
            entry["body"] = text.body[span.start : span.end]
            left -= cost
        else:
            given = fitting(text.body[span.start : span.end], left) if left else ""
            entry = {
                **entry,
                **({"body": given} if given else {}),
                "next_line": text.next_line(span.start + len(given)),
            }
            omitted += cost - count_tokens(given)
            left = 0
        told.append(entry)
    return {"sections": told, **({"omitted_by_budget": omitted} if omitted else {})}


def _ranked_spans(text: Body) -> list[Span]:
    """A body in pieces: the text before the first heading and of each section its own, long ones in runs of blocks."""
    sections = text.structure.sections
    first = sections[0].start if sections else len(text.body)
    whole = [Span(0, first, None)] if text.body[:first].strip() else []
    whole += [Span(s.start, text.structure.own_end(number), s) for number, s in enumerate(sections)]
    pieces: list[Span] = []
    for span in whole:
        start = at = span.start
        room = _LONGEST_RANKED
        parts = blocks(text.body[span.start : span.end])
        for block, cost in zip(parts, count_each(parts), strict=True):
            if cost > room and at > start:
                pieces.append(Span(start, at, span.section))
                start, room = at, _LONGEST_RANKED
            at, room = at + len(block), room - cost
        pieces.append(Span(start, span.end, span.section))
    return pieces


def _named(structure: Structure, wanted: str) -> Section:
    section = structure.named(wanted)
    if section is not None:
        return section
    headings = [section.heading for section in structure.sections][:_MOST_TOLD]
    told = "Its headings are in `headings`." if headings else "It has no headings."
    raise LaminaError(
        "SECTION_NOT_FOUND",
        f"the document has no one section {wanted[:80]!r}. {told}",
        section=wanted[:200],
        headings=headings,
    )


def _start_of(text: Body, from_line: int | None) -> int:
    """Where in the body a line of the file begins; a line of the frontmatter is the body's beginning."""
    number = max(0, (from_line or 1) - text.structure.first_line)
    if number >= len(text.starts):
        last = text.structure.first_line + len(text.starts) - 1
        raise invalid_parameter("from_line", f"from_line {from_line} is past the end: the last line is {last}.")
    return text.starts[number]
