"""docs/rules.md, and the rules as a list."""

from collections.abc import Iterator

import pytest

from docs.generators.rules import PAGE, page
from triton_ensembles.checking.explanation import text_examples
from triton_ensembles.checking.fault import Finding
from triton_ensembles.checking.registry import RULES
from triton_ensembles.checking.repository import Model
from triton_ensembles.checking.rule import rule


def test_the_page_is_up_to_date() -> None:
    """Otherwise the page describes old rules: run python -m docs.generators.rules."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_two_rules_cannot_have_the_same_name() -> None:
    """Otherwise the name in brackets leads to the wrong rule."""

    def find(model: Model) -> Iterator[Finding]:
        yield Finding(model.place(), "never called")

    with pytest.raises(ValueError, match="there are two rules called"):
        rule("", id=RULES[0].id, source="this test")(find)


def test_every_rule_has_a_bad_and_a_good_example() -> None:
    """Otherwise --explain has nothing to show. An example is a model that the tests can load, or a text, never both."""
    for known in RULES:
        texts = text_examples().get(known.id, {})
        assert (known.bad is None, known.good is None) == ("bad" in texts, "good" in texts), known.id
    assert set(text_examples()) <= {known.id for known in RULES}
