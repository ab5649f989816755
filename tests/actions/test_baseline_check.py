"""baseline-check: the required files and their tiers, the counts that envelopes leave out, and the corpus check."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from tests.conftest import Corpus, Deploy
from tests.corpora import Deployed, page
from tests.transports import TRANSPORTS

from lamina.actions.baseline_check import ACTION
from lamina.governance.manifest import required_paths

BROKEN: dict[str, str | bytes] = {
    "docs/no-frontmatter.md": "# Bare\n",
    "docs/bad-yaml.md": "---\ntitle: [\n---\n# Bad\n",
    "docs/a.md": page("A", uri="kb://same", audience="docs", exposure="nav", tier=1),
    "docs/b.md": page("B", uri="kb://same", audience="docs", exposure="nav", tier=1),
    "docs/c.md": page("C", kind="stories", audience="docs", exposure="nav", tier=1),
    "docs/d.md": page("D", superseded_by="docs/nowhere.md", audience="docs", exposure="nav", tier=1),
    "docs/e.md": page("E", audience="docs"),
    "docs/latin.md": "# Caf\u00e9\n".encode("latin-1"),
}


def _check(deployed: Deployed, **arguments: Any) -> dict[str, Any]:
    answer: dict[str, Any] = TRANSPORTS["direct"](("", 0)).call(deployed, "baseline-check", arguments).envelope
    jsonschema.validate(answer, ACTION.answer)
    return answer


def test_a_baseline_with_every_required_file_is_complete_and_says_where_each_file_comes_from(sample: Corpus) -> None:
    answer = _check(sample.deployed, knowledge_base_url=sample.overlay)
    assert (answer["status"], answer["governance_source"]) == ("COMPLETE", "knowledge_base")
    served = {entry["path"]: entry["served_from"] for entry in answer["data"]["required"]}
    assert list(served) == list(required_paths())
    assert served["canon/constraints/definition-of-done.md"] == "overlay"
    assert served["canon/values/axioms.md"] == "baseline"


def test_documents_are_counted_by_source_and_kind(sample: Corpus) -> None:
    counts = _check(sample.deployed, knowledge_base_url=sample.overlay)["data"]["documents"]
    assert counts["baseline"]["total"] == len(sample.facts)
    kinds = {kind: sum(fact.kind == kind for fact in sample.facts) for kind in counts["baseline"] if kind != "total"}
    assert counts["baseline"] == {"total": len(sample.facts), **kinds}


def test_a_file_that_only_the_bundle_has_is_served_from_it(deploy: Deploy) -> None:
    answer = _check(deploy({"docs/a.md": page("A")}))
    assert (answer["status"], answer["governance_source"]) == ("COMPLETE", "bundled")
    assert {entry["served_from"] for entry in answer["data"]["required"]} == {"bundled"}


def test_kb_only_without_the_required_files_is_incomplete_and_warns(deploy: Deploy) -> None:
    deployed = deploy({"docs/a.md": page("A")}, kb={"docs/b.md": page("B")})
    answer = _check(deployed, knowledge_base_url="kb", search_scope="kb_only")
    assert (answer["status"], answer["governance_source"]) == ("INCOMPLETE", "incomplete")
    assert len(answer["data"]["warnings"]) == 1
    assert _check(deployed, knowledge_base_url="kb")["data"]["warnings"] == []


def test_the_corpus_check_names_each_document_that_is_wrong_and_why(deploy: Deploy) -> None:
    found = _check(deploy(BROKEN))["data"]
    reasons: dict[str, str] = {}
    for problem in found["problems"]:
        reasons[problem["path"]] = f"{reasons.get(problem['path'], '')} {problem['level']}: {problem['reason']}"
    assert found["problems_total"] == len(found["problems"]) == sum(found["remarks"].values())
    assert sum(group["count"] for group in found["groups"]) == found["problems_total"]
    levels = [problem["level"] for problem in found["problems"]]
    assert levels == sorted(levels, key=["error", "warning", "note"].index)
    for path, part in {
        "docs/b.md": "error: kb://same is the URI of docs/a.md too",
        "docs/c.md": "not one of the five",
        "docs/d.md": "superseded_by",
        "docs/latin.md": "error: not UTF-8",
        "docs/bad-yaml.md": "error: the value of title",
    }.items():
        assert part in reasons[path]
    assert not {"docs/a.md", "docs/no-frontmatter.md", "docs/e.md"} & set(reasons)


_PAGES = {"docs/a.md": page("A", audience="docs")}
_GOVERNED = {**_PAGES, "canon/values/axioms.md": page("Axioms", audience="canon", exposure="nav", tier=1)}


@pytest.mark.parametrize(
    ("files", "lacks"),
    [
        (_PAGES, []),
        ({**_PAGES, ".kb.yml": "required: [tier, owner]\n"}, ["frontmatter lacks tier, owner"]),
        (_GOVERNED, ["frontmatter lacks exposure, tier"]),
        ({**_GOVERNED, ".kb.yml": "required: []\n"}, []),
    ],
)
def test_fields_are_asked_for_where_a_base_says_so_or_holds_governance(
    deploy: Deploy, files: dict[str, str | bytes], lacks: list[str]
) -> None:
    found = _check(deploy(files))["data"]["problems"]
    assert [problem["reason"] for problem in found] == lacks


def test_no_error_is_cut_however_many_there_are(deploy: Deploy) -> None:
    twins = {f"docs/{number:03}.md": page("Twin", uri="kb://twin") for number in range(600)}
    found = _check(deploy(twins))["data"]
    assert found["remarks"]["error"] == 599
    assert len([problem for problem in found["problems"] if problem["level"] == "error"]) == 599


def test_an_index_that_cannot_be_had_is_unreachable_rather_than_an_error(sample: Corpus) -> None:
    gone = Deployed(sample.deployed.data / "nothing", sample.deployed.baseline)
    assert _check(gone)["status"] == "UNREACHABLE"


def test_a_knowledge_base_that_is_not_allowed_is_an_error(sample: Corpus) -> None:
    answer = TRANSPORTS["direct"](("", 0)).call(sample.deployed, "baseline-check", {"knowledge_base_url": "nobody"})
    assert answer.envelope["error_code"] == "KNOWLEDGE_BASE_NOT_ALLOWED"
