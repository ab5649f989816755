"""What a document is: the tiers, axes and links of one Markdown file, what each tier costs, and its names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lamina.contract.ids import without_suffix
from lamina.corpus.address import encoded

if TYPE_CHECKING:
    from lamina.corpus.links import Link
    from lamina.corpus.markdown import Heading
    from lamina.corpus.remarks import Remark
    from lamina.corpus.standing import Successor

DEFAULT_SCHEME: Final = "kb"
LONGEST_TITLE: Final = 300
"""Characters of a title that are shown."""


@dataclass(frozen=True, slots=True)
class TierTokens:
    """cl100k_base tokens of each tier's JSON value; a missing tier costs what `null` costs."""

    title: int
    blockquote: int
    metadata: int
    summary: int
    body: int


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed file. `uri` and `kind` are not here: they depend on the knowledge base around it.

    `content_hash` is the SHA-256 of the raw file. `summary_span` cuts the summary from the body, whose first line has
    the number `first_line` in the file. `tags` are those of the frontmatter, `hashtags` those of the body. `language`
    is two letters. `date` is in ISO 8601. `names` are further addresses.
    """

    path: str
    content_hash: str
    title: str
    blockquote: str | None
    summary_span: tuple[int, int] | None
    body: str
    first_line: int
    metadata: dict[str, Any] | None
    headings: tuple[Heading, ...]
    tokens: TierTokens
    declared_uri: str | None
    declared_kind: Any
    audience: tuple[str, ...]
    exposure: tuple[str, ...]
    tier: tuple[int, ...]
    public: bool | None
    start_here: bool | None
    tags: tuple[str, ...]
    hashtags: tuple[str, ...]
    language: str
    date: str | None
    successor: Successor | None
    names: tuple[str, ...]
    invalidated: bool
    links: tuple[Link, ...]
    remarks: tuple[Remark, ...]

    @property
    def summary(self) -> str | None:
        """The text of the Summary section."""
        return None if self.summary_span is None else self.body[slice(*self.summary_span)]


def parse(path: str, content: bytes) -> Document:
    """The document that a file holds. Raises UnicodeDecodeError where it is not UTF-8, nothing else."""
    from lamina.corpus.reading import read  # the parsers cost a cold start 60 ms, and only builds parse

    return read(path, content)[0]


def is_mdx(path: str) -> bool:
    """Whether tags in a file are components, not HTML."""
    return path.lower().endswith(".mdx")


def common_scheme(documents: Iterable[Document]) -> str | None:
    """The commonest scheme among declared URIs, the alphabetically first of equals; None if none is declared."""
    counts = Counter(document.declared_uri.split("://")[0] for document in documents if document.declared_uri)
    return min(counts, key=lambda scheme: (-counts[scheme], scheme), default=None)


def uri_of_path(path: str, scheme: str) -> str:
    """`{scheme}://{path without its Markdown suffix}`, percent-encoded."""
    return f"{scheme}://{encoded(without_suffix(path))}"


def shown_title(title: str) -> str:
    """A title as lists show it: at most so many characters, an ellipsis where it goes on."""
    return title if len(title) <= LONGEST_TITLE else f"{title[: LONGEST_TITLE - 1].rstrip()}…"
