"""docs/planning.md: each plan prints what stands below it."""

from __future__ import annotations

import pytest

from checkout import ROOT
from tests.docs.blocks import Block
from tests.docs.planning_page import printed, shown


@pytest.mark.parametrize(("command", "output"), shown(), ids=lambda block: block.kind)
def test_a_plan_prints_what_the_page_says(command: Block, output: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a change, write the page again: python -m tests.docs.planning_page"""
    monkeypatch.chdir(ROOT)
    assert printed(command) == output.text
