"""Order, pages and revisions: the same request gives the same bytes, and pages never drift."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Ask, Corpus, Deploy
from tests.corpora import CHECKOUT, Deployed, page, write
from tests.transports import Direct, Transport, exchange

from lamina.runtime.wiring import wire

KINDS = ["canon", "docs", "journals", "essays", "apocrypha"]
MAIN = {"search": {"query": "gauge done the"}, "preflight": {"task": "write a gauge note"}, "catalog": {}}

_ANSWERS = """
import sys
from pathlib import Path
from tests.corpora import Deployed
from tests.transports import Direct
deployed = Deployed(Path(sys.argv[1]), Path(sys.argv[2]), {"over": Path(sys.argv[3])})
deployed.index()
transport = Direct(("", 0))
for action, arguments in (
    ("catalog", {"disclosure": ["metadata"], "limit": 100, "include_legacy_envelope": True}),
    ("catalog", {"sort_by": "date", "order": "desc", "knowledge_base_url": "over"}),
    ("search", {"query": "gauge battery the cold", "disclosure": "summary", "include_legacy_envelope": True}),
    ("search", {"query": "gague", "knowledge_base_url": "over", "result_grouping": "grouped"}),
    ("search", {"query": "the of and", "audience": ["public", "canon"], "tags": ["constraint"]}),
    ("preflight", {"task": "write a note about batteries", "include_legacy_envelope": True}),
    ("get", {"uri": "docs/marked", "disclosure": ["metadata", "body"]}),
    ("get", {"uri": "rill://docs/battery", "disclosure": ["blockquote", "body"]}),
    ("catalog", {"audience": "nobody"}),
    ("search", {"query": "gauge", "limits": 3}),
):
    print(transport.call(deployed, action, arguments).text)
"""


def test_two_processes_give_the_same_bytes_from_the_same_files(tmp_path: Path) -> None:
    marked = "---\ntitle: Marked\nset: !!set {a, b, c, d, e, f, g}\ntags: [x, y, z]\n---\n# Marked\n"
    folder = write(tmp_path / "kb", {"docs/marked.md": marked, "README.md": "# Read me\n"})
    for path in (CHECKOUT / "samples" / "handbook").rglob("*.md"):
        target = folder / path.relative_to(CHECKOUT / "samples" / "handbook")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    outputs = []
    for seed in ("1", "4242"):
        run = subprocess.run(
            [
                sys.executable,
                "-c",
                _ANSWERS,
                str(tmp_path / f"data-{seed}"),
                str(folder),
                str(CHECKOUT / "samples" / "gauge-firmware"),
            ],
            env={
                "PYTHONHASHSEED": seed,
                "PYTHONPATH": os.pathsep.join((str(CHECKOUT / "shared"), str(CHECKOUT))),
                "PATH": os.environ["PATH"],
            },
            cwd=tmp_path,
            capture_output=True,
            check=True,
            timeout=120,
        )
        outputs.append(run.stdout)
    assert outputs[0].count(b"\n") == 10
    assert b'"INVALID_PARAMETER"' in outputs[0]
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize("action", MAIN)
def test_every_transport_gives_the_same_bytes_twice(corpus: Corpus, transport: Transport, action: str) -> None:
    arguments = {**MAIN[action], "disclosure": ["summary", "blockquote"], "include": KINDS, "limit": 10}
    first = transport.call(corpus.deployed, action, arguments)
    assert first.text == transport.call(corpus.deployed, action, arguments).text
    assert first.text == Direct(("", 0)).call(corpus.deployed, action, arguments).text


@pytest.mark.parametrize("order", [["blockquote", "summary"], ["summary", "blockquote", "summary"]])
def test_the_order_and_repetition_of_flags_change_nothing(
    sample: Corpus, transport: Transport, order: list[str]
) -> None:
    reply = transport.call(sample.deployed, "catalog", {"disclosure": order})
    assert reply.envelope["disclosure_applied"] == ["blockquote", "summary"]
    plain = transport.call(sample.deployed, "catalog", {"disclosure": ["blockquote", "summary"]})
    assert plain.text == reply.text


@pytest.mark.parametrize("action", MAIN)
def test_no_answer_depends_on_who_asks(sample: Corpus, gateway: tuple[str, int], action: str) -> None:
    query = "&".join(f"{name}={value.replace(' ', '+')}" for name, value in MAIN[action].items())
    answers = {
        exchange(gateway, sample.deployed, "GET", f"/v1/{action}?{query}{extra}", None, **headers).text
        for extra, headers in (
            ("", {}),
            ("&consumer=someone", {}),
            ("", {"user_agent": "Mozilla/5.0 (compatible; bot)"}),
            ("", {"x_oddkit_client": "editor", "x_api_key": "a-key", "origin": "https://example.org"}),
        )
    }
    assert len(answers) == 1


@pytest.mark.parametrize("action", MAIN)
@pytest.mark.parametrize("size", [7, 25, 100])
def test_the_pages_together_are_the_whole(corpus: Corpus, asking: Any, action: str, size: int) -> None:
    ask: Ask = asking(corpus.deployed)
    arguments = {**MAIN[action], "include": KINDS}
    first = ask(action, limit=500, **arguments)
    expected = list(first.envelope["data"])
    if first.envelope["total"] > 500:
        expected += ask(action, limit=500, offset=500, **arguments).envelope["data"]
    found: list[Any] = []
    for offset in range(0, first.envelope["total"], size):
        found += ask(action, limit=size, offset=offset, **arguments).envelope["data"]
    assert expected == found
    assert len(expected) == first.envelope["total"] == len({entry["uri"] for entry in expected})


def test_the_order_of_a_search_is_total(corpus: Corpus, asking: Any) -> None:
    ask: Ask = asking(corpus.deployed)
    entries = ask("search", query="the a of and", limit=100, include=KINDS).envelope["data"]
    keys = [(-entry["score"], entry["uri"]) for entry in entries]
    assert keys == sorted(keys)
    assert len(entries) > 10


def test_equal_scores_are_ordered_by_uri(deploy: Deploy, asking: Any) -> None:
    names = ["zinc", "mica", "agate", "quartz", "beryl"]
    ask: Ask = asking(deploy({f"docs/{name}.md": page("Same", "The same word.") for name in names}))
    entries = ask("search", query="same word").envelope["data"]
    assert [entry["uri"] for entry in entries] == [f"kb://docs/{name}" for name in sorted(names)]
    assert len({entry["score"] for entry in entries}) == 1


DATED = {
    "docs/a.md": page("Zebra", date="2024-05-01", tier=2),
    "docs/b.md": page("apple", date="2025-01-01", tier=1),
    "docs/c.md": page("Mango"),
    "docs/d.md": page("banana", date="2024-05-01", tier=2),
    "docs/e.md": "---\ntitle: Cherry\ndate: 2023-12-31\ntier: '3'\n---\n# Cherry\n",
    "docs/f.md": "No frontmatter and no heading.\n",
}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, "abcdef"),
        ({"order": "desc"}, "fedcba"),
        ({"sort_by": "title"}, "bdefca"),
        ({"sort_by": "date"}, "badecf"),
        ({"sort_by": "date", "order": "asc"}, "eadbcf"),
        ({"sort_by": "date", "order": "desc"}, "badecf"),
        ({"sort_by": "tier"}, "badecf"),
        ({"sort_by": "tier", "order": "desc"}, "eadbcf"),
    ],
)
def test_a_catalog_is_sorted_with_the_undated_last_and_ties_by_uri(
    transport: Transport, deploy: Deploy, arguments: dict[str, str], expected: str
) -> None:
    reply = transport.call(deploy(DATED), "catalog", arguments)
    assert expected == "".join(uri[-1] for uri in reply.uris)
    assert [entry["position"] for entry in reply.envelope["data"]] == [1, 2, 3, 4, 5, 6]


STONES = ["beryl", "flint", "jasper", "mica", "quartz", "zinc"]


def change(deployed: Deployed) -> None:
    """Adds a document to the front, takes one away, and indexes again."""
    write(deployed.baseline, {"docs/agate.md": page("Stone", "The same word.")})
    (deployed.baseline / "docs/flint.md").unlink()
    deployed.index()


@pytest.mark.parametrize("action", ["catalog", "search"])
def test_a_pinned_revision_keeps_the_pages_of_the_older_snapshot(
    transport: Transport, deploy: Deploy, action: str
) -> None:
    deployed = deploy({f"docs/{name}.md": page("Stone", "The same word.") for name in STONES})
    arguments = {**({"query": "same"} if action == "search" else {}), "limit": 2}
    first = transport.call(deployed, action, arguments)
    change(deployed)
    revision = first.envelope["revision"]
    rest = [
        transport.call(deployed, action, {**arguments, "offset": offset, "revision": revision}) for offset in (0, 2, 4)
    ]
    assert [f"kb://docs/{name}" for name in STONES] == [uri for reply in rest for uri in reply.uris]
    assert first.text == rest[0].text
    now = transport.call(deployed, action, arguments)
    assert now.envelope["revision"] != revision
    assert now.uris == ["kb://docs/agate", "kb://docs/beryl"]


def test_a_pinned_revision_survives_a_new_process(deploy: Deploy) -> None:
    deployed = deploy({"docs/beryl.md": page("Beryl"), "docs/flint.md": page("Flint")})
    transport = Direct(("", 0))
    first = transport.call(deployed, "get", {"uri": "docs/flint"})
    change(deployed)
    wire.cache_clear()
    again = transport.call(deployed, "get", {"uri": "docs/flint", "revision": first.envelope["revision"]})
    assert first.text == again.text
    gone = transport.call(deployed, "get", {"uri": "docs/flint"})
    assert gone.envelope["status"] == "NOT_FOUND"


def test_a_revision_names_the_overlay_and_the_baseline(transport: Transport, deploy: Deploy) -> None:
    deployed = deploy({"docs/a.md": page("A")}, project={"docs/b.md": page("B")})
    alone = transport.call(deployed, "catalog", {}).envelope["revision"]
    both = transport.call(deployed, "catalog", {"knowledge_base_url": "project"}).envelope["revision"]
    assert len(alone) == 12
    assert both.split(".")[1] == alone
    assert len(both) == 25
    of_another = transport.call(deployed, "catalog", {"revision": both})
    assert of_another.envelope["error_code"] == "REVISION_GONE"
