"""What stands in the frontmatter alone is found, quoted or not, told as strong, and shown in the snippet."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conftest import Deploy
from tests.corpora import Deployed
from tests.transports import TRANSPORTS

from lamina.ranking.calibration import STRONG_PROBABILITY

HIVE = """---
title: The Third Hive
register: APIARY-4471
fuel: [dried lavender, hessian]
keeper:
  name: Ingrid Halvorsen
---
# The Third Hive

It stands at the southern wall.
"""


@pytest.fixture
def deployed(deploy: Deploy) -> Deployed:
    return deploy({"docs/hive.md": HIVE, "docs/wall.md": "---\ntitle: Wall\n---\nThe southern wall is of stone."})


def _search(deployed: Deployed, query: str, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = TRANSPORTS["direct"](("", 0)).call(deployed, "search", {"query": query, **more}).envelope
    return found


@pytest.mark.parametrize(
    ("query", "line"),
    [
        ("APIARY-4471", "register: APIARY-4471"),
        ('"dried lavender"', "fuel: dried lavender, hessian"),
        ('"Ingrid Halvorsen"', "keeper: name, Ingrid Halvorsen"),
    ],
)
def test_a_value_is_found_and_shown(query: str, line: str, deployed: Deployed) -> None:
    found = _search(deployed, query)
    assert [entry["uri"] for entry in found["data"]] == ["kb://docs/hive"]
    probability = found["match"].pop("probability")
    assert found["match"] == {"signal": "strong", "coverage": 1.0, "unmatched_terms": [], "meaning": "none"}
    assert STRONG_PROBABILITY <= probability <= 1
    assert line in found["data"][0]["snippet"]


def test_two_fields_make_no_phrase(deployed: Deployed) -> None:
    assert _search(deployed, '"hessian keeper"')["data"] == []


def test_a_snippet_of_the_body_does_not_repeat_the_title(deployed: Deployed) -> None:
    assert _search(deployed, "hive southern wall")["data"][0]["snippet"] == "It stands at the southern wall."


@pytest.mark.parametrize("prefix", ["docs/hive", "/docs/hive"])
def test_a_path_prefix_may_begin_with_a_slash(prefix: str, deployed: Deployed) -> None:
    found = _search(deployed, "southern wall", path_prefix=prefix)
    assert ([entry["uri"] for entry in found["data"]], found["filtered_out"]) == (["kb://docs/hive"], 1)
