"""A newcomer who types what the README says gets what the README shows."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator

import pytest
from tests.documentation.examples import CHECKOUT, Example, Workspace, agrees, examples_of, served

README = CHECKOUT / "README.md"
TEXT = README.read_text("utf-8")
EXAMPLES = examples_of(README)


def _recipe(target: str) -> list[str]:
    """The commands that `make TARGET` runs."""
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    told = subprocess.run(
        ["make", "--no-print-directory", "-n", target], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    return told.stdout.splitlines()


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """What stands after `make serve`: the last command of its recipe, on a free port."""
    with served(tmp_path_factory.mktemp("readme"), _recipe("serve")[-1]) as ready:
        yield ready


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_a_command_answers_as_the_readme_shows(example: Example, workspace: Workspace) -> None:
    given = workspace.run(example)
    assert not example.answer or agrees(example.answer, given), f"{example} answers\n{given}"


def test_the_readme_shows_http_and_the_command_line() -> None:
    commands = [example.command.split()[0] for example in EXAMPLES]
    assert {"curl", ".venv/bin/lamina"} == set(commands)


def test_serving_ones_own_knowledge_base_answers_by_the_name_that_was_given(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    shown = re.search(r"^\.venv/bin/lamina serve .*$", TEXT, re.MULTILINE)
    assert shown is not None
    command = re.sub(r" --port \d+", "", shown[0])
    question = (
        "curl -s 'http://127.0.0.1:8787/v1/search?query=why+is+malloc+forbidden&knowledge_base_url=firmware&limit=1'"
    )
    answer = '{"status":"FOUND",…"uri":"rill://canon/decisions/no-heap-after-boot",…"source":"overlay",…}'
    with served(tmp_path_factory.mktemp("own"), command) as own:
        assert agrees(answer, own.run(Example(README, 0, question, answer)))


@pytest.mark.parametrize("target", sorted(set(re.findall(r"^make ([a-z]+)", TEXT, re.MULTILINE))))
def test_a_make_target_of_the_readme_exists(target: str) -> None:
    assert _recipe(target)
