"""Configs that leave out what the model's file says, as AWS's containers and NVIDIA's images take them."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import openvino as ov
import pytest
import tritonclient.http as http
from onnx import TensorProto, helper

from tests.ensembles.clients import infer
from tests.files import write_files
from tests.running import serving
from tests.runtime.backends.networks import model_of, save_model
from triton_ensembles.server.clients import http_client
from triton_ensembles.server.triton_server import TritonServer

FLOAT = TensorProto.FLOAT


def doubling(*shape: str | int) -> bytes:
    """X (float32 of this shape) -> Y, twice as much."""
    x, y = (helper.make_tensor_value_info(name, FLOAT, shape) for name in "XY")
    return model_of([helper.make_node("Add", ["X", "X"], ["Y"])], [x], [y], {})


def written(repository: Path, name: str, content: bytes, config: str | None) -> None:
    write_files(repository / name, {"1/model.onnx": content} | ({"config.pbtxt": config} if config else {}))


ROWS = doubling("batch", 2)
# By name: the file, its config, and what the server makes of it: max_batch_size, dims, and whether requests are joined.
MODELS: dict[str, tuple[bytes, str, int, list[int], bool]] = {
    "nothing": (ROWS, "", 4, [2], True),
    "half": (ROWS, 'backend: "onnxruntime" input { name: "X" data_type: TYPE_FP32 dims: 2 }', 4, [2], True),
    "platform": (doubling("batch", "length", 2), 'platform: "onnxruntime_onnx" max_batch_size: 8', 8, [-1, 2], True),
    "one": (ROWS, 'backend: "onnxruntime" max_batch_size: 1', 1, [2], False),
    "fixed": (doubling(3, 2), 'backend: "onnxruntime"', 0, [3, 2], False),
    # A file without layouts does not say whether it batches.
    "openvino": (ROWS, 'backend: "openvino" default_model_filename: "model.onnx"', 0, [-1, -1], False),
    "layout": (doubling(1, 2), 'backend: "openvino"', 4, [2], True),
    "named": (ROWS, 'backend: "onnxruntime" default_model_filename: "net.onnx"', 4, [2], True),
    # AWS's container takes such a folder.
    "saved": (b"", "", 4, [2], True),
}
OTHERS = {
    "number": (doubling(), 'backend: "onnxruntime"'),
    "row": (doubling("batch"), 'backend: "onnxruntime"'),
    "refused": (doubling(3, 2), 'backend: "onnxruntime" max_batch_size: 8'),
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[http.InferenceServerClient]:
    repository = tmp_path_factory.mktemp("repository")
    for name, (content, config, *_) in (MODELS | OTHERS).items():
        written(repository, name, content, config)
    (repository / "named" / "1" / "model.onnx").rename(repository / "named" / "1" / "net.onnx")
    (repository / "saved" / "1" / "model.onnx").unlink()
    save_model(repository / "saved" / "1" / "model.savedmodel")
    graph = ov.Core().read_model(repository / "layout" / "1" / "model.onnx")
    for port in (*graph.inputs, *graph.outputs):
        ov.layout_helpers.set_layout(port, ov.Layout("NC"))
    ov.save_model(graph, repository / "layout" / "1" / "model.xml")
    flags = ("--exit-on-error=false", "--strict-readiness=false")
    with serving(TritonServer([repository], arguments=flags)) as server, http_client(server) as client:
        yield client


@pytest.mark.parametrize("model", MODELS)
def test_the_file_says_what_the_config_leaves_out(model: str, client: http.InferenceServerClient) -> None:
    *_, max_batch_size, dims, batches = MODELS[model]
    config = client.get_model_config(model)
    assert config["max_batch_size"] == max_batch_size
    for kind, name in (("input", "X"), ("output", "Y")):
        (only,) = config[kind]
        assert (only["name"], only["data_type"], [int(size) for size in only["dims"]]) == (name, "TYPE_FP32", dims)
    assert ("dynamic_batching" in config) == batches
    rows = np.ones((3, *(size if size > 0 else 2 for size in dims[1 if max_batch_size == 0 else 0 :])), np.float32)
    rows = rows[:1] if max_batch_size == 1 else rows
    assert infer(client, model, {"X": rows})["Y"].tolist() == (rows * 2).tolist()


def test_a_single_number_has_dims_of_one(client: http.InferenceServerClient) -> None:
    assert client.get_model_config("number")["input"][0]["dims"] == [1]
    assert infer(client, "number", {"X": np.array([3], np.float32)})["Y"].tolist() == [6]


def test_a_number_for_each_row_is_reshaped(client: http.InferenceServerClient) -> None:
    assert client.get_model_config("row")["input"][0]["reshape"] == {"shape": []}
    assert infer(client, "row", {"X": np.ones((3, 1), np.float32)})["Y"].tolist() == [[2], [2], [2]]


def test_a_file_that_cannot_batch_refuses_a_batch_size(client: http.InferenceServerClient) -> None:
    reasons = {model["name"]: model.get("reason", "") for model in client.get_model_repository_index()}
    assert [name for name, reason in reasons.items() if reason] == ["refused"]
    assert "model does not support batching while non-zero max_batch_size" in reasons["refused"]
