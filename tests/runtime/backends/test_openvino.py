"""The openvino backend in the real server: what only OpenVINO does."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import openvino as ov
import pytest
import tritonclient.grpc as triton

from tests.runtime.backends.embedding import TABLE, WIDTH, config, embedding, ids, parameter
from triton_ensembles.ground.processes import descendants

if TYPE_CHECKING:
    from tests.runtime.backends.conftest import Array, ModelServer

KERNEL = np.random.default_rng(1).standard_normal((4, 3)).astype(np.float32)


def frozen_graph(batch: int | None = None) -> bytes:
    """input [batch, 4] -> scores [batch, 3], and after them shifted [batch, 3]."""
    import tensorflow as tf

    with tf.Graph().as_default() as graph:
        given = tf.compat.v1.placeholder(tf.float32, [batch, 4], name="input")
        scores = tf.matmul(given, KERNEL, name="layer/scores")
        tf.add(scores, 1.0, name="shifted")
        content: bytes = graph.as_graph_def().SerializeToString()
    return content


def graph_config(name: str, output: str) -> str:
    return f"""
name: "{name}" backend: "openvino" max_batch_size: 16 default_model_filename: "model.graphdef"
input [ {{ name: "input" data_type: TYPE_FP32 dims: [ 4 ] }} ]
output [ {{ name: "{output}" data_type: TYPE_FP32 dims: [ 3 ] }} ]
instance_group [ {{ count: 1 kind: KIND_CPU }} ]
"""


@pytest.mark.parametrize("batch", [None, 1])
@pytest.mark.parametrize("output", ["shifted", "layer/scores"])
def test_frozen_graph(model_server: ModelServer, output: str, batch: int | None) -> None:
    """Otherwise InceptionV3's graph would not load: its softmax is not its last tensor, and it has batch size 1."""
    name = f"graph_{output[:5]}_{batch}"
    model_server.load(name, graph_config(name, output), {"1/model.graphdef": frozen_graph(batch)})
    given = np.random.default_rng(2).standard_normal((3, 4)).astype(np.float32)
    answer = model_server.infer(name, [output], input=given)[output]
    np.testing.assert_allclose(answer, given @ KERNEL + (1 if output == "shifted" else 0), rtol=1e-5, atol=1e-6)


def test_a_tensor_that_the_graph_lacks(model_server: ModelServer) -> None:
    """Otherwise a misspelled output would be an unreadable error of OpenVINO."""
    reason = model_server.refusal("bad", graph_config("bad", "scores"), {"1/model.graphdef": frozen_graph()})
    assert 'has output "scores", but the file has "shifted"' in reason


def test_its_own_format_is_the_default(model_server: ModelServer, tmp_path: Path) -> None:
    """Otherwise a model.xml as the native backend serves it would not be found."""
    (tmp_path / "model.onnx").write_bytes(embedding())
    ov.save_model(ov.Core().read_model(tmp_path / "model.onnx"), tmp_path / "model.xml", compress_to_fp16=False)
    files = {f"1/{name}": (tmp_path / name).read_bytes() for name in ("model.xml", "model.bin")}
    model_server.load("own", config("own", "openvino").replace('default_model_filename: "model.onnx"', ""), files)
    given = ids(3, 2, 4)
    np.testing.assert_array_equal(model_server.infer("own", ["VECTORS"], IDS=given)["VECTORS"], TABLE[given])


def test_a_bad_request_fails_alone(model_server: ModelServer) -> None:
    """Otherwise a length that the file does not take would fail the whole batch."""
    model_server.load("four", config("four", "openvino"), {"1/model.onnx": embedding(length=4)})
    given = [ids(seed, 1, 4) for seed in range(5)]
    given[2] = ids(2, 1, 5)

    def outcome(array: Array) -> Array | str:
        try:
            return model_server.infer("four", ["VECTORS"], IDS=array)["VECTORS"]
        except triton.InferenceServerException as error:
            return str(error)

    with ThreadPoolExecutor(5) as pool:
        answers = list(pool.map(outcome, given))
    assert re.search(r"INVALID_ARGUMENT.*\(1\.5\)", str(answers[2])), answers[2]
    for index in (0, 1, 3, 4):
        np.testing.assert_array_equal(answers[index], TABLE[given[index]])


def test_precision_is_what_the_config_says(model_server: ModelServer) -> None:
    """Otherwise OpenVINO would compute in bf16 wherever the CPU has it, or nowhere."""
    given = np.random.default_rng(4).standard_normal((8, 4)).astype(np.float32)
    exact = given @ KERNEL
    errors = {}
    for name, hint in (("fp32", ""), ("bf16", parameter("HINT_BF16", "YES"))):
        model_server.load(name, graph_config(name, "layer/scores") + hint, {"1/model.graphdef": frozen_graph()})
        errors[name] = np.abs(model_server.infer(name, ["layer/scores"], input=given)["layer/scores"] - exact).max()
    assert errors["fp32"] < 1e-5
    if "BF16" in ov.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
        assert 1e-4 < errors["bf16"] < 0.1
    else:
        assert errors["bf16"] < 1e-5
        assert "this CPU has no bf16 instructions" in model_server.server.log.read_text()


def test_options_of_the_native_backend(model_server: ModelServer) -> None:
    """Otherwise a thread count in a config would have no effect, and an option that is not read would go unnoticed."""
    extra = parameter("INFERENCE_NUM_THREADS", "1") + parameter("CPU_EXTENSION_PATH", "/none.so")
    model_server.load("options", config("options", "openvino", extra=extra), {"1/model.onnx": embedding()})
    given = ids(5, 1, 3)
    assert model_server.infer("options", ["SUMS"], IDS=given)["SUMS"].shape == (1, WIDTH)
    log = model_server.server.log.read_text()
    assert re.findall(r"options: parameter (\S+) of the config is unknown to this backend", log) == [
        "CPU_EXTENSION_PATH"
    ]


def test_a_thread_count_that_is_none(model_server: ModelServer) -> None:
    """Otherwise an invalid value would be ignored silently."""
    text = config("bad", "openvino", extra=parameter("INFERENCE_NUM_THREADS", "two"))
    reason = model_server.refusal("bad", text, {"1/model.onnx": embedding()})
    assert re.search("INFERENCE_NUM_THREADS is .two., but must be a whole number", reason), reason


def test_padding_needs_an_axis_of_any_size(model_server: ModelServer) -> None:
    """Otherwise padded_batching would cut the wrong axis."""
    text = config("bad", "openvino", extra=parameter("padded_batching", "true"))
    reason = model_server.refusal("bad", text, {"1/model.onnx": embedding(length=4)})
    assert "padded_batching needs an axis of any size in the file's inputs, but there is none" in reason


@pytest.fixture(scope="module")
def own_format(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What a build makes of ``embedding()``, by path in the model's folder."""
    from tests.artifacts.test_openvino_ir import VECTORS, make

    file = make(embedding(), "model.onnx", VECTORS, tmp_path_factory.mktemp("ir"))
    return {f"1/{name}": file.with_name(name).read_bytes() for name in ("model.xml", "model.bin")}


def own_config(name: str) -> str:
    text = config(name, "openvino").replace("model.onnx", "model.xml")
    return re.sub(r'  \{ name: "SUMS".*\n', "", text)


def test_what_a_build_makes_loads(model_server: ModelServer, own_format: dict[str, bytes]) -> None:
    model_server.load("own", own_config("own"), own_format)
    given = ids(4, 2, 5)
    np.testing.assert_array_equal(model_server.infer("own", ["VECTORS"], IDS=given)["VECTORS"], TABLE[given])


def test_weights_that_are_packed_are_not_in_memory_once_more(model_server: ModelServer, tmp_path: Path) -> None:
    """Otherwise an archive would take its size again, of the pages that the load has read."""
    kernel = np.random.default_rng(3).standard_normal((1500, 1500)).astype(np.float32)
    given = ov.opset8.parameter([-1, 1500], np.float32, name="input")
    scores = ov.opset8.matmul(given, ov.opset8.constant(kernel), transpose_a=False, transpose_b=False)
    given.output(0).set_names({"input"})
    scores.output(0).set_names({"scores"})
    ov.save_model(ov.Model([scores], [given]), tmp_path / "model.xml", compress_to_fp16=False)
    text = graph_config("large", "scores").replace("model.graphdef", "model.xml").replace("[ 4 ]", "[ 1500 ]")
    files = {f"1/{name}": (tmp_path / name).read_bytes() for name in ("model.xml", "model.bin")}
    model_server.load("large", text.replace("[ 3 ]", "[ 1500 ]"), files)
    weights = str(model_server.repository.resolve() / "large" / "1" / "model.bin")
    resident = []
    for pid in descendants(os.getpid()):
        _, found, rest = Path(f"/proc/{pid}/smaps").read_text().partition(f"{weights}\n")
        if found:
            resident.append(int(rest.partition("Rss:")[2].split()[0]) << 10)
    assert resident and max(resident) < kernel.nbytes / 4
    rows = np.random.default_rng(4).standard_normal((2, 1500)).astype(np.float32)
    answer = model_server.infer("large", ["scores"], input=rows)["scores"]
    np.testing.assert_allclose(answer, rows @ kernel, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda content: content[: len(content) // 2], "cannot read model.xml with model.bin: Incorrect weights"),
        (lambda content: bytes(len(content)), "model.bin is damaged or of another build than model.xml"),
    ],
)
def test_damaged_weights_are_named(
    model_server: ModelServer, own_format: dict[str, bytes], damage: Callable[[bytes], bytes], message: str
) -> None:
    """Otherwise the answers would be wrong, and nobody would know."""
    files = own_format | {"1/model.bin": damage(own_format["1/model.bin"])}
    assert message in model_server.refusal("damaged", own_config("damaged"), files)
