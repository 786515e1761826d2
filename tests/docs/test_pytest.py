"""The code of docs/pytest.md, run by pytest in the project of the README's smallest ensemble."""

from __future__ import annotations

import sys

import pytest

from checkout import ROOT
from tests.docs.blocks import blocks_of, type_smallest_ensemble

PAGE = ROOT / "docs" / "pytest.md"


def test_the_tests_of_the_page_pass(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    type_smallest_ensemble(pytester.path)
    for block in blocks_of(PAGE):
        _, _, name = block.kind.partition(" ")
        (pytester.path / name).write_text(block.text)
    (pytester.path / "test_factories.py").write_text(
        "def test_it_is_there(small_endpoint, verbose_server):\n    assert small_endpoint.region == 'eu-central-1'\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    plugin = ("-p", "triton_ensembles.pytest_plugin", "-p", "no:cacheprovider")
    pytester.run(sys.executable, "-m", "pytest", *plugin).assert_outcomes(passed=4)
