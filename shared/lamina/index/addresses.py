"""Which document a name means: a URI, a path, an alias, a folder, or a name as wikis use it, however it is written."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from lamina.contract.ids import MARKDOWN_SUFFIXES, without_suffix
from lamina.corpus.address import INDEX_STEMS, bare, folder_of, spellings

Accepts = Callable[[int], bool]
"""Whether a document, by its number, may be meant."""

_WIKI: Final = re.compile(r"!?\[\[([^\[\]|]*)(?:\|[^\[\]]*)?\]\]")
# ADR-0005, RFC 12, 0005: a record by its number.
_RECORD: Final = re.compile(r"(?:[A-Za-z]{2,8}[-\s#]*)?0*(?P<number>\d{1,9})(?![\d.])")
_NUMBERED: Final = re.compile(r"(?:[A-Za-z]{2,8}[-_])?0*(?P<number>\d{1,9})(?=[-_. ]|\Z)")


@dataclass(frozen=True)
class Addresses:
    """The names of documents that are numbered in order of URI. `ranks` order those that share a name, lowest first.

    `aliases` are further names, as `bare` gives them.
    """

    uris: Sequence[str]
    paths: Sequence[str]
    titles: Sequence[str]
    ranks: Sequence[int]
    aliases: Mapping[str, int]
    scheme: str

    def find(self, name: str, accepts: Accepts = lambda number: True) -> int | None:
        """The document that a name means, by the most literal reading that fits; None where none does."""
        text = name.strip()
        if not text:
            return None
        if wiki := _WIKI.fullmatch(text):
            text = wiki.group(1).strip()
        found = self._find(text, accepts)
        if found is None and "#" in text:
            # Only where no name has the mark in it is it that of a section.
            page = text.partition("#")[0].strip()
            found = self._find(page, accepts) if page else None
        return found

    def literal(self, name: str, accepts: Accepts = lambda number: True) -> int | None:
        """The same, but by URI, path, alias or folder alone."""
        found = self._first(self._with_uri(name), accepts)
        if found is None:
            found = self._first(self._by_path.get(name.strip("/"), ()), accepts)
        keys = self._keys(name)
        for table in (self._names, self._folders):
            for key in keys:
                if found is None:
                    found = self._first(table.get(key, ()), accepts)
        if found is None:
            alias = next((n for key in keys if (n := self.aliases.get(key)) is not None), None)
            # What shadows the document that lists the alias answers it.
            found = None if alias is None else self._first(self._with_uri(self.uris[alias]), accepts)
        return found

    def aliased(self, alias: str) -> int | None:
        """The document that lists an alias, in whatever letter case."""
        return self._aliased.get(bare(" ".join(alias.split())).casefold())

    def beside(self, path: str, name: str, accepts: Accepts = lambda number: True) -> int | None:
        """The document that a relative address means in the document at `path`."""
        folder = path.rpartition("/")[0]
        climbed = 0
        for part in name.split("/"):
            if part != "..":
                break
            climbed += 1
        if climbed > len([part for part in folder.split("/") if part]):
            return None
        return self.literal(f"{folder}/{name}", accepts)

    def linked(self, path: str, name: str, *, wiki: bool, accepts: Accepts = lambda number: True) -> int | None:
        """The document that a link in the document at `path` leads to."""
        if wiki:
            return self.find(name, accepts)
        if "://" in name or name.startswith("/"):
            return self.literal(name, accepts)
        found = self.beside(path, name, accepts)
        if found is None and name.lower().endswith((".html", ".htm")):
            found = self.beside(path, name.rpartition(".")[0], accepts)
        return found

    def successor(self, path: str, name: str, accepts: Accepts) -> int | None:
        """What the document at `path` names as its successor: an address, or the number of a record beside it."""
        if "://" in name:
            return self.literal(name, accepts)
        name = name.partition("#")[0] or name
        first, second = (self.beside, self._absolute) if name.startswith(".") else (self._absolute, self.beside)
        found = first(path, name, accepts)
        if found is None:
            found = second(path, name, accepts)
        if found is None:
            found = self._record(path, name, accepts)
        return self.find(name, accepts) if found is None else found

    def _absolute(self, path: str, name: str, accepts: Accepts) -> int | None:
        return self.literal(name, accepts)

    def _record(self, path: str, name: str, accepts: Accepts) -> int | None:
        """The record of a number in the folder of a path."""
        wanted = _RECORD.match(name.strip(" [#"))
        if wanted is None:
            return None
        folder = path.rpartition("/")[0]
        same = (
            number
            for number, other in enumerate(self.paths)
            if other.rpartition("/")[0] == folder
            and other != path
            and (numbered := _NUMBERED.match(other.rpartition("/")[2])) is not None
            and int(numbered["number"]) == int(wanted["number"])
        )
        return self._first(same, accepts)

    def _find(self, name: str, accepts: Accepts) -> int | None:
        found = self.literal(name, accepts)
        keys = self._keys(name)
        for key in keys:
            if found is None:
                found = self._first(self._folded.get(key.casefold(), ()), accepts)
        for key in keys:
            if found is None and key and "://" not in name:
                found = self._wiki(key, accepts)
        return found

    def _wiki(self, key: str, accepts: Accepts) -> int | None:
        """A page by its file's name, or the end of its path, or its title where only one page has it."""
        folded = key.casefold()
        stem = folded.rpartition("/")[2]
        same = [n for n in self._stems.get(stem, ()) if f"/{bare(self.paths[n]).casefold()}".endswith(f"/{folded}")]
        found = self._first(
            sorted(same, key=lambda n: (self.ranks[n], self.paths[n].count("/"), self.paths[n])), accepts
        )
        if found is None:
            titled = [n for n in self._titled.get(folded, ()) if accepts(n)]
            found = titled[0] if len({self.uris[n] for n in titled}) == 1 else None
        return found

    def _keys(self, name: str) -> list[str]:
        """A name in its spellings, each also as a path where it bears the scheme of the knowledge base."""
        own = f"{self.scheme}://"
        keys = [key for spelling in spellings(name) for key in (spelling, spelling.removeprefix(own))]
        return list(dict.fromkeys(keys))

    def _first(self, documents: Iterable[int], accepts: Accepts) -> int | None:
        return next((number for number in documents if accepts(number)), None)

    def _with_uri(self, uri: str) -> Iterable[int]:
        at = bisect_left(self.uris, uri)
        while at < len(self.uris) and self.uris[at] == uri:
            yield at
            at += 1

    def _table(self, names: Callable[[int], Iterable[str]]) -> dict[str, list[int]]:
        """Each name with its documents: the lower rank first, and of equals the better suffix and file name."""
        table: dict[str, list[int]] = {}
        for number in range(len(self.uris)):
            for name in names(number):
                table.setdefault(name, []).append(number)
        for documents in table.values():
            if len(documents) > 1:
                documents.sort(key=self._precedence)
        return table

    def _precedence(self, number: int) -> tuple[int, int, int, str]:
        path = self.paths[number]
        stem = without_suffix(path).rpartition("/")[2].lower()
        as_index = INDEX_STEMS.index(stem) if stem in INDEX_STEMS else len(INDEX_STEMS)
        suffix = next((at for at, suffix in enumerate(MARKDOWN_SUFFIXES) if path.lower().endswith(suffix)), 0)
        return self.ranks[number], as_index, suffix, path

    @cached_property
    def _by_path(self) -> dict[str, list[int]]:
        return self._table(lambda number: (self.paths[number],))

    @cached_property
    def _names(self) -> dict[str, list[int]]:
        def names(number: int) -> set[str]:
            return {bare(self.uris[number]), bare(self.paths[number])}

        return self._table(names)

    @cached_property
    def _folders(self) -> dict[str, list[int]]:
        def names(number: int) -> tuple[str, ...]:
            folder = folder_of(self.paths[number])
            return () if folder is None else (bare(folder),)

        return self._table(names)

    @cached_property
    def _aliased(self) -> dict[str, int]:
        return {alias.casefold(): number for alias, number in self.aliases.items()}

    @cached_property
    def _folded(self) -> dict[str, list[int]]:
        """Literal names without regard to case."""
        table: dict[str, list[int]] = {}
        for names in (self._names, self._folders, {alias: [number] for alias, number in self.aliases.items()}):
            for name, documents in names.items():
                table.setdefault(name.casefold(), []).extend(documents)
        return table

    @cached_property
    def _stems(self) -> dict[str, list[int]]:
        return self._table(lambda number: (bare(self.paths[number]).casefold().rpartition("/")[2],))

    @cached_property
    def _titled(self) -> dict[str, list[int]]:
        return self._table(lambda number: (" ".join(self.titles[number].split()).casefold(),))
