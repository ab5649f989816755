"""baseline-check: the required files and their tiers, the counts that envelopes leave out, and the corpus check."""

from __future__ import annotations

from typing import Any

import jsonschema
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
    reasons = {one["path"]: one["reason"] for one in found["problems"] if "level-1" not in one["reason"]}
    assert found["problems_total"] == len(found["problems"])
    for path, part in {
        "docs/no-frontmatter.md": "no frontmatter",
        "docs/b.md": "duplicate URI",
        "docs/c.md": "not one of the five",
        "docs/d.md": "superseded_by",
        "docs/e.md": "lacks exposure, tier",
        "docs/latin.md": "UTF-8",
    }.items():
        assert part in reasons[path]
    assert "docs/a.md" not in reasons
    assert any("YAML" in one["reason"] for one in found["problems"] if one["path"] == "docs/bad-yaml.md")


def test_an_index_that_cannot_be_had_is_unreachable_rather_than_an_error(sample: Corpus) -> None:
    gone = Deployed(sample.deployed.data / "nothing", sample.deployed.baseline)
    assert _check(gone)["status"] == "UNREACHABLE"


def test_a_knowledge_base_that_is_not_allowed_is_an_error(sample: Corpus) -> None:
    answer = TRANSPORTS["direct"](("", 0)).call(sample.deployed, "baseline-check", {"knowledge_base_url": "nobody"})
    assert answer.envelope["error_code"] == "KNOWLEDGE_BASE_NOT_ALLOWED"
