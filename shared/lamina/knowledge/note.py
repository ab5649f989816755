"""What an accepted proposal becomes: its path and its exact bytes, the same however often they are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import frontmatter

from lamina.contract.ids import sha256_hex, slug

NOTES = "notes/"
# File names end at 255 bytes; the digest and the suffix need some of them.
_LONGEST_SLUG_BYTES = 180
_DIGEST_DIGITS = 8


@dataclass(frozen=True, slots=True)
class Note:
    """A Markdown file of the workspace."""

    path: str
    content: bytes

    @property
    def sha256(self) -> str:
        """SHA-256 of the file."""
        return sha256_hex(self.content)


def note_of(proposal: dict[str, Any], review_sha256: str) -> Note:
    """The note of a proposal's payload: its capture under frontmatter that says where it comes from.

    The capture's kind is stored as `note_kind`, since `kind` would claim one of the knowledge base's own kinds.
    """
    capture, context = proposal["capture"], proposal["context"]
    fields = {
        "title": capture["title"],
        "note_kind": capture["kind"],
        "tags": list(capture["tags"]),
        "derives_from": list(dict.fromkeys(source["path"] for source in context["sources"])),
        "run_id": context["run_id"],
        "review_sha256": review_sha256,
    }
    # Only the fields: with a body, python-frontmatter would strip the white space at its ends.
    header = frontmatter.dumps(frontmatter.Post("", **fields), sort_keys=False, width=1_000_000)
    body = capture["body"]
    heading = "" if body.lstrip().startswith("# ") else f"# {capture['title']}\n\n"
    end = "" if body.endswith("\n") else "\n"
    content = f"{header}\n\n{heading}{body}{end}"
    return Note(note_path(capture["title"], review_sha256), content.encode())


def note_path(title: str, review_sha256: str) -> str:
    """`notes/{slug of title}-{first 8 digits of the review's digest}.md`; a title without letters is `note`."""
    name = slug(title).encode()[:_LONGEST_SLUG_BYTES].decode("utf-8", "ignore").strip("-_") or "note"
    return f"{NOTES}{name}-{review_sha256[:_DIGEST_DIGITS]}.md"
