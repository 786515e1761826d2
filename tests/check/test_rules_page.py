"""docs/rules.md says what the rules say."""

from __future__ import annotations

from triton_ensembles.check.registry import RULES
from triton_ensembles.check.rules_page import PAGE, page


def test_the_page_is_up_to_date() -> None:
    """If this fails, people read about rules as they were: run python -m triton_ensembles.check.rules_page."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_rule_has_a_name_of_its_own() -> None:
    """If this fails, a fault's name in brackets leads to the wrong rule."""
    names = [rule.id for rule in RULES]
    assert len(names) == len(set(names))
