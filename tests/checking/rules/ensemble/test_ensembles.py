"""Ensembles with a fault: its cause is reported once, at its place, and not its consequences."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checking.packing import folder_faults, write_folder
from tests.checking.test_mutations import ENSEMBLE as GOOD
from triton_ensembles.checking.examples import ensemble, io_tensor, python_model, step
from triton_ensembles.checking.fault import Fault
from triton_ensembles.checking.rule import Example
from triton_ensembles.checking.staging_example import stage
from triton_ensembles.triton.destination import Destination

Maps = tuple[dict[str, str], dict[str, str]]


def faults(tmp_path: Path, config: str) -> list[Fault]:
    stage(Example(GOOD), tmp_path, "pipeline")  # with its steps
    stage(Example(config), tmp_path, "pipeline")
    return folder_faults(tmp_path, Destination())


@pytest.mark.parametrize(
    ("maps", "rule", "cure"),
    [
        (({"Y": "T"}, {"X": "X"}), "step-input-unknown", "write output_map for input_map"),
        (({"RAW": "X"}, {"Y": "T"}), "step-input-unknown", 'key: "X" value: "RAW"'),
        (({"X": "RAW"}, {"T": "Y"}), "step-output-unknown", 'key: "Y" value: "T"'),
    ],
)
def test_what_is_swapped_in_a_step_is_one_fault(tmp_path: Path, maps: Maps, rule: str, cure: str) -> None:
    """Otherwise one slip is up to six faults, of which none says what it was."""
    raw = io_tensor("RAW" if "RAW" in str(maps) else "X")
    (fault,) = faults(tmp_path, ensemble(step("scale", *maps), step("scale", {"X": "T"}, {"Y": "Y"}), inputs=raw))
    assert fault.rule == rule and "swapped" in fault.message and cure in fault.cure


def test_a_step_in_a_folder_of_models_is_one_fault(tmp_path: Path) -> None:
    """Otherwise one fault says that the folder has to go, and another one to name it."""
    stage(Example(python_model()), tmp_path / "group", "first")
    (fault,) = faults(tmp_path, GOOD.replace('"scale"', '"group/first"'))
    assert fault.rule == "step-model-missing" and 'model_name: "first"' in fault.cure


def test_no_fault_hides_another(tmp_path: Path) -> None:
    """Otherwise people fix one fault only to hear of the next."""
    config = GOOD.replace("max_batch_size: 8", "max_batch_size: 32").replace("dims: [ 4 ]", "dims: [ 0, 5 ]", 1)
    config = config.replace('key: "A", value: "scaled"', 'key: "AA", value: "missing"').replace('"whole"', '"hole"')
    assert {fault.rule for fault in faults(tmp_path, config)} >= {
        "ensemble-batch-size",
        "tensor-dim-invalid",
        "ensemble-tensor-not-written",
        "step-input-unknown",
        "step-model-missing",
    }


def test_the_place_of_a_clash_is_the_line_that_connects_the_two(tmp_path: Path) -> None:
    """Otherwise people are sent to a line that is right."""
    config = GOOD.replace("data_type: TYPE_FP32", "data_type: TYPE_INT32", 1)
    found = faults(tmp_path, config)
    lines = config.splitlines()
    assert [fault.rule for fault in found] == ["ensemble-data-type-clash"]  # the first of the steps that read it
    assert lines[found[0].place.line - 1].split("{")[1].strip(" }") == 'key: "X", value: "X"'


def test_every_cycle_is_reported(tmp_path: Path) -> None:
    """Otherwise only one of two cycles in an ensemble is found."""
    config = ensemble(
        step("scale", {"X": "X"}, {"Y": "Y"}),
        *(step("scale", {"X": f"{name}1"}, {"Y": f"{name}2"}) for name in "ab"),
        *(step("scale", {"X": f"{name}2"}, {"Y": f"{name}1"}) for name in "ab"),
    )
    found = faults(tmp_path, config)
    assert [fault.rule for fault in found] == ["ensemble-cycle", "ensemble-cycle"]
    assert len({fault.place for fault in found}) == 2


def test_the_tensors_of_a_step_without_config_are_not_guessed(tmp_path: Path) -> None:
    """Otherwise a model that a server would complete itself is reported."""
    stage(Example(ensemble(step("detector", {"IMAGE": "X"}, {"BOXES": "Y"}))), tmp_path, "pipeline")
    write_folder(tmp_path, {"detector/1/model.onnx": ""})
    assert {fault.rule for fault in folder_faults(tmp_path, Destination())} == {"model-without-config"}
