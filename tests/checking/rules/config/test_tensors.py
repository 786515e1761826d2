"""Tensors that a config declares in a way that its backend, or a client, does not understand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checking.packing import MODEL_PY
from triton_ensembles.checking import check
from triton_ensembles.checking.examples import SCALE, TORCHSCRIPT, ensemble, io_tensor, parameter, python_model
from triton_ensembles.checking.rule import Example
from triton_ensembles.checking.staging_example import stage

TORCH = 'platform: "pytorch_libtorch"'
LEVEL, POLICY = "priority_levels: 1, default_priority_level: 1", "key: 1, value { timeout_action: -1 }"


def found(folder: Path, config: str, model_py: str = "") -> list[str]:
    files: dict[str, str | None] | None = {"1/model.pt": TORCHSCRIPT} if TORCH in config else None
    stage(Example(config, {"1/model.py": model_py} if model_py else files), folder, "model")
    return [fault.rule for fault in check([folder]).faults if fault.place.path.endswith("config.pbtxt")]


@pytest.mark.parametrize(
    ("outputs", "rules"),
    [
        (["Z__1", "Y__0"], []),
        (["Y__1"], []),  # the model may have more outputs
        (["Y_1", "Y_0"], ["pytorch-tensor-order"]),
        (["layer_3", "layer_7"], []),
        (["Z__1", "labels"], ["pytorch-tensor-order"]),
        (["Y__0", "labels"], []),
        (["a__b__1", "a__b__0"], ["pytorch-tensor-order"]),
        (["Y__0", "Z__"], ["pytorch-tensor-number-twice"]),
        (["Y__1x", "Z__0x"], []),
    ],
)
def test_the_outputs_of_a_torchscript_model(outputs: list[str], rules: list[str], tmp_path: Path) -> None:
    """Otherwise one output is taken for another, and nobody sees it."""
    config = python_model(outputs=", ".join(map(io_tensor, outputs)), backend=TORCH)
    assert found(tmp_path, config) == rules


def test_an_ensemble_without_tensors_has_a_fault_for_each_kind(tmp_path: Path) -> None:
    """Otherwise one cause is several faults."""
    config = ensemble(SCALE, inputs="", outputs="")
    assert found(tmp_path, config) == ["ensemble-without-inputs", "ensemble-without-outputs"]


def test_a_parameter_that_model_py_reads_is_no_misspelling(tmp_path: Path) -> None:
    """Otherwise a parameter of one's own is taken for one of Triton's."""
    config = python_model(parameter("EXECUTION_ENV_PATHS", "prod"))
    assert found(tmp_path, config) == ["parameter-misspelled"]
    line = 'self.mode = json.loads(args["model_config"])["parameters"]["EXECUTION_ENV_PATHS"]'
    read = f"import json\n{MODEL_PY}\n    def initialize(self, args):\n        {line}\n"
    assert found(tmp_path, config, read) == []
