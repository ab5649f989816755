"""Importing touches nothing: any module, by itself, without environment, files or network."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.architecture.test_layers import modules
from tests.corpora import CHECKOUT

# Third-party libraries are loaded first, since what they read is theirs; then each module is imported in a
# fork of its own, so that none profits from another's imports, with every access outside noted.
_PROBE = """
import importlib, json, os, sys, sysconfig, traceback
for name in sys.argv[1].split(","):
    try:
        importlib.import_module(name)
    except ImportError:
        pass
libraries = tuple({os.path.realpath(p) for p in (*sysconfig.get_paths().values(), *sys.path, sys.prefix) if p})
code = (".py", ".pyc", ".so")
events = []

def hook(event, arguments):
    if event == "open":
        path = arguments[0]
        if isinstance(path, int):
            return
        path, flags = os.path.realpath(os.fsdecode(path)), arguments[2] or 0
        writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        if writes or not path.startswith(libraries) or not (path.endswith(code) or "site-packages" in path):
            events.append(f"open {path}")
    elif event.startswith(("socket.", "subprocess.", "os.mkdir", "os.remove", "os.rename", "sqlite3.", "urllib.")):
        events.append(event)

class Environment(dict):
    def __getitem__(self, key):
        events.append(f"environment {key}") if _ours() else None
        return super().__getitem__(key)
    def get(self, key, default=None):
        events.append(f"environment {key}") if _ours() else None
        return super().get(key, default)

def _ours():
    return os.sep + "lamina" + os.sep in sys._getframe(2).f_code.co_filename

found = {}
for name in sys.argv[2:]:
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.environ = Environment(os.environ)
        sys.addaudithook(hook)
        try:
            importlib.import_module(name)
        except BaseException:
            events.append(traceback.format_exc(limit=-3))
        os.write(writer, json.dumps(events).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        events_of = json.loads(pipe.read() or '["the process died"]')
    os.wait()
    if events_of:
        found[name] = events_of
print(json.dumps(found))
"""
_LIBRARIES = "pydantic,numpy,yaml,markdown_it,Stemmer,toktok,botocore.session,boto3,urllib3,rank_bm25,rich.console,rich.table,rich.markdown,rich.progress,sqlite3,aws_lambda_powertools,http.server,asyncio,mcp"


def test_every_module_can_be_imported_by_itself_touching_nothing(tmp_path: Path) -> None:
    names = modules()
    run = subprocess.run(
        [sys.executable, "-B", "-c", _PROBE, _LIBRARIES, *names],
        env={"PYTHONPATH": str(CHECKOUT / "shared")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    assert len(names) > 60
    assert json.loads(run.stdout) == {}
    assert list(tmp_path.iterdir()) == []


def test_the_probe_would_notice(tmp_path: Path) -> None:
    package = tmp_path / "lamina"
    package.mkdir()
    (tmp_path / "note.txt").write_text("x")
    (package / "reads.py").write_text("import os\nos.environ.get('HOME')\n")
    (package / "opens.py").write_text("from pathlib import Path\nPath('note.txt').read_text()\n")
    (package / "dials.py").write_text("import socket\nsocket.socket()\n")
    (package / "fails.py").write_text("1 / 0\n")
    (package / "pure.py").write_text("x = 1\n")
    names = [f"lamina.{name}" for name in ("reads", "opens", "dials", "fails", "pure")]
    run = subprocess.run(
        [sys.executable, "-B", "-c", _PROBE, "socket", *names],
        env={"PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    found = json.loads(run.stdout)
    assert sorted(found) == sorted(names[:4])
    assert found["lamina.reads"] == ["environment HOME"]
