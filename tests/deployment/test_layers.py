"""The layers of the encoders: locked like everything else, and enough to encode with what the functions have."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

import pytest
from tests.corpora import CHECKOUT

LOCKED = re.compile(r"^[\w.-]+==[^ ]+ \\\n(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+", re.MULTILINE)
LAYERS = {"small": "lamina.encoders.small.SmallEncoder", "static": "lamina.encoders.static.StaticEncoder"}
NOT_NEEDED = ("flatbuffers", "google.protobuf", "huggingface_hub", "sympy")


def _locked(path: str) -> list[str]:
    return LOCKED.findall((CHECKOUT / path).read_text("utf-8"))


def _packages(path: str) -> Iterator[str]:
    for lock in _locked(path):
        yield lock.partition("==")[0]


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_holds_what_the_lock_of_the_project_names(layer: str) -> None:
    assert _locked(f"layers/{layer}.txt")
    assert {*_locked(f"layers/{layer}.txt")} <= {*_locked("requirements.txt")}


@pytest.mark.parametrize("layer", LAYERS)
def test_two_layers_encode_without_any_other_package(layer: str, tmp_path: Path) -> None:
    _linked({"numpy", *_packages(f"layers/{layer}.txt")}, tmp_path)
    (tmp_path / "lamina").symlink_to(CHECKOUT / "shared" / "lamina")
    module, _, name = LAYERS[layer].rpartition(".")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        f"from {module} import {name}, is_installed\n"
        "assert is_installed()\n"
        f"assert len({name}().query('how deep is the river')) == {name}.dimensions\n"
        f"print([name for name in {NOT_NEEDED!r} if name in sys.modules])"
    )
    command = [sys.executable, "-I", "-S", "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (run.returncode, run.stdout.strip()) == (0, "[]"), run.stderr


def _linked(packages: set[str], folder: Path) -> None:
    """Links to what the packages installed, and to nothing else."""
    for package in packages:
        installed = distribution(package)
        for top in {file.parts[0] for file in installed.files or ()} - {"..", "__pycache__"}:
            (folder / top).symlink_to(Path(str(installed.locate_file(top))))
