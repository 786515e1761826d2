"""The onnxruntime backend in the real server: what only ONNX Runtime does."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import tritonclient.grpc as triton
from onnx import TensorProto, helper

from checkout import ROOT
from tests.runtime.backends.embedding import TABLE, config, embedding, ids, parameter

if TYPE_CHECKING:
    from tests.runtime.backends.conftest import Array, ModelServer


def identity_of_text() -> bytes:
    texts = (helper.make_tensor_value_info(name, TensorProto.STRING, ["batch", 1]) for name in ("IN", "OUT"))
    graph = helper.make_graph([helper.make_node("Identity", ["IN"], ["OUT"])], "text", [next(texts)], [next(texts)])
    content: bytes = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9
    ).SerializeToString()
    return content


@pytest.fixture(scope="module")
def model(model_server: ModelServer) -> str:
    model_server.load("embedding", config("embedding", "onnxruntime"), {"1/model.onnx": embedding()})
    return "embedding"


def test_a_bad_request_fails_alone(model_server: ModelServer, model: str) -> None:
    """Otherwise one token id beyond the vocabulary would fail the whole batch."""
    given = [ids(seed, 1, 4) for seed in range(5)]
    given[2] = np.full((1, 4), 999, np.int32)

    def outcome(array: Array) -> Array | str:
        try:
            return model_server.infer(model, ["VECTORS"], IDS=array)["VECTORS"]
        except triton.InferenceServerException as error:
            return str(error)

    with ThreadPoolExecutor(5) as pool:
        answers = list(pool.map(outcome, given))
    assert "INVALID_ARGUMENT" in str(answers[2]) and "out of" in str(answers[2])
    for index in (0, 1, 3, 4):
        np.testing.assert_array_equal(answers[index], TABLE[given[index]])


def test_text_tensors(model_server: ModelServer) -> None:
    """Otherwise STRING tensors would arrive as bytes, which ONNX Runtime refuses."""
    model_server.load(
        "text",
        """name: "text" backend: "onnxruntime" max_batch_size: 4
        input [ { name: "IN" data_type: TYPE_STRING dims: [ 1 ] } ]
        output [ { name: "OUT" data_type: TYPE_STRING dims: [ 1 ] } ]
        instance_group [ { count: 1 kind: KIND_CPU } ]""",
        {"1/model.onnx": identity_of_text()},
    )
    texts = np.array([["Grüße".encode()], ["日本".encode()]], object)
    assert model_server.infer("text", ["OUT"], IN=texts)["OUT"].tolist() == texts.tolist()
    with pytest.raises(triton.InferenceServerException, match=r"IN .*UTF-8"):
        model_server.infer("text", ["OUT"], IN=np.array([[b"\xff"]], object))


def test_options_of_the_native_backend(model_server: ModelServer) -> None:
    """Otherwise thread counts in a config would have no effect, and a misspelled one would go unnoticed."""
    values = {
        "intra_op_thread_count": "1",
        "inter_op_thread_count": "1",
        "execution_mode": "1",
        "enable_mem_arena": "0",
        "enable_mem_pattern": "0",
        "memory.enable_memory_arena_shrinkage": "",
        "session.use_device_allocator_for_initializers": "1",
        "intra_op_threads": "1",
    }
    extra = "optimization { graph { level: -1 } }\n" + "".join(parameter(*item) for item in values.items())
    model_server.load("options", config("options", "onnxruntime", extra=extra), {"1/model.onnx": embedding()})
    given = ids(2, 1, 3)
    np.testing.assert_array_equal(model_server.infer("options", ["VECTORS"], IDS=given)["VECTORS"], TABLE[given])
    warnings = re.findall(
        r"parameter (\S+) of the config is unknown to this backend", model_server.server.log.read_text()
    )
    assert warnings == ["intra_op_threads"]


def test_two_instances(model_server: ModelServer) -> None:
    """Otherwise answers would depend on how many instances compute, which changes their numbers of threads."""
    text = config("twice", "onnxruntime").replace("count: 1", "count: 2")
    model_server.load("twice", text, {"1/model.onnx": embedding()})
    given = [ids(seed, 3, 5) for seed in range(40)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda array: model_server.infer("twice", ["VECTORS"], IDS=array)["VECTORS"], given))
    for array, answer in zip(given, answers, strict=True):
        np.testing.assert_array_equal(answer, TABLE[array])


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (parameter("intra_op_thread_count", "-1"), "intra_op_thread_count is .-1., but must"),
        ("optimization { graph { level: 7 } }", "graph.level is 7, but must be one of -1, 0, 1, 2"),
    ],
)
def test_invalid_options_are_refused(model_server: ModelServer, extra: str, message: str) -> None:
    """Otherwise a wrong option would have no effect, unnoticed."""
    text = config("bad", "onnxruntime", extra=extra)
    assert re.search(message, model_server.refusal("bad", text, {"1/model.onnx": embedding()}))


def test_a_file_without_a_batch_axis_is_refused(model_server: ModelServer) -> None:
    """Otherwise every batch would fail."""
    reason = model_server.refusal("bad", config("bad", "onnxruntime"), {"1/model.onnx": embedding(batch=1)})
    assert 'max_batch_size is 16, but input "IDS" of the file has no batch axis of any size in front: [1, -1]' in reason


def test_it_does_not_report_to_its_maker(tmp_path: Path) -> None:
    """Otherwise it leaves a file in /tmp of the container, and sends what it knows of the model."""
    code = "import triton_ensembles.runtime.backends.onnxruntime, onnxruntime"
    settings = {key: value for key, value in os.environ.items() if key not in ("CI", "ORT_DISABLE_TELEMETRY")}
    subprocess.run(
        [sys.executable, "-c", code], env={**settings, "TMPDIR": str(tmp_path)}, cwd=ROOT, check=True, timeout=120
    )
    assert not list(tmp_path.iterdir())
