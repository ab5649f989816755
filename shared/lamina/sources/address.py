"""Which addresses name a knowledge base, and which of them a deployment allows: decided before connecting."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lamina.contract.errors import LaminaError
from lamina.sources.bounds import path_problem

LONGEST_ADDRESS = 2048

_GITHUB = re.compile(r"https://github\.com/(?P<rest>.*)", re.IGNORECASE | re.ASCII)
_S3 = re.compile(r"s3://(?P<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(/(?P<prefix>.*))?")
_OWNER = re.compile(r"[A-Za-z0-9](-?[A-Za-z0-9]){0,38}")
_REPOSITORY = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}")
_REF = re.compile(r"(?![.-])[A-Za-z0-9._+-]{1,200}(?<!\.)(?<!\.lock)")
_COMMIT = re.compile(r"[0-9a-fA-F]{4,64}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
# Nothing in an address that means one thing here and another to a client or a host.
_UNCLEAR = re.compile(r"[\x00-\x20\x7f-\xa0\\%?#]")
_PRIVATE = "private:"


class AddressError(ValueError):
    """The text is no address of a knowledge base; the message says why and is safe to show."""


@dataclass(frozen=True, slots=True)
class GitHubAddress:
    """A repository, or a folder of it. `ref` None is the default branch, `subdir` "" the whole tree."""

    owner: str
    repository: str
    ref: str | None = None
    subdir: str = ""

    @property
    def url(self) -> str:
        """The one spelling that equal addresses share but for the case of owner and repository."""
        tree = f"/tree/{self.ref}" if self.ref else ""
        folder = f"/{self.subdir}" if self.subdir else ""
        return f"https://github.com/{self.owner}/{self.repository}{tree}{folder}"

    @property
    def identity(self) -> tuple[str, ...]:
        """What two addresses of the same knowledge base have in common."""
        return ("github", self.owner.lower(), self.repository.lower(), self.ref or "", self.subdir)


@dataclass(frozen=True, slots=True)
class BucketAddress:
    """The objects of an S3 bucket below a prefix, which has no slash at its end."""

    bucket: str
    prefix: str = ""

    @property
    def url(self) -> str:
        """The canonical spelling."""
        return f"s3://{self.bucket}/{self.prefix}" if self.prefix else f"s3://{self.bucket}"

    @property
    def identity(self) -> tuple[str, ...]:
        """What two addresses of the same knowledge base have in common."""
        return ("s3", self.bucket, self.prefix)


@dataclass(frozen=True, slots=True)
class FolderAddress:
    """A folder of this machine."""

    path: Path

    @property
    def url(self) -> str:
        """The folder as it was named."""
        return str(self.path)

    @property
    def identity(self) -> tuple[str, ...]:
        """What two addresses of the same knowledge base have in common."""
        return ("folder", os.path.normpath(self.path))


Address = GitHubAddress | BucketAddress | FolderAddress


def parse_address(url: str, *, allow_folders: bool = False) -> Address:
    """The address that `url` spells; AddressError for anything that is not exactly one of the forms.

    `https://github.com/OWNER/REPO[.git][/tree/REF[/SUBDIR]]` (REF is one path segment), `s3://BUCKET[/PREFIX]`,
    and, with `allow_folders`, the path of a folder.
    """
    if not url or len(url) > LONGEST_ADDRESS:
        raise AddressError(f"an address has between 1 and {LONGEST_ADDRESS} characters")
    if allow_folders and "://" not in url and "\0" not in url:
        return FolderAddress(Path(url))
    if _UNCLEAR.search(url):
        raise AddressError("an address has no spaces, control characters, backslashes, `%`, `?` or `#`")
    if match := _GITHUB.fullmatch(url):
        return _github(match["rest"].removesuffix("/"))
    if match := _S3.fullmatch(url):
        return BucketAddress(match["bucket"], _clean_folder((match["prefix"] or "").removesuffix("/")))
    raise AddressError("an address starts with https://github.com/ or s3://, without user, port or other host")


def _github(rest: str) -> GitHubAddress:
    owner, _, after_owner = rest.partition("/")
    repository, _, tree = after_owner.partition("/")
    repository = repository.removesuffix(".git")
    if repository.lower().endswith(".git"):
        raise AddressError("a repository's name does not end in `.git` once the ending `.git` is taken off")
    if rest.endswith("/") or not _OWNER.fullmatch(owner) or not _REPOSITORY.fullmatch(repository):
        raise AddressError("a GitHub address is https://github.com/OWNER/REPO, in the characters GitHub allows")
    if not tree:
        return GitHubAddress(owner, repository)
    keyword, _, after_keyword = tree.partition("/")
    ref, _, subdir = after_keyword.partition("/")
    if keyword != "tree" or not _REF.fullmatch(ref) or ".." in ref:
        raise AddressError("after OWNER/REPO comes nothing or /tree/REF[/SUBDIR], REF without slashes")
    return GitHubAddress(owner, repository, ref, _clean_folder(subdir))


def _clean_folder(folder: str) -> str:
    if folder and (problem := path_problem(folder)):
        raise AddressError(f"the folder in the address: {problem}")
    return folder


@dataclass(frozen=True, slots=True)
class AllowedKnowledgeBase:
    """A knowledge base that may be fetched: `name` is what telemetry may say of it.

    `private` ones answer only callers with a key.
    """

    name: str
    address: Address
    private: bool = False

    @property
    def url(self) -> str:
        """The address as the allow list names it."""
        return self.address.url


@dataclass(frozen=True, slots=True)
class OwnerPattern:
    """All repositories of a GitHub owner."""

    owner: str
    private: bool = False


@dataclass(frozen=True, slots=True)
class AllowList:
    """The knowledge bases of a deployment."""

    named: tuple[AllowedKnowledgeBase, ...] = ()
    owners: tuple[OwnerPattern, ...] = ()
    allow_folders: bool = False

    @classmethod
    def parse(cls, entries: Iterable[str], *, allow_folders: bool = False) -> AllowList:
        """Reads entries `NAME=URL` and `https://github.com/OWNER/*`, each with `private:` before it or not.

        Raises AddressError for an entry that is neither, and for a name or address that appears twice.
        """
        named: list[AllowedKnowledgeBase] = []
        owners: list[OwnerPattern] = []
        for entry in (text.strip() for text in entries):
            private = entry.startswith(_PRIVATE)
            body = entry.removeprefix(_PRIVATE)
            pattern = _GITHUB.fullmatch(body)
            if pattern and pattern["rest"].endswith("/*"):
                owner = pattern["rest"].removesuffix("/*")
                if not _OWNER.fullmatch(owner):
                    raise AddressError(f"{entry!r}: an owner pattern is https://github.com/OWNER/*")
                owners.append(OwnerPattern(owner.lower(), private))
                continue
            name, equals, url = body.partition("=")
            if not equals or not _NAME.fullmatch(name):
                raise AddressError(
                    f"{entry!r}: an entry is NAME=ADDRESS, NAME of letters, digits, '.', '_' and '-', "
                    "or https://github.com/OWNER/*"
                )
            named.append(AllowedKnowledgeBase(name, parse_address(url, allow_folders=allow_folders), private))
        _refuse_doubles("name", [item.name for item in named])
        _refuse_doubles("address", [item.address.identity for item in named])
        return cls(tuple(named), tuple(owners), allow_folders)

    def resolve(self, name_or_url: str) -> AllowedKnowledgeBase:
        """The knowledge base of that name or address; LaminaError KNOWLEDGE_BASE_NOT_ALLOWED for all else."""
        by_name = next((item for item in self.named if item.name == name_or_url), None)
        if by_name is not None:
            return by_name
        try:
            address = parse_address(name_or_url, allow_folders=self.allow_folders)
        except AddressError as error:
            raise self._refusal(str(error)) from error
        by_address = next((item for item in self.named if item.address.identity == address.identity), None)
        if by_address is not None:
            return by_address
        if isinstance(address, GitHubAddress):
            return self._of_owner(address)
        raise self._refusal("it is not on the list")

    def _of_owner(self, address: GitHubAddress) -> AllowedKnowledgeBase:
        pattern = next((item for item in self.owners if item.owner == address.owner.lower()), None)
        if pattern is None:
            raise self._refusal("it is not on the list")
        # GitHub serves the commits of forks and pull requests under the parent's name, so a commit id that
        # a caller picks is not the owner's word.
        if address.ref and _COMMIT.fullmatch(address.ref):
            raise self._refusal("a commit id is allowed only where the list names it in full")
        # Another branch of a repository that is listed as private is private as well.
        private = pattern.private or any(
            item.private and item.address.identity[:3] == address.identity[:3] for item in self.named
        )
        name = "/".join(part for part in address.identity[1:] if part)
        return AllowedKnowledgeBase(name, address, private)

    def _refusal(self, why: str) -> LaminaError:
        names = [item.name for item in self.named if not item.private]
        remedy = f"Use one of {', '.join(names[:10])}" if names else "Leave knowledge_base_url out"
        return LaminaError(
            "KNOWLEDGE_BASE_NOT_ALLOWED",
            f"This knowledge base is not allowed here: {why}. {remedy}, or ask the operator to add it.",
            allowed_knowledge_bases=names,
        )


def _refuse_doubles(what: str, values: Sequence[object]) -> None:
    twice = next((value for value in values if values.count(value) > 1), None)
    if twice is not None:
        raise AddressError(f"the {what} {twice!r} is on the allow list twice")
