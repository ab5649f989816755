"""What the digest of a ranking covers."""

from __future__ import annotations

from pathlib import Path

import pytest

import lamina
from lamina.index import bm25
from lamina.ranking import configuration, score
from lamina.ranking.configuration import ranking_configuration

RANKING = Path(lamina.__file__).parent / "ranking"


def test_constants_go_by_their_names_wherever_they_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    before = ranking_configuration()
    assert {"K1 = 1.8", "B = 0.75", "HEAD_WEIGHT = 0.35"} <= set(before["constants"])
    monkeypatch.setattr(score, "K1", bm25.K1, raising=False)
    assert ranking_configuration() == before


def test_another_value_of_a_constant_is_another_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    before = ranking_configuration()
    monkeypatch.setattr(score, "PART_WEIGHT", 0.5)
    assert ranking_configuration() != before


def test_every_module_that_ranks_is_covered() -> None:
    # `sections` ranks those of one document, which no digest tells.
    of_scope_or_digest = {"__init__", "scope", "configuration", "synonyms", "sections"}
    modules = {path.stem for path in RANKING.glob("*.py")} - of_scope_or_digest
    assert modules <= {module.__name__.rpartition(".")[2] for module in configuration._DECIDING}
