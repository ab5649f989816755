"""Importing touches nothing: every module, without environment, files or network, in whatever order."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.architecture.test_layers import modules
from tests.corpora import CHECKOUT

# Third-party libraries are loaded first, since what they read is theirs; then every access outside is noted.
_PROBE = """
import importlib, json, os, sys, sysconfig, traceback
libraries, package, names = sys.argv[1].split(","), sys.argv[2], sys.argv[3:]
for name in libraries:
    try:
        importlib.import_module(name)
    except ImportError:
        pass
roots = tuple({os.path.realpath(p) for p in (*sysconfig.get_paths().values(), *sys.path, sys.prefix) if p})
code = (".py", ".pyc", ".so")
events = []
network = ("socket.", "subprocess.", "sqlite3.", "urllib.")
changes = ("os.mkdir", "os.remove", "os.rename", "os.chmod")

def hook(event, arguments):
    if event == "open" and not isinstance(arguments[0], int):
        path, flags = os.path.realpath(os.fsdecode(arguments[0])), arguments[2] or 0
        writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        is_code = path in roots or (path.startswith(roots) and (path.endswith(code) or "site-packages" in path))
        if writes or not is_code:
            events.append(f"open {path}")
    elif event.startswith(network + changes):
        events.append(event)

class Environment(dict):
    def __getitem__(self, key):
        note(key)
        return super().__getitem__(key)

    def get(self, key, default=None):
        note(key)
        return super().get(key, default)

def note(key):
    if f"{os.sep}{package}{os.sep}" in sys._getframe(2).f_code.co_filename:
        events.append(f"environment {key}")

found = {}
os.environ = Environment(os.environ)
sys.addaudithook(hook)
for name in names:
    events.clear()
    try:
        importlib.import_module(name)
    except BaseException:
        events.append(traceback.format_exc(limit=-3))
    if events:
        found[name] = list(events)
print(json.dumps(found))
"""
_LIBRARIES = (
    "pydantic,numpy,yaml,markdown_it,Stemmer,toktok,botocore.session,boto3,urllib3,rank_bm25,rich.console,rich.table,"
    "rich.markdown,rich.progress,sqlite3,aws_lambda_powertools,waitress.server,asyncio"
)


def probe(libraries: str, package: str, names: list[str], path: Path, folder: Path) -> dict[str, list[str]]:
    """What the import of each module touched, in an empty environment and an empty folder."""
    run = subprocess.run(
        [sys.executable, "-B", "-c", _PROBE, libraries, package, *names],
        env={"PYTHONPATH": str(path)},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    found: dict[str, list[str]] = json.loads(run.stdout)
    return found


@pytest.mark.parametrize("backwards", [False, True])
def test_every_module_can_be_imported_touching_nothing(tmp_path: Path, backwards: bool) -> None:
    names = sorted(modules(), reverse=backwards)
    assert len(names) > 60
    assert probe(_LIBRARIES, "lamina", names, CHECKOUT / "shared", tmp_path) == {}
    assert list(tmp_path.iterdir()) == []


def test_the_probe_would_notice(tmp_path: Path) -> None:
    package = tmp_path / "probed"
    package.mkdir()
    (tmp_path / "note.txt").write_text("x")
    for name, text in {
        "reads": "import os\nos.environ.get('HOME')\n",
        "opens": "from pathlib import Path\nPath('note.txt').read_text()\n",
        "dials": "import socket\nsocket.socket()\n",
        "fails": "1 / 0\n",
        "pure": "x = 1\n",
    }.items():
        (package / f"{name}.py").write_text(text)
    names = [f"probed.{name}" for name in ("reads", "opens", "dials", "fails", "pure")]
    found = probe("socket", "probed", names, tmp_path, tmp_path)
    assert list(found) == names[:4]
    assert found["probed.reads"] == ["environment HOME"]
