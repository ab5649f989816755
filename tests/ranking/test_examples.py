"""The worked examples in the docstrings of the dense algorithms come out as written."""

from __future__ import annotations

import doctest
from types import ModuleType

import pytest

from lamina.index import bm25
from lamina.ranking import expansion, spelling


@pytest.mark.parametrize("module", [bm25, expansion, spelling])
def test_the_worked_examples_of_a_module_hold(module: ModuleType) -> None:
    failed, attempted = doctest.testmod(module)
    assert attempted > 0
    assert failed == 0
