"""docs/rules.md, and the rules as a list."""

from docs.generators.rules import PAGE, page
from triton_ensembles.checking.explanation import text_examples
from triton_ensembles.checking.registry import RULES


def test_the_page_is_up_to_date() -> None:
    """Otherwise the page describes old rules: run python -m docs.generators.rules."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_rule_has_a_bad_and_a_good_example() -> None:
    """Otherwise --explain has nothing to show. An example is a model that the tests can load, or a text, never both."""
    for known in RULES:
        texts = text_examples().get(known.id, {})
        assert (known.bad is None, known.good is None) == ("bad" in texts, "good" in texts), known.id
    assert set(text_examples()) <= {known.id for known in RULES}
