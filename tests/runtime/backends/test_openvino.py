"""The openvino backend in the real server: what only OpenVINO does."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import openvino as ov
import pytest

from tests.runtime.backends.conftest import ModelServer, mapped_kilobytes
from tests.runtime.backends.embedding import TABLE, config, embedding, ids, parameter
from tests.runtime.backends.networks import KERNEL, frozen_graph, graph_config


def test_precision_is_what_the_config_says(model_server: ModelServer) -> None:
    """Otherwise OpenVINO would compute in bf16 nowhere; test_frozen_graphs.py shows that it is not wherever it can."""
    given = np.random.default_rng(4).standard_normal((8, 4)).astype(np.float32)
    text = graph_config("bf16", "openvino") + parameter("HINT_BF16", "YES")
    model_server.load("bf16", text, {"1/model.graphdef": frozen_graph()})
    error = np.abs(model_server.infer("bf16", ["layer/scores"], input=given)["layer/scores"] - given @ KERNEL).max()
    if "BF16" in ov.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
        assert 1e-4 < error < 0.1
    else:
        assert error < 1e-5
        assert model_server.said("this CPU has no bf16 instructions")


@pytest.fixture(scope="module")
def own_format(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What a build makes of ``embedding()``, by path in the model's folder."""
    from tests.artifacts.test_openvino_ir import VECTORS, make

    file = make(embedding(), "model.onnx", VECTORS, tmp_path_factory.mktemp("ir"))
    return {f"1/{name}": file.with_name(name).read_bytes() for name in ("model.xml", "model.bin")}


def own_config(name: str) -> str:
    text = config(name, "openvino").replace('default_model_filename: "model.onnx"', "")
    return re.sub(r'  \{ name: "SUMS".*\n', "", text)


def test_what_a_build_makes_loads(model_server: ModelServer, own_format: dict[str, bytes]) -> None:
    """Otherwise a model.xml as the native backend serves it would not be found: that name is the default."""
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
    text = (
        graph_config("large", "openvino", "scores").replace("model.graphdef", "model.xml").replace("[ 4 ]", "[ 1500 ]")
    )
    files = {f"1/{name}": (tmp_path / name).read_bytes() for name in ("model.xml", "model.bin")}
    model_server.load("large", text.replace("[ 3 ]", "[ 1500 ]"), files)
    (sizes,) = mapped_kilobytes(model_server.repository / "large" / "1" / "model.bin")
    assert sizes["Rss"] * 1024 < kernel.nbytes / 4
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
    assert message in model_server.refusal(own_config("damaged"), files)
