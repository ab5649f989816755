"""What the fields of a frontmatter mean, however people spell and write them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from lamina.contract.filters import DRAFT, HIDDEN
from lamina.corpus.dates import iso_date

_APART: Final = re.compile(r"[\s_-]+")
_TAG_FIELDS: Final = ("tags", "tag", "keywords", "keyword", "categories", "category")
_DATE_FIELDS: Final = ("date", "pubdate", "publishdate", "published", "created")
_DRAFT_FIELDS: Final = ("draft",)
_HIDDEN_FIELDS: Final = ("hidden", "noindex", "unlisted")
_LONGEST_TAG: Final = 100
_MOST_TAGS: Final = 200
_BRACKETS: Final = re.compile(r"[\[\]<>\x00-\x20\x7f]")


@dataclass(frozen=True, slots=True)
class Fields:
    """A frontmatter by the plain names of its fields: `Superseded-By` and `supersededBy` are `supersededby`."""

    metadata: Mapping[str, Any]
    _keys: dict[str, str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        keys: dict[str, str] = {}
        for key in self.metadata:
            keys.setdefault(_plain(key), key)
        object.__setattr__(self, "_keys", keys)

    def key(self, *names: str) -> str | None:
        """The first of these fields, by their plain names, that is there and not null, as it is spelled."""
        for name in names:
            key = self._keys.get(name)
            if key is not None and self.metadata[key] is not None:
                return key
        return None

    def value(self, *names: str) -> Any:
        """Its value, else None."""
        key = self.key(*names)
        return None if key is None else self.metadata[key]

    def text(self, *names: str) -> str | None:
        """A scalar as one line of text, or None for anything blank or structured."""
        return line(self.value(*names))

    def texts(self, *names: str) -> tuple[str, ...]:
        """A scalar, or the scalars of a list, as lines of text, each once."""
        return tuple(dict.fromkeys(_lines(self.value(*names))))

    def integers(self, name: str) -> tuple[int, ...]:
        """The whole numbers of a field."""
        return tuple(
            int(text) for text in _lines(self.value(name)) if text.isascii() and text.isdigit() and len(text) < 18
        )

    def boolean(self, name: str) -> bool | None:
        """True or false, in the words of YAML; None for anything else."""
        value = self.value(name)
        if isinstance(value, bool):
            return value
        return _BOOLEANS.get(value.strip().casefold()) if isinstance(value, str) else None

    def tags(self) -> tuple[str, ...]:
        """Tags, keywords and categories: lists at any depth, comma strings, with and without `#`."""
        found: list[str] = []
        taxonomies = self.value("taxonomies")
        for source in (self, Fields(taxonomies) if isinstance(taxonomies, Mapping) else Fields({})):
            for name in _TAG_FIELDS:
                found += _tags(source.value(name))
        kept = (tag for tag in found if tag and len(tag) <= _LONGEST_TAG)
        return tuple(dict.fromkeys(kept))[:_MOST_TAGS]

    def exposure(self) -> tuple[str, ...]:
        """What `exposure` says, else what the switches of site generators come to: draft or hidden."""
        declared = self.texts("exposure")
        if declared:
            return declared
        if any(self.boolean(name) is True for name in _DRAFT_FIELDS) or self.boolean("published") is False:
            return (DRAFT,)
        search = self.value("search")
        excluded = isinstance(search, Mapping) and Fields(search).boolean("exclude") is True
        if excluded or any(self.boolean(name) is True for name in _HIDDEN_FIELDS):
            return (HIDDEN,)
        return ()

    def date(self) -> tuple[str | None, str | None]:
        """(date in ISO 8601, None), or (None, key) where a field called so says something else, else nothing."""
        for name in _DATE_FIELDS:
            value = self.value(name)
            if isinstance(value, bool) or not (text := line(value)):
                continue
            found = iso_date(text)
            # Beside `date` the others are read where they hold one, and nothing is said where they do not.
            if found is not None or name == "date":
                return found, None if found else self.key(name)
        return None, None

    def addresses(self) -> tuple[str, ...]:
        """Other names that the document answers to, the most telling first."""
        names = [*self.texts("aliases", "alias"), *self.texts("redirectfrom"), *self.texts("redirects")]
        names += [name for key in ("permalink", "slug", "id") if (name := self.text(key))]
        return tuple(dict.fromkeys(names))

    def uri(self) -> str | None:
        """The declared URI, if it is one: `scheme://path` without brackets, blanks or control characters."""
        text = self.text("uri")
        if text is None or "://" not in text or _BRACKETS.search(text) or not _is_showable(text):
            return None
        scheme, _, path = text.partition("://")
        return text if scheme and path else None


def line(value: Any) -> str | None:
    """A scalar as one line of text, or None for anything blank or structured."""
    if value is None or isinstance(value, dict | list):
        return None
    return " ".join(str(value).split()) or None


_BOOLEANS: Final = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def _plain(key: str) -> str:
    return _APART.sub("", key).casefold()


def _lines(value: Any) -> Iterator[str]:
    items = value if isinstance(value, list) else [value]
    return (text for item in items if (text := line(item)) is not None)


def _tags(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _tags(item) if isinstance(item, list | dict) else _tag(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _tag(key) if item is True or item is None else _tags(item)
    elif isinstance(value, str) and "," in value:
        for part in value.split(","):
            yield from _tag(part)
    elif (text := line(value)) is not None:
        yield from _tag(text)
        # Some generators read blanks as the space between tags, others as a part of them.
        if " " in text:
            for part in text.split():
                yield from _tag(part)


def _tag(value: Any) -> Iterator[str]:
    text = (line(value) or "").strip("#, ")
    if text and value is not False:
        yield text


def _is_showable(text: str) -> bool:
    return not any(unicodedata.category(character)[0] in "CZ" for character in text)
