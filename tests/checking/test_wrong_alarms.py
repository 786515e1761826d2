"""What Triton loads, and what cannot be known, is no fault."""

import os
import subprocess
from pathlib import Path

import pytest

from triton_ensembles.archive.tree import LARGEST_CONFIG
from triton_ensembles.checking.checker import check
from triton_ensembles.checking.examples import IDENTITY, X, Y, ensemble, io_tensor, python_model, step
from triton_ensembles.checking.fault import Fault, Severity
from triton_ensembles.checking.rule import Example
from triton_ensembles.checking.staging_example import stage

TENSORS = f"input [ {X} ]\noutput [ {Y} ]\n"


def faults(path: Path) -> list[Fault]:
    return [fault for fault in check([path]).faults if fault.severity is not Severity.NOTE]


def test_an_ensemble_given_on_its_own_knows_nothing_of_its_steps(tmp_path: Path) -> None:
    """Otherwise every step of it is missing, although it lies beside it."""
    stage(Example(ensemble(step("a", {"X": "X"}, {"Y": "T"}), step("b", {"X": "T"}, {"Y": "Y"}))), tmp_path, "whole")
    assert not faults(tmp_path / "whole")
    assert {fault.rule for fault in faults(tmp_path)} == {"step-model-missing"}


@pytest.mark.parametrize(
    ("example", "rule"),
    [
        (Example(None, {"1/model.py": IDENTITY}), "model-without-config"),
        (Example('name: "resnet"\n' + python_model()), "model-name-differs-from-folder"),  # a clone
        (Example('backend: "stateful"\n' + TENSORS, {"1": None}), "backend-unknown"),
    ],
)
def test_a_model_given_on_its_own_has_a_warning(tmp_path: Path, example: Example, rule: str) -> None:
    """Otherwise there is "no model here" in a folder that Triton loads, or what people build themselves is an error."""
    stage(example, tmp_path, "resnet-main")
    (fault,) = faults(tmp_path / "resnet-main")
    assert (fault.severity, fault.rule) == (Severity.WARNING, rule)


COMMENT = "# a line of a comment\n"


def test_a_config_of_nearly_a_megabyte_is_read(tmp_path: Path) -> None:
    """Otherwise nothing is said of what Triton refuses."""
    text = python_model(outputs=io_tensor("Y", dims="0"))
    stage(Example(text + COMMENT * (LARGEST_CONFIG // len(COMMENT) - 50)), tmp_path, "model")
    assert [(fault.rule, fault.severity) for fault in faults(tmp_path)] == [("tensor-dim-invalid", Severity.ERROR)]


def test_a_config_that_is_not_read_is_unknown_to_its_ensemble(tmp_path: Path) -> None:
    """Otherwise what Triton loads is an error, or has no inputs, for the ensemble that uses it."""
    stage(Example(python_model() + COMMENT * (LARGEST_CONFIG // len(COMMENT) + 1)), tmp_path, "model")
    stage(Example(ensemble(step("model", {"X": "X"}, {"Y": "Y"}))), tmp_path, "user")
    assert [(fault.rule, fault.severity) for fault in faults(tmp_path)] == [("config-unreadable", Severity.WARNING)]


def test_nothing_is_said_of_what_comes_after_a_break(tmp_path: Path) -> None:
    """Otherwise the models in the lost half of an archive are missing, and their ensemble is wrong."""
    stage(Example(ensemble(step("scale", {"X": "X"}, {"Y": "Y"}))), tmp_path / "models", "an-ensemble")
    (tmp_path / "models/an-ensemble/1/random").write_bytes(os.urandom(1 << 20))
    archive = tmp_path / "model.tar.gz"
    subprocess.run(["tar", "-C", tmp_path / "models", "--sort=name", "-czf", archive, "."], check=True)
    assert not faults(archive)
    with archive.open("r+b") as file:
        file.truncate(1 << 19)
    assert [fault.rule for fault in faults(archive)] == ["archive-truncated"]
