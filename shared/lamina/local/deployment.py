"""A deployment on one's own machine: its data folder, and the baseline and overlays that it was told of."""

from __future__ import annotations

import argparse
import errno
import json
import os
from dataclasses import dataclass, field, replace
from pathlib import Path

from lamina.encoders.choice import check
from lamina.sources.address import Address, AddressError, AllowList, FolderAddress, parse_address

DEFAULT_DATA = Path(".lamina")
DEFAULT_PORT = 8787
_FILE = "deployment.json"
_CHECKOUT = Path(__file__).resolve().parents[3]
TEMPLATE = _CHECKOUT / "template.yaml"
SAMPLES = _CHECKOUT / "samples"


class DeploymentError(Exception):
    """The machine or the command line is not as it must be; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """What is served: addresses as typed, folders made absolute. `settings` is a settings file by name.

    `encoder` is what finds pages in other words; None leaves it to LAMINA_ENCODER, else to what is installed.
    """

    data: Path
    baseline: str
    allow: tuple[str, ...] = ()
    settings: dict[str, str] = field(default_factory=dict)
    encoder: str | None = None

    def save(self) -> None:
        """Remembers the deployment for the commands that follow. Raises DeploymentError where it cannot."""
        content = {
            "baseline": self.baseline,
            "allow": list(self.allow),
            "settings": self.settings,
            "encoder": self.encoder,
        }
        draft = self.data / f"{_FILE}.new"
        try:
            draft.write_text(json.dumps(content, indent=1), "utf-8")
            draft.replace(self.data / _FILE)
        except OSError as error:
            raise _unusable(self.data, error) from error

    def make_folder(self) -> None:
        """Makes the data folder where there is none. Raises DeploymentError where it cannot be written."""
        try:
            self.data.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unusable(self.data, error) from error
        if not os.access(self.data, os.W_OK | os.X_OK):
            raise _unusable(self.data, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))

    def environment(self) -> dict[str, str]:
        """The variables under which a function of this deployment runs."""
        return {
            "LAMINA_DATA": str(self.data),
            "LAMINA_BASELINE": self.baseline,
            "LAMINA_ALLOW": "\n".join(self.allow),
            "LAMINA_SNAPSHOT_TTL": "1",
            "LAMINA_ENCODER": self.encoder or os.environ.get("LAMINA_ENCODER", ""),
        }

    def address(self) -> Address:
        """Where the baseline comes from."""
        return parse_address(self.baseline, allow_folders=True)

    def allow_list(self) -> AllowList:
        """The overlays that calls may name."""
        return AllowList.parse(self.allow, allow_folders=True)


def remembered(data: Path) -> Deployment | None:
    """The deployment that a data folder was made for. Raises DeploymentError where its file is damaged."""
    path = data / _FILE
    try:
        content = json.loads(path.read_text("utf-8"))
        return Deployment(
            data.absolute(),
            content["baseline"],
            tuple(content["allow"]),
            content["settings"],
            content.get("encoder"),
        )
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unusable(data, error) from error
    except (ValueError, KeyError, TypeError) as error:
        raise DeploymentError(f"{path} is damaged. Remove it and run lamina index again.") from error


def existing(data: Path) -> Deployment:
    """The same, for commands that need an index. Raises DeploymentError where there is none."""
    known = remembered(data)
    if known is None:
        raise DeploymentError(f"there is no index in {data}. Run: lamina index FOLDER --data {data}")
    return known


def add_data_option(parser: argparse.ArgumentParser) -> None:
    """Adds `--data` to a command."""
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, help="folder that keeps everything (.lamina/)")


def chosen(
    data: Path, baseline: str | None, allow: list[str], settings: list[str], encoder: str | None = None
) -> Deployment:
    """What the command line says, else what the data folder was made for, else the sample.

    Raises DeploymentError for addresses and encoders that cannot be used.
    """
    if encoder is not None:
        try:
            check(encoder)
        except ValueError as error:
            raise DeploymentError(f"--encoder {error}.") from error
        return replace(chosen(data, baseline, allow, settings), encoder=encoder)
    known = remembered(data) if baseline is None else None
    if known is not None and not allow and not settings:
        return known
    if baseline is None:
        sample = Deployment(data, str(SAMPLES / "handbook"), (f"gauge-firmware={SAMPLES / 'gauge-firmware'}",))
        before = known or sample
        baseline, allow = before.baseline, allow or list(before.allow)
    try:
        deployment = Deployment(data.absolute(), _absolute(baseline), tuple(map(_entry, allow)))
        names = ["baseline", *(overlay.name for overlay in deployment.allow_list().named)]
    except AddressError as error:
        raise DeploymentError(f"{error}.") from error
    given = dict(map(_setting, settings))
    for name in given:
        if name not in names:
            raise DeploymentError(f"--settings {name}=FILE names no knowledge base. Use one of {', '.join(names)}.")
    kept = {name: text for name, text in known.settings.items() if name in names} if known else {}
    return replace(deployment, settings={**kept, **given}, encoder=known.encoder if known else None)


def _entry(entry: str) -> str:
    name, equals, address = entry.partition("=")
    return f"{name}={_absolute(address)}" if equals and "://" not in name else entry


def _absolute(address: str) -> str:
    """A folder as an absolute path, checked to be one; any other address as it is."""
    try:
        parsed = parse_address(address, allow_folders=True)
    except AddressError as error:
        raise DeploymentError(f"{address!r} is no knowledge base: {error}. A folder is given by its path.") from error
    if not isinstance(parsed, FolderAddress):
        return address
    path = Path(address).expanduser().resolve()
    if not path.exists():
        hint = f" For the repository, write https://{address}." if address.startswith("github.com/") else ""
        raise DeploymentError(f"there is no folder {address}. Give the folder that holds the Markdown files.{hint}")
    if not path.is_dir():
        raise DeploymentError(f"{address} is a file. Give the folder that holds the Markdown files.")
    return str(path)


def _unusable(data: Path, error: OSError) -> DeploymentError:
    return DeploymentError(
        f"the data folder {data} cannot be used: {error.strerror}. Choose another with --data, or see: lamina doctor"
    )


def _setting(entry: str) -> tuple[str, str]:
    name, equals, file = entry.partition("=")
    if not equals or not Path(file).is_file():
        raise DeploymentError(f"--settings takes NAME=FILE, with a file that exists; {entry!r} is not that.")
    return name, Path(file).read_text("utf-8")
