"""One cause in a config.pbtxt is one fault, in its own file and in those of the ensembles that use the model."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.checking.test_mutations import ENSEMBLE as LARGE_ENSEMBLE
from tests.checking.test_mutations import MODEL as LARGE_MODEL
from triton_ensembles.checking.checker import check
from triton_ensembles.checking.examples import ensemble, step
from triton_ensembles.checking.fault import Fault, Severity
from triton_ensembles.checking.rule import Example
from triton_ensembles.checking.staging_example import stage
from triton_ensembles.checking.text.tokens import Kind, Token, Tokens

USER = ensemble(step("model", {"X": "X"}, {"Y": "Y"}))


def faults(tmp_path: Path, text: str) -> list[Fault]:
    """The faults of a repository with the model ``text`` and an ensemble that uses it; notes left out."""
    stage(Example(text), tmp_path, "model")
    stage(Example(USER), tmp_path, "user")
    return [fault for fault in check([tmp_path]).faults if fault.severity is not Severity.NOTE]


def scalars(text: str) -> Iterator[Token]:
    """Every number and string of a config, and every name that is a value."""
    tokens = Tokens(text)
    before = ""
    while not tokens.ended:
        token = tokens.take()
        named = token.kind is Kind.NAME and before == ":" and not tokens.at(":", "{")
        if named or token.kind in (Kind.INTEGER, Kind.STRING):
            yield token
        before = token.text


SLOW = [pytest.param(value, marks=pytest.mark.slow) for value in ('"${x}"', "TYPE_${x}")]


@pytest.mark.parametrize("value", ["${x}", *SLOW, "???", "12345678901234567890123"])
def test_any_value_may_be_unreadable(tmp_path: Path, value: str) -> None:
    """Otherwise rules conclude from what nobody can read, in this file or in those that use the model."""
    for text in (LARGE_ENSEMBLE, LARGE_MODEL):
        faults(tmp_path, text)  # with the steps of the unchanged text
        for token in scalars(text):
            found = faults(tmp_path, text[: token.offset] + value + text[token.offset + len(token.text) :])
            assert len(found) == 1, (token, found)


def test_a_mark_that_is_missing_is_one_fault(tmp_path: Path) -> None:
    """Otherwise one forgotten bracket of an ensemble makes a dozen faults, in the steps and in the maps."""
    faults(tmp_path, LARGE_ENSEMBLE)  # with its steps
    tokens = Tokens(LARGE_ENSEMBLE)
    while not tokens.ended:
        token = tokens.take()
        if token.kind is Kind.MARK and token.text != "-":
            found = faults(tmp_path, LARGE_ENSEMBLE[: token.offset] + LARGE_ENSEMBLE[token.offset + 1 :])
            assert len(found) <= 1, (token, found)
