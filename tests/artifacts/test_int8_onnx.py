"""Models in int8: made from real ones, as accurate as the recipe asks, the same bytes each time, or refused by name."""

import json
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino as ov
import pytest
from onnx import TensorProto, helper, numpy_helper

from checkout import ROOT
from tests.recipes import copy_recipe
from tests.runtime.backends.networks import model_of
from triton_ensembles.artifacts import Job, accuracy_on_sentences, bert_onnx, int8_onnx, openvino_ir
from triton_ensembles.artifacts.accuracy import cosines, outputs
from triton_ensembles.artifacts.tensorrt.plan_request import PlanRequest, write_request
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.project.recipe.places import RECIPE
from triton_ensembles.project.recipe.reader import read_recipe


def network(operator: str = "MatMul", opset: int = 17) -> bytes:
    """x FP32 [batch, 16] -> y FP32 [batch, 16]: two layers of ``operator`` with weights of its own."""
    generator = np.random.default_rng(3)
    weights = {name: generator.standard_normal((16, 16)) for name in ("a", "b")}
    nodes = [helper.make_node(operator, ["x", "a"], ["h"], name="first"), helper.make_node("Relu", ["h"], ["r"])]
    nodes.append(helper.make_node(operator, ["r", "b"], ["y"], name="second"))
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 16]) for name in "xy")
    return model_of(nodes, [x], [y], weights, opset)


def rows(count: int = 20) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((count, 16)).astype(np.float32)


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """``made(content, data, **options)``: the facts; the model is in model.int8.onnx."""
    np.savez(tmp_path / "rows.npz", x=rows())

    def make(content: bytes, calibration: str = "rows.npz", **options: object) -> dict[str, Any]:
        (tmp_path / "model.onnx").write_bytes(content)
        files = {"model.onnx": tmp_path / "model.onnx"}
        options = {"calibration": calibration, **options}
        return int8_onnx.make(Job(tmp_path / "model.int8.onnx", files, "model.onnx", options, root=tmp_path))

    return make


def converted(folder: Path, *dims: str) -> None:
    """Write OpenVINO's own format of model.int8.onnx, whose x has ``dims`` after its batch axis, into ir/."""
    x, y = ({"name": name, "data_type": "TYPE_FP32", "dims": list(axes)} for name, axes in (("x", dims), ("y", ["16"])))
    name, config = "model.int8.onnx", {"max_batch_size": 8, "input": [x], "output": [y]}
    (folder / "1").mkdir(exist_ok=True)
    shutil.copy(folder / name, folder / "1")
    openvino_ir.make(Job(folder / "ir", {name: folder / "1" / name}, name, {"config": json.dumps(config)}))


def test_it_answers_nearly_as_fp32_and_is_the_same_file_each_time(
    made: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    """Otherwise its answers would be of no use, or the same build would give another archive each time."""
    facts = made(network())
    assert facts["calibrated_on"] == 20 and facts["quantized_tensors"] >= 2
    first, inputs = (tmp_path / "model.int8.onnx").read_bytes(), [{"x": rows(5)}]
    (exact,) = outputs(tmp_path / "model.onnx", "fp32", inputs, "y")
    (answer,) = outputs(tmp_path / "model.int8.onnx", "int8", inputs, "y")  # on any CPU: without VNNI, as it is written
    assert 0.95 < cosines(answer, exact).min() < 1  # NNCF cuts the largest of numbers without a pattern
    made(network())
    assert (tmp_path / "model.int8.onnx").read_bytes() == first
    # OpenVINO's own format of it, which archives have, answers as the file whose accuracy is measured.
    converted(tmp_path, "16")
    assert any(
        node.get_type_name() == "FakeQuantize"
        for node in ov.Core().read_model(tmp_path / "ir" / "model.int8.xml").get_ops()
    )
    served, written = (
        ov.Core().compile_model(path, "CPU")(inputs[0])["y"]
        for path in (tmp_path / "ir" / "model.int8.xml", tmp_path / "model.int8.onnx")
    )
    np.testing.assert_array_equal(served, written)


def test_tensorrt_gets_the_same_model_with_zero_points_of_0(
    made: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    """Otherwise trtexec refuses the file that the processor computes: its ranges begin at 0 after a Relu."""
    made(network())
    inputs, before = [{"x": rows(5)}], onnx.load(tmp_path / "model.int8.onnx")
    request = PlanRequest("plan", "int8", (), {}, ())
    write_request(request, tmp_path / "model.int8.onnx", tmp_path / "engines")
    after = onnx.load(tmp_path / "engines" / "plan.onnx")
    onnx.checker.check_model(after, full_check=True)
    kinds = [[numpy_helper.to_array(zero).dtype.name for zero in zero_points(model)] for model in (before, after)]
    assert "uint8" in kinds[0] and set(kinds[1]) == {"int8"}
    assert not any(numpy_helper.to_array(zero).any() for zero in zero_points(after))
    answers = [
        outputs(path, "int8", inputs, "y")[0]
        for path in (tmp_path / "model.int8.onnx", tmp_path / "engines" / "plan.onnx")
    ]
    assert cosines(*answers).min() > 0.995


def zero_points(model: Any) -> list[Any]:
    return [tensor for tensor in model.graph.initializer if "zero_point" in tensor.name]


def test_nodes_that_are_left_out_stay_in_fp32(made: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    """Otherwise a layer that loses most of the accuracy could not be spared."""
    whole = made(network())["quantized_tensors"]
    assert made(network(), leave_out=("sec.*",))["quantized_tensors"] < whole
    with pytest.raises(EnsembleError, match=r"NNCF does not quantize model.onnx: .*nothere"):
        made(network(), leave_out=("nothere",))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"x": rows(0)}, "rows.npz has no calibration data"),
        ({"y": rows()}, "row 1: the model's inputs are x, and it has y"),
        ({"x": rows()[:, :8]}, r"the model's input x is float32 \[-1, 16\], and this is float32 \[1, 8\]"),
        ({"x": rows().astype(np.float64)}, r"and this is float64 \[1, 16\]"),
        ({"x": rows(), "z": rows(3)}, "its arrays have different numbers of rows"),
        (b"no archive", "this is not an .npz of plain arrays"),
        (None, "this file of calibration data does not exist"),
    ],
)
def test_calibration_data_that_do_not_fit_are_refused_by_name(
    made: Callable[..., dict[str, Any]], tmp_path: Path, data: Any, words: str
) -> None:
    """Otherwise a build would end in a line of NNCF, or the ranges would be those of nothing."""
    (path := tmp_path / "rows.npz").unlink()
    if isinstance(data, bytes):
        path.write_bytes(data)
    elif data is not None:
        np.savez(path, **data)
    with pytest.raises(EnsembleError, match=words):
        made(network())
    assert not (tmp_path / "model.int8.onnx").exists()


def test_models_that_cannot_be_quantized_are_refused_by_name(
    made: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    with pytest.raises(EnsembleError, match=r"no operator of model.onnx can be computed in int8"):
        made(network("Max"))
    with pytest.raises(EnsembleError, match=r"int8 needs ONNX's opset 13, and model.onnx has 12"):
        made(network(opset=12))
    made(network())
    with pytest.raises(EnsembleError, match="is quantized: it has QuantizeLinear nodes"):
        made((tmp_path / "model.int8.onnx").read_bytes())
    with pytest.raises(EnsembleError, match=r"calibration with texts needs tokenizer.json"):
        (tmp_path / "texts.txt").write_text("A text.\n")
        made(network(), "texts.txt")


def choosing() -> bytes:
    """x FP32 [batch, 3, 16] -> y FP32 [batch, 16]: the network, and then the first of the three rows."""
    model = onnx.load_from_string(network())
    model.graph.node[-1].output[0] = "three"
    model.graph.node.append(helper.make_node("Gather", ["three", "first_row"], ["y"], axis=1))
    model.graph.initializer.append(numpy_helper.from_array(np.array(0), "first_row"))
    model.graph.input[0].CopyFrom(helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, 16]))
    content: bytes = model.SerializeToString()
    return content


def test_a_model_that_openvino_answers_in_another_rank_is_refused(
    made: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    """Otherwise the server would send [1, batch, 16]: OpenVINO's scales of each channel keep the axis that Gather takes
    away."""
    np.savez(tmp_path / "rows.npz", x=rows(60).reshape(20, 3, 16))
    made(choosing())
    with pytest.raises(EnsembleError, match=r"OpenVINO answers y with \[1, \d+, 16\], and the file has") as refused:
        converted(tmp_path, "3", "16")
    assert "leave_out" in str(refused.value)
    shutil.rmtree(tmp_path / "ir")
    made(choosing(), leave_out=("second",))  # as it says
    converted(tmp_path, "3", "16")


INT8 = """
[[artifacts]]
path = "step/1/model.int8.onnx"
maker = "int8_onnx"
needs = "step/1/model.onnx"
options = { calibration = "data/texts.txt" }
accuracy = { on = "sentences", texts = "data/questions.txt", least_cosine = 0.97 }
"""


def write_recipe(folder: Path, int8: str) -> None:
    """A step in int8, and the artifact ``int8``."""
    in_int8 = f'accuracy = "sentences"\n[engines.step]\nprecision = "int8"\n{int8}'
    (folder / RECIPE).write_text(copy_recipe("step/1/model.onnx", in_int8))


def test_another_text_makes_another_file(tmp_path: Path) -> None:
    """What a maker and a check read of the project belongs to the inputs of a build."""
    write_recipe(tmp_path, INT8)
    assert set(read_recipe(tmp_path).artifacts[1].project_files) == {"data/texts.txt", "data/questions.txt"}


@pytest.mark.parametrize(
    ("int8", "words"),
    [
        ("", "to compute in 'int8', it needs an artifact step/1/model.int8.onnx with maker = 'int8_onnx'"),
        (INT8.replace("accuracy = {", "accuracy = { kept = 1.5,"), "less than or equal to 1"),
        (INT8.replace('"sentences"', '"photographs"'), "'texts' are for on = 'sentences'"),
    ],
)
def test_a_recipe_that_cannot_be_quantized_is_refused(tmp_path: Path, int8: str, words: str) -> None:
    write_recipe(tmp_path, int8)
    with pytest.raises(EnsembleError) as refused:
        read_recipe(tmp_path)
    assert words in str(refused.value)


@pytest.mark.slow
def test_minilm_in_int8(minilm: Path, tmp_path: Path) -> None:
    """bert_trt's own recipe: accurate enough, four times smaller, and an answer does not depend on its batch."""
    recipe = tomllib.loads((ROOT / "ensembles" / "bert_trt" / RECIPE).read_text())
    (options,) = (entry["options"] for entry in recipe["artifacts"] if entry["maker"] == "int8_onnx")
    fp32, files = tmp_path / "fp32.onnx", {path.name: path for path in minilm.iterdir()}
    bert_onnx.make(Job(fp32, files, None, {}))
    files["model.onnx"] = fp32
    int8 = tmp_path / "model.int8.onnx"
    int8_onnx.make(Job(int8, files, "model.onnx", options, root=ROOT))
    assert int8.stat().st_size < 0.3 * fp32.stat().st_size
    judged = {"precision": "int8", "reference": "model.onnx"}
    facts = accuracy_on_sentences.make(
        Job(tmp_path / "facts.json", files | {"model.int8.onnx": int8}, "model.int8.onnx", judged)
    )
    assert facts["least_cosine_to_fp32"] >= 0.98 and facts["neighbours_kept"] >= 0.95
    vectors = []
    for size in (1, 32):
        feeds = accuracy_on_sentences.feeds(files, [size] * (64 // size))
        states = outputs(int8, "int8", feeds, accuracy_on_sentences.OUTPUT)
        pairs = zip(states, feeds, strict=True)
        vectors.append(
            np.concatenate([accuracy_on_sentences.embedded(hidden, feed["attn_mask"]) for hidden, feed in pairs])
        )
    assert (vectors[0] * vectors[1]).sum(axis=1).min() >= 0.9998
