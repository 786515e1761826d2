"""Good repositories, changed: one cause in a config.pbtxt is one fault, in its own file and in those of the ensembles
that use the model, and whatever is changed, no rule fails."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.checking.configs import changed, messages, mutated
from tests.checking.packing import folder_faults
from triton_ensembles.checking.checker import check
from triton_ensembles.checking.examples import Y, ensemble, python_model, step
from triton_ensembles.checking.fault import Fault, Severity
from triton_ensembles.checking.rule import Example
from triton_ensembles.checking.staging_example import stage
from triton_ensembles.checking.text.tokens import Kind, Token, Tokens
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.model_config import format_config, parse_config

ENSEMBLE = ensemble(
    step("scale", {"X": "X"}, {"Y": "scaled"}),
    step("join", {"A": "scaled", "B": "X"}, {"SUM": "sum", "MEAN": "Z"}),
    step("whole", {"X": "sum"}, {"Y": "Y"}),
    outputs=f'{Y}, {{ name: "Z", data_type: TYPE_FP32, dims: [ 1 ] }}',
)
MODEL = python_model(
    "dynamic_batching { preferred_batch_size: [ 4, 8 ], priority_levels: 2, default_priority_level: 1, "
    "priority_queue_policy { key: 1, value { timeout_action: DELAY, default_timeout_microseconds: 5 } } }",
    "instance_group [ { count: 1, kind: KIND_CPU } ]",
    "response_cache { enable: true }",
    'batch_input [ { kind: BATCH_ITEM_SHAPE, target_name: "SIZES", data_type: TYPE_INT32, source_input: "X" } ]',
    "version_policy { latest { num_versions: 1 } }",
    "model_transaction_policy { decoupled: false }",
    'metric_tags { key: "team", value: "search" }',
    inputs='{ name: "X", data_type: TYPE_FP32, dims: [ 4 ], reshape { shape: [ 2, 2 ] }, optional: false }',
)
CHANGED = [changed(parse_config(text, "")) for text in (ENSEMBLE, MODEL)]
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
    for text in (ENSEMBLE, MODEL):
        faults(tmp_path, text)  # with the steps of the unchanged text
        for token in scalars(text):
            found = faults(tmp_path, text[: token.offset] + value + text[token.offset + len(token.text) :])
            assert len(found) == 1, (token, found)


def test_a_mark_that_is_missing_is_one_fault(tmp_path: Path) -> None:
    """Otherwise one forgotten bracket of an ensemble makes a dozen faults, in the steps and in the maps."""
    faults(tmp_path, ENSEMBLE)  # with its steps
    tokens = Tokens(ENSEMBLE)
    while not tokens.ended:
        token = tokens.take()
        if token.kind is Kind.MARK and token.text != "-":
            found = faults(tmp_path, ENSEMBLE[: token.offset] + ENSEMBLE[token.offset + 1 :])
            assert len(found) <= 1, (token, found)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.one_of(mutated(ENSEMBLE), mutated(MODEL), st.text(), st.one_of(*CHANGED, messages()).map(format_config)),
    st.sampled_from(["1", "01", "-1", "1.0", "99999999999999999999", "x", "configs"]),
)
def test_the_checker_never_fails(tmp_path: Path, text: str, version: str) -> None:
    """Otherwise odd input makes a rule crash: its own fault then says so and asks to report it."""
    shutil.rmtree(tmp_path / "models", ignore_errors=True)
    stage(Example(text, {f"{version}/model.py": "x = 1\n"}), tmp_path / "models", "model")
    for fault in folder_faults(tmp_path / "models", Destination(device="cpu")):
        assert not fault.message.startswith("this rule itself failed"), fault
