"""Configs that leave out what the model's file says, as AWS's containers and NVIDIA's images take them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import pytest
import tritonclient.http as http
from onnx import TensorProto, helper

from tests.ensembles.clients import infer
from tests.running import serving
from tests.runtime.backends.networks import model_of
from triton_ensembles.triton.server import TritonServer

FLOAT = TensorProto.FLOAT


def doubling(*shape: str | int) -> bytes:
    """X (float32 of this shape) -> Y, twice as much."""
    x, y = (helper.make_tensor_value_info(name, FLOAT, shape) for name in "XY")
    return model_of([helper.make_node("Add", ["X", "X"], ["Y"])], [x], [y], {})


def written(repository: Path, name: str, content: bytes, config: str | None, file: str = "model.onnx") -> None:
    (repository / name / "1").mkdir(parents=True)
    (repository / name / "1" / file).write_bytes(content)
    if config is not None:
        (repository / name / "config.pbtxt").write_text(config)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[http.InferenceServerClient]:
    repository = tmp_path_factory.mktemp("repository")
    written(repository, "nothing", doubling("batch", 2), None)
    written(repository, "backend", doubling("batch", 2), 'backend: "onnxruntime"')
    written(repository, "platform", doubling("batch", "length", 2), 'platform: "onnxruntime_onnx"\nmax_batch_size: 8')
    written(repository, "one", doubling("batch", 2), 'backend: "onnxruntime"\nmax_batch_size: 1')
    written(repository, "fixed", doubling(3, 2), 'backend: "onnxruntime"')
    written(repository, "number", doubling(), 'backend: "onnxruntime"')
    written(repository, "row", doubling("batch"), 'backend: "onnxruntime"')
    inputs = 'input { name: "X" data_type: TYPE_FP32 dims: 2 }'
    written(repository, "half", doubling("batch", 2), f'backend: "onnxruntime"\n{inputs}')
    named = 'backend: "onnxruntime"\ndefault_model_filename: "net.onnx"'
    written(repository, "named", doubling("batch", 2), named, "net.onnx")
    written(repository, "openvino", doubling("batch", 2), 'backend: "openvino"\ndefault_model_filename: "model.onnx"')
    (repository / "layout" / "1").mkdir(parents=True)
    graph = ov.Core().read_model(doubling(1, 2))
    for port in (*graph.inputs, *graph.outputs):
        ov.layout_helpers.set_layout(port, ov.Layout("NC"))
    ov.save_model(graph, repository / "layout" / "1" / "model.xml")
    (repository / "layout" / "config.pbtxt").write_text('backend: "openvino"')
    written(repository, "refused", doubling(3, 2), 'backend: "onnxruntime"\nmax_batch_size: 8')
    flags = ("--exit-on-error=false", "--strict-readiness=false")
    with (
        serving(TritonServer([repository], completes=True, arguments=flags)) as server,
        http.InferenceServerClient(server.http_url) as client,
    ):
        yield client


def tensor(name: str, *dims: int, **more: Any) -> dict[str, Any]:
    return {"name": name, "data_type": "TYPE_FP32", "dims": list(dims), **more}


@pytest.mark.parametrize(
    ("model", "max_batch_size", "dims", "batches"),
    [
        ("nothing", 4, [2], True),
        ("backend", 4, [2], True),
        ("platform", 8, [-1, 2], True),
        ("one", 1, [2], False),
        ("fixed", 0, [3, 2], False),
        ("half", 4, [2], True),
        ("named", 4, [2], True),
        ("openvino", 0, [-1, -1], False),  # a file without layouts does not say whether it batches
        ("layout", 4, [2], True),
    ],
)
def test_the_file_says_what_the_config_leaves_out(
    model: str, max_batch_size: int, dims: list[int], batches: bool, client: http.InferenceServerClient
) -> None:
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
