"""Requests for plans: what another machine builds, and what is read back from it."""

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from checkout import ROOT
from tests.onnx_files import write_onnx
from triton_ensembles.artifacts.tensorrt.plan_request import read_request, write_request
from triton_ensembles.artifacts.tensorrt.profiles import fill
from triton_ensembles.artifacts.tensorrt_plan import plan_request_for
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.project.recipe.plan_precision import FLAGS, refuse_precision

CHECK = """import numpy as np

OUTPUT = "output"


def feeds(files, sizes):
    return [{"InceptionV3/input": np.full((size, 2, 2, 3), size, np.float32)} for size in sizes]
"""


def network(path: Path, *, quantized: bool = False, given: str = "input") -> Path:
    """A network of one layer, ["batch", 2, 2, 3], whose input ``given`` goes through int8 if it is ``quantized``."""
    x, y = ((name, TensorProto.FLOAT, ["batch", 2, 2, 3]) for name in (given, "output"))
    constants = {"s": 0.1, "z": np.int8(0)} if quantized else {}
    nodes = [helper.make_node("QuantizeLinear", [given, "s", "z"], ["q"])] if quantized else []
    nodes += [helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"])] if quantized else []
    nodes.append(helper.make_node("Relu", ["d" if quantized else given], ["output"]))
    return write_onnx(path, nodes, [x], y, constants)


def test_a_request_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Otherwise a plan would be judged by other inputs than it was run with: those that a script of the project has.
    Names may have slashes."""
    model = network(tmp_path / "model.onnx", given="InceptionV3/input")
    (tmp_path / "check.py").write_text(CHECK)
    options = {"profiles": ["1 2 4", "1 8 32"], "accuracy": "check.py", "precision": "fp32"}
    request = plan_request_for("x.y", model, {}, options, tmp_path, "10.4.0")
    assert request.inputs == {"InceptionV3/input": (-1, 2, 2, 3)}
    script = write_request(request, model, tmp_path / "folder")
    again = read_request(tmp_path / "folder", "x.y")
    assert (again.name, again.inputs, again.build_command()) == ("x.y", request.inputs, request.build_command())
    assert [set(feed["InceptionV3/input"].ravel().tolist()) for feed in again.feeds] == [{2}, {8}]
    assert "--maxShapes=InceptionV3/input:32x2x2x3" in again.build_command()
    assert script.read_text().count("trtexec") == 3


PRECISIONS = ("int4", "", "fp16+fp16", "fp32+fp16", "int8 fp16")
PROFILES = ("", "1x8", "1x8 1x16", "1x8 1x16 1x256 1x512", "1x8 1x4 1x256", "0x8 1x8 1x8", "1x8 16 1x256", "a b c")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        *(({"precision": wrong, "profiles": ["1 1 1"]}, "is not a precision of a plan; write") for wrong in PRECISIONS),
        *(({"profiles": [wrong]}, "is not a profile") for wrong in PROFILES),
        ({}, "a plan needs profiles"),
    ],
)
def test_options_that_are_not_valid_are_refused_before_tensorrt_runs(options: dict[str, object], words: str) -> None:
    with pytest.raises(EnsembleError, match=words):
        plan_request_for("x.y", Path("model.onnx"), {}, {"accuracy": "sentences", **options}, Path(), "10.4.0")


def test_a_profile_has_a_size_for_each_axis_that_varies() -> None:
    with pytest.raises(EnsembleError, match="the profile has 2 sizes, but 1 axes"):
        fill((-1, 3), (1, 16))


@pytest.mark.parametrize(
    ("precision", "tensorrt", "flags"),
    [
        ("fp32", "10.4.0", ["--noTF32"]),
        ("tf32", "10.4.0", []),
        ("fp16", "8.6.1.6", ["--fp16"]),
        ("bf16", "10.4.0", ["--bf16"]),
        ("int8", "10.4.0", ["--int8"]),
        ("int8+fp16", "10.4.0", ["--fp16", "--int8"]),
        ("bf16+int8+fp16", "10.4.0", ["--fp16", "--bf16", "--int8"]),
        ("int8", "11.1.0.106", []),
        ("fp32", "11.1.0.106", ["--noTF32"]),
    ],
)
def test_a_precision_is_what_trtexec_of_that_release_takes(
    precision: str, tensorrt: str, flags: list[str], tmp_path: Path
) -> None:
    """Otherwise the build fails on the GPU machine, or computes in TF32 what was measured in fp32."""
    options = {"profiles": ["1 2 4"], "accuracy": "ensembles/resnet/accuracy.py", "precision": precision}
    refuse_precision("model.plan", options, tensorrt)
    model = network(tmp_path / "model.onnx", quantized="int8" in precision)
    request = plan_request_for("x.y", model, {}, options, ROOT, tensorrt)
    write_request(request, model, tmp_path / "folder")
    command = read_request(tmp_path / "folder", "x.y").build_command()
    assert [word for word in command if word in {*FLAGS.values(), "--best"}] == flags


@pytest.mark.parametrize(
    ("precision", "tensorrt", "words"),
    [
        ("bf16", "8.6.1.6", "has precision bf16, but TensorRT 8.6.1.6 has no --bf16"),
        ("bf16", "11.1.0.106", "has precision bf16, but TensorRT 11.1.0.106 computes in the types of the ONNX file"),
        ("int8+fp16", "11.1.0.106", "has precision fp16, but TensorRT 11"),
    ],
)
def test_a_flag_that_a_release_has_not_is_refused_by_name(precision: str, tensorrt: str, words: str) -> None:
    with pytest.raises(EnsembleError, match=words):
        refuse_precision("model.plan", {"precision": precision}, tensorrt)
    refuse_precision("model.plan", {"precision": precision}, "")  # an unknown TensorRT may take it


def test_int8_needs_a_quantized_file_and_such_a_file_needs_int8(tmp_path: Path) -> None:
    options = {"profiles": ["1 2 4"], "accuracy": "ensembles/resnet/accuracy.py"}
    plain, quantized = network(tmp_path / "p.onnx"), network(tmp_path / "q.onnx", quantized=True)
    with pytest.raises(EnsembleError, match="int8 needs an ONNX file with QuantizeLinear and DequantizeLinear nodes"):
        plan_request_for("x.y", plain, {}, options | {"precision": "int8+bf16"}, ROOT, "10.4.0")
    with pytest.raises(EnsembleError, match=r"is quantized .* a plan of it in fp16 cannot be built; write"):
        plan_request_for("x.y", quantized, {}, options, ROOT, "10.4.0")
    plan_request_for("x.y", quantized, {}, options | {"precision": "tf32"}, ROOT, "11.1.0.106")
