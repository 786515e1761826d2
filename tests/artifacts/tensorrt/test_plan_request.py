"""Requests for plans: what another machine builds, and what is read back from it."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from checkout import ROOT
from triton_ensembles.artifacts.tensorrt.plan_request import PlanRequest, read_request, write_request
from triton_ensembles.artifacts.tensorrt.profiles import read_profile
from triton_ensembles.artifacts.tensorrt_plan import plan_request_for
from triton_ensembles.ground.errors import EnsembleError

IMAGES = PlanRequest(
    name="x.inception",
    precision="fp32",
    profiles=(read_profile("1 8 32"),),
    inputs={"InceptionV3/input": (-1, 2, 2, 3)},
    feeds=({"InceptionV3/input": np.arange(12, dtype=np.float32).reshape(1, 2, 2, 3)},),
)


def test_a_script_of_the_project_says_what_a_plan_is_measured_on(tmp_path: Path) -> None:
    """Otherwise a plan could be built only of the networks that this package has checks for."""
    shape = ["batch", 3, 224, 224]
    tensors = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name in ("input", "output")]
    graph = helper.make_graph([helper.make_node("Relu", ["input"], ["output"])], "g", tensors[:1], tensors[1:])
    onnx.save(helper.make_model(graph), tmp_path / "model.onnx")
    options = {"profiles": ["1 2 4"], "accuracy": "ensembles/resnet/accuracy.py"}
    request = plan_request_for("x.y", tmp_path / "model.onnx", {}, options, ROOT)
    assert request.inputs == {"input": (-1, 3, 224, 224)}
    assert [feed["input"].shape for feed in request.feeds] == [(2, 3, 224, 224)]


def test_a_request_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Otherwise a plan would be judged by other inputs than it was run with. Names may have slashes."""
    (tmp_path / "model.onnx").write_bytes(b"onnx")
    script = write_request(IMAGES, tmp_path / "model.onnx", tmp_path / "folder")
    again = read_request(tmp_path / "folder", IMAGES.name)
    assert (again.name, again.precision, again.profiles) == (IMAGES.name, IMAGES.precision, IMAGES.profiles)
    assert again.inputs == IMAGES.inputs
    np.testing.assert_array_equal(again.feeds[0]["InceptionV3/input"], IMAGES.feeds[0]["InceptionV3/input"])
    command = IMAGES.build_command()
    assert again.build_command() == command
    assert "--fp16" not in command and "--maxShapes=InceptionV3/input:32x2x2x3" in command
    assert script.read_text().count("trtexec") == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"precision": "int8", "profiles": ["1 1 1"], "accuracy": "sentences"}, "fp16 or fp32, not 'int8'"),
        ({"accuracy": "sentences"}, "a plan needs profiles"),
        ({"profiles": ["1x8 1x4 1x2"], "accuracy": "sentences"}, "is not a profile"),
    ],
)
def test_options_that_are_not_valid_are_refused_before_tensorrt_runs(options: dict[str, object], words: str) -> None:
    with pytest.raises(EnsembleError, match=words):
        plan_request_for("x.y", Path("model.onnx"), {}, options, Path())
