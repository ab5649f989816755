"""The composition root of the knowledge contract: an address → the workspace there, over folder or AWS."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from lamina.contract.ids import sha256_hex
from lamina.contract.ports import (
    KnowledgeLedger,
    NoteFolder,
    ObjectStore,
    Source,
    SourceTree,
    StoreUnavailable,
)
from lamina.corpus.config import InvalidSettings, parse_settings
from lamina.knowledge.index_cache import IndexCache
from lamina.knowledge.service import KnowledgeService
from lamina.knowledge.workspace import Workspace
from lamina.runtime.settings import Settings
from lamina.runtime.signing import InsecureKey, local_key, secret_of, signing_key_of
from lamina.runtime.wiring import SourceOpener
from lamina.sources.address import (
    Address,
    AddressError,
    BucketAddress,
    FolderAddress,
    GitHubAddress,
    parse_address,
)
from lamina.sources.bounds import selected

ROOT_VARIABLE = "KNOWLEDGE_ROOT"
TABLE_VARIABLE = "KNOWLEDGE_TABLE"
# Below the workspace, where no source looks: ledger, manifests, and notes before they are published.
STATE = ".lamina/knowledge"
_PUBLISHED = "knowledge"


@dataclass(frozen=True, slots=True)
class SettledSource:
    """A source without the files that its own settings leave out, as the index has it."""

    source: Source

    @property
    def url(self) -> str:
        """The address of the source."""
        return self.source.url

    def revision(self) -> str:
        """The revision of the source."""
        return self.source.revision()

    def fetch(self, revision: str) -> SourceTree:
        """The files of that revision that the settings leave in."""
        tree = self.source.fetch(revision)
        try:
            ignore = parse_settings(tree.settings).ignore
        except InvalidSettings:
            return tree
        kept = set(selected((file.path for file in tree.files), ignore))
        return replace(tree, files=tuple(file for file in tree.files if file.path in kept))


@dataclass(frozen=True, slots=True)
class LayeredSource:
    """A repository that notes cannot be written to, with the notes that lie beside it."""

    repository: Source
    notes: Source

    @property
    def url(self) -> str:
        """The address of the repository."""
        return self.repository.url

    def revision(self) -> str:
        """A digest of both revisions."""
        return sha256_hex(f"{self.repository.revision()}\n{self.notes.revision()}".encode())

    def fetch(self, revision: str) -> SourceTree:
        """The files of both; the repository's own file wins under the same path."""
        tree = self.repository.fetch(self.repository.revision())
        notes = self.notes.fetch(self.notes.revision())
        taken = {file.path for file in tree.files}
        added = tuple(note for note in notes.files if note.path not in taken)
        return replace(tree, revision=revision, files=(*tree.files, *added))


@cache
def wire_knowledge() -> KnowledgeService:
    """The service of this process's one workspace."""
    return compose_knowledge(Settings.of(os.environ), os.environ)


def compose_knowledge(settings: Settings, environment: Mapping[str, str]) -> KnowledgeService:
    """The service of the workspace that the environment names; locally, by default, of the baseline's folder."""
    root = environment.get(ROOT_VARIABLE) or _default_root(settings)
    return open_service(root, settings, environment.get(TABLE_VARIABLE))


def open_service(root: str, settings: Settings, table: str | None = None) -> KnowledgeService:
    """The service of the workspace at an address. Raises as `open_workspace` does."""
    workspace = open_workspace(root, settings, table)
    if isinstance(parse_address(root, allow_folders=True), FolderAddress):
        signing_key = _folder_key(Path(workspace.root) / STATE / "signing.key")
    else:
        signing_key = signing_key_of(settings)
    return KnowledgeService(
        workspace,
        build=settings.version,
        kept=IndexCache(workspace.objects, signing_key),
        log_tracebacks=settings.data is not None,
    )


def open_workspace(root: str, settings: Settings, table: str | None = None) -> Workspace:
    """The workspace at an address; nothing is read or made yet.

    Raises AddressError for what is no address, ValueError where an address on AWS comes without its table.
    """
    address = parse_address(root, allow_folders=True)
    if isinstance(address, FolderAddress):
        return _folder_workspace(address.path)
    if not table:
        raise ValueError(f"a workspace on AWS needs its table: set {TABLE_VARIABLE}")
    return _aws_workspace(address, settings, table)


def _folder_key(path: Path) -> Callable[[], bytes]:
    """A function that gives a workspace's own key. Raises StoreUnavailable where it is not to be had."""

    def key() -> bytes:
        try:
            return local_key(path)
        except (InsecureKey, OSError) as error:
            raise StoreUnavailable(f"no key to keep the index with: {type(error).__name__}") from error

    return cache(key)


def _default_root(settings: Settings) -> str:
    try:
        baseline = parse_address(settings.baseline or "", allow_folders=settings.data is not None)
    except AddressError:
        return str(Path.cwd())
    return baseline.url if isinstance(baseline, FolderAddress) else str(Path.cwd())


def _folder_workspace(folder: Path) -> Workspace:
    from lamina.sources.folder import FolderSource
    from lamina.stores.folder import FolderStore
    from lamina.stores.knowledge_sqlite import SqliteLedger
    from lamina.stores.note_folder import NoteFiles

    named = Path(os.path.abspath(folder.expanduser()))  # noqa: PTH100 - Path.absolute leaves `..` in
    root = named.resolve()
    state = root / STATE
    return _workspace(
        str(root),
        # A client may know the folder by a link to it.
        frozenset({str(root), str(named), f"{root}/", f"{named}/"}),
        FolderSource(root),
        SqliteLedger(state / "ledger.sqlite"),
        FolderStore(state / "objects"),
        NoteFiles(root, state / "writing"),
    )


def _aws_workspace(address: Address, settings: Settings, table: str) -> Workspace:
    from lamina.sources.bucket import BucketSource
    from lamina.stores.aws import make_client
    from lamina.stores.knowledge_dynamodb import DynamoLedger
    from lamina.stores.s3 import S3Store

    client = make_client("s3")
    if isinstance(address, BucketAddress):
        notes_at, source = address, BucketSource(client, address)
        feed: Source = source
    else:
        if settings.bucket is None or not isinstance(address, GitHubAddress):
            raise ValueError("a repository's notes need a bucket: set LAMINA_BUCKET")
        # The notes of a repository lie in the deployment's bucket, a prefix a repository.
        name = sha256_hex("/".join(address.identity).encode())[:32]
        notes_at = BucketAddress(settings.bucket, f"{_PUBLISHED}/{name}")
        token = secret_of(settings, settings.github_secret, "github.token")
        opener = SourceOpener(lambda: (token() or b"").decode().strip() or None)
        feed = LayeredSource(opener.open(address), BucketSource(client, notes_at))
    below = f"{notes_at.prefix}/" if notes_at.prefix else ""
    return _workspace(
        address.url,
        frozenset({address.url, f"{address.url}/"}),
        feed,
        DynamoLedger(make_client("dynamodb"), table, address.url),
        S3Store(client, notes_at.bucket, f"{below}{STATE}/"),
        S3Store(client, notes_at.bucket, below),
    )


def _workspace(
    root: str,
    roots: frozenset[str],
    source: Source,
    ledger: KnowledgeLedger,
    objects: ObjectStore,
    notes: NoteFolder,
) -> Workspace:
    return Workspace(
        root=root,
        roots=roots,
        source=SettledSource(source),
        ledger=ledger,
        objects=objects,
        notes=notes,
        now=lambda: datetime.now(UTC).isoformat(timespec="microseconds"),
        new_guid=lambda: str(uuid.uuid4()),
    )
