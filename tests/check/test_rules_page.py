"""docs/rules.md says what the rules say."""

from __future__ import annotations

from triton_ensembles.check.registry import RULES
from triton_ensembles.check.rules_page import PAGE, page, sketches


def test_the_page_is_up_to_date() -> None:
    """If this fails, people read about rules as they were: run python -m triton_ensembles.check.rules_page."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_rule_has_a_name_of_its_own() -> None:
    """If this fails, a fault's name in brackets leads to the wrong rule."""
    names = [rule.id for rule in RULES]
    assert len(names) == len(set(names))


def test_every_rule_has_a_bad_and_a_good_example() -> None:
    """An example that is loaded into the real server, or else a sketch of how one comes to it; never both."""
    for each in RULES:
        sketch = sketches().get(each.id, {})
        assert (each.bad is None) == ("bad" in sketch), each.id
        assert (each.good is None) == ("good" in sketch), each.id
    assert set(sketches()) <= {each.id for each in RULES}
