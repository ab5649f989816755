"""The layers of the package, as import-linter reads them from pyproject.toml."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.corpora import CHECKOUT

PACKAGE = CHECKOUT / "shared" / "lamina"
HANDLERS = sorted((CHECKOUT / "functions").glob("*/app.py"))
MOST_LINES = 400
LONGEST_HANDLER = 6


def modules() -> list[str]:
    """The dotted name of every module of the package."""
    paths = (path.relative_to(PACKAGE.parent).with_suffix("") for path in sorted(PACKAGE.rglob("*.py")))
    return [".".join(path.parts).removesuffix(".__init__") for path in paths]


def test_every_import_goes_down(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-c",
        "from importlinter.cli import lint_imports_command; lint_imports_command()",
        "--no-cache",
        str(CHECKOUT / "pyproject.toml"),
    ]
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT / "shared")}
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("path", HANDLERS, ids=lambda path: path.parent.name)
def test_a_handler_only_composes(path: Path) -> None:
    module = ast.parse(path.read_text("utf-8"))
    assert ast.get_docstring(module), "says what it is"
    statements = [entry for line in module.body[1:] for entry in (line.body if isinstance(line, ast.With) else [line])]
    assert len(statements) <= LONGEST_HANDLER
    assert all(isinstance(entry, ast.Import | ast.ImportFrom | ast.Assign) for entry in statements)
    assert any(
        isinstance(entry, ast.Assign) and isinstance(entry.targets[0], ast.Name) and entry.targets[0].id == "handler"
        for entry in statements
    )


def test_no_module_is_too_long_to_read() -> None:
    folders = (PACKAGE, CHECKOUT / "functions", CHECKOUT / "tests")
    lengths = {
        str(path.relative_to(CHECKOUT)): len(path.read_text("utf-8").splitlines())
        for folder in folders
        for path in folder.rglob("*.py")
    }
    assert len(lengths) > 50
    assert {path: lines for path, lines in lengths.items() if lines > MOST_LINES} == {}


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_opens_with_what_it_decides(path: Path) -> None:
    module = ast.parse(path.read_text("utf-8"))
    if not module.body and path.name == "__init__.py":
        return
    docstring = ast.get_docstring(module)
    assert docstring
    assert len(docstring.split("\n\n", maxsplit=1)[0].splitlines()) <= 3
