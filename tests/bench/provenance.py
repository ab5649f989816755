"""Where figures come from: when, which commit, which machine, which versions, which texts."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.corpora import CHECKOUT

_PACKAGES = ("numpy", "pydantic", "botocore", "PyStemmer", "toktok-rs", "rank-bm25", "bm25s")


def provenance() -> dict[str, Any]:
    """What has to be known to measure again, as plain data."""
    import sqlite3

    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _git("rev-parse", "HEAD"),
        "changed_since": bool(_git("status", "--porcelain")),
        "python": sys.version.split()[0],
        "machine": platform.machine(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load_average": [round(entry, 2) for entry in os.getloadavg()],
        "memory_mb": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20,
        "system": platform.platform(),
        "versions": {name: version(name) for name in _PACKAGES} | {"sqlite": sqlite3.sqlite_version},
    }


def checksum(files: Iterable[tuple[str, bytes]]) -> str:
    """SHA-256 over names and contents in order of names."""
    digest = hashlib.sha256()
    for name, content in sorted(files):
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def _git(*arguments: str) -> str | None:
    run = subprocess.run(["git", *arguments], cwd=CHECKOUT, capture_output=True, text=True, check=False)
    return run.stdout.strip() if run.returncode == 0 else None


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if not information.is_file():
        return platform.processor()
    names = [line for line in information.read_text().splitlines() if line.startswith("model name")]
    return names[0].partition(":")[2].strip() if names else platform.processor()
