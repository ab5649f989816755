"""Deployments made for tests: Markdown in folders, indexed by the product itself into a data folder."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from lamina.encoders.choice import EncoderChoice
from lamina.indexer.indexing import Feed, Indexer
from lamina.runtime.settings import Settings
from lamina.runtime.signing import local_key
from lamina.runtime.wiring import Runtime, compose
from lamina.sources.folder import FolderSource
from lamina.stores.folder import FolderStore

CHECKOUT = Path(__file__).resolve().parents[1]
SAMPLES = CHECKOUT / "samples"
REAL = CHECKOUT.parent / "shared" / "kb"
NOT_AT_HAND = "what lies in ../shared (real knowledge bases, judged queries, small inputs) is not at hand"

_KINDS = ("canon", "docs", "journals", "essays", "apocrypha")
_PREFIXES = {
    "canon/apocrypha/": "apocrypha",
    "canon/": "canon",
    "docs/": "docs",
    "odd/": "journals",
    "writings/": "essays",
    "apocrypha/": "apocrypha",
}


@dataclass(frozen=True, slots=True)
class Deployed:
    """A baseline folder, its overlays by name, and the data folder that holds their indexes."""

    data: Path
    baseline: Path
    overlays: Mapping[str, Path] = field(default_factory=dict)
    encoder: str = "none"

    def index(self) -> None:
        """Brings every index up to date with its folders."""
        indexer = Indexer(
            FolderStore(self.data / "store"),
            lambda: local_key(self.data / "signing.key"),
            encoders=EncoderChoice(self.encoder),
        )
        baseline = Feed(FolderSource(self.baseline))
        indexer.index(None, baseline, None)
        for name, folder in self.overlays.items():
            indexer.index(name, baseline, Feed(FolderSource(folder)))

    def signing_key(self) -> bytes:
        """The key that signs what is stored."""
        return local_key(self.data / "signing.key")

    def environment(self) -> dict[str, str]:
        """The variables under which the functions answer from this deployment; every call looks for a newer index."""
        return {
            "LAMINA_DATA": str(self.data),
            "LAMINA_BASELINE": str(self.baseline),
            "LAMINA_ALLOW": "\n".join(f"{name}={folder}" for name, folder in self.overlays.items()),
            "LAMINA_SNAPSHOT_TTL": "0",
            "LAMINA_BODY_LIMIT": "1000000",
            "LAMINA_ENCODER": self.encoder,
        }

    def runtime(self) -> Runtime:
        """A runtime of its own over this deployment."""
        return compose(Settings.of(self.environment()))


def write(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """The files in a folder, text as UTF-8 without any change of line ends."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def page(title: str, body: str = "Text.", **frontmatter: Any) -> str:
    """A document: frontmatter of JSON-like values, an H1 and a body."""
    fields = yaml.safe_dump({"title": title, **frontmatter}, sort_keys=False)
    return f"---\n{fields}---\n\n# {title}\n\n{body}\n"


def unpacked(archive: str, folder: Path) -> Path:
    """The folder that an archive of real documents was unpacked into."""
    with tarfile.open(REAL / archive) as tar:
        tar.extractall(folder, filter="data")
    return folder


@dataclass(frozen=True, slots=True)
class Fact:
    """What a plain reading of a file says of it, without the product: the oracle of the filters."""

    path: str
    uri: str
    kind: str
    metadata: Mapping[str, Any]

    def has(self, name: str, *values: Any) -> bool:
        """Whether a field holds, or is, one of the values."""
        held = self.metadata.get(name)
        return any(item in values for item in (held if isinstance(held, list) else [held]))


def facts(folder: Path, scheme: str, ignored: str | None = None) -> list[Fact]:
    """Every Markdown file of a folder outside dot-folders and one ignored folder.

    Of several of one URI the published page has it, the others one of their path.
    """
    found: dict[str, Fact] = {}
    for path in sorted(_markdown(folder)):
        if ignored is not None and path.startswith(ignored):
            continue
        metadata = _frontmatter((folder / path).read_text("utf-8"))
        declared = metadata.get("uri")
        uri = declared if isinstance(declared, str) else f"{scheme}://{path.removesuffix('.md')}"
        kind = metadata.get("kind")
        if kind not in _KINDS:
            fitting = [prefix for prefix in _PREFIXES if path.startswith(prefix)]
            kind = _PREFIXES[max(fitting, key=len)] if fitting else "docs"
        fact = Fact(path, uri, kind, metadata)
        if uri in found:
            first, other = sorted((found[uri], fact), key=lambda each: not each.has("exposure", "public", "nav"))
            found[uri] = first
            fact = replace(other, uri=f"{scheme}://{other.path.removesuffix('.md')}")
        found[fact.uri] = fact
    return list(found.values())


def _markdown(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*.md"):
        relative = PurePosixPath(path.relative_to(folder).as_posix())
        if not any(part.startswith(".") for part in relative.parts[:-1]):
            yield str(relative)


def _frontmatter(text: str) -> dict[str, Any]:
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return {}
    end = next(number for number, line in enumerate(lines[1:], start=1) if line.rstrip() == "---")
    loaded = yaml.safe_load("\n".join(lines[1:end]))
    return loaded if isinstance(loaded, dict) else {}
