"""The onnxruntime backend in the real server: what only ONNX Runtime does."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tritonclient.grpc as triton
from onnx import TensorProto, helper

from checkout import ROOT
from tests.configs import ON_CPU, tensors
from tests.runtime.backends.conftest import ModelServer
from tests.runtime.backends.embedding import config, embedding
from tests.runtime.backends.networks import model_of


def identity_of_text() -> bytes:
    given, answer = (helper.make_tensor_value_info(name, TensorProto.STRING, ["batch", 1]) for name in ("IN", "OUT"))
    return model_of([helper.make_node("Identity", ["IN"], ["OUT"])], [given], [answer], {})


def test_text_tensors(model_server: ModelServer) -> None:
    """Otherwise STRING tensors would arrive as bytes, which ONNX Runtime refuses."""
    text = f'name: "text" backend: "onnxruntime" max_batch_size: 4\n{tensors("IN:STRING:1", "OUT:STRING:1")}{ON_CPU}'
    model_server.load("text", text, {"1/model.onnx": identity_of_text()})
    texts = np.array([["Grüße".encode()], ["日本".encode()]], object)
    assert model_server.infer("text", ["OUT"], IN=texts)["OUT"].tolist() == texts.tolist()
    with pytest.raises(triton.InferenceServerException, match=r"IN .*UTF-8"):
        model_server.infer("text", ["OUT"], IN=np.array([[b"\xff"]], object))


SEQUENCE = f"""name: "sequence" backend: "onnxruntime" max_batch_size: 4
{tensors("X:FP32:1", "Y:FP32:1")}{ON_CPU}"""
SEQUENCE += """
    sequence_batching { MORE control_input [
      { name: "START" control [ { kind: CONTROL_SEQUENCE_START fp32_false_true: [ 0, 1 ] } ] },
      { name: "ID" control [ { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_UINT64 } ] } ] }"""


def _sum_of_inputs() -> bytes:
    """Y = X + START + ID."""
    types = {"X": TensorProto.FLOAT, "START": TensorProto.FLOAT, "ID": TensorProto.UINT64, "Y": TensorProto.FLOAT}
    x, start, id_, y = (helper.make_tensor_value_info(name, kind, ["batch", 1]) for name, kind in types.items())
    cast = helper.make_node("Cast", ["ID"], ["id"], to=TensorProto.FLOAT)
    return model_of([cast, helper.make_node("Sum", ["X", "START", "id"], ["Y"])], [x, start, id_], [y], {})


def test_the_sequence_batcher_brings_the_inputs_of_its_controls(model_server: ModelServer) -> None:
    """Otherwise a model that keeps sequences apart loads on NVIDIA's engine only."""
    model_server.load("sequence", SEQUENCE.replace("MORE", ""), {"1/model.onnx": _sum_of_inputs()})
    given = triton.InferInput("X", [1, 1], "FP32").set_data_from_numpy(np.ones((1, 1), np.float32))
    answers = [
        model_server.client.infer("sequence", [given], sequence_id=40, sequence_start=start, sequence_end=not start)
        for start in (True, False)
    ]
    assert [answer.as_numpy("Y").tolist() for answer in answers] == [[[42]], [[41]]]


def test_an_implicit_state_is_refused_by_name(model_server: ModelServer) -> None:
    """Otherwise each request of a sequence begins with the initial state, and nobody is told."""
    state = 'state [ { input_name: "S" output_name: "T" data_type: TYPE_FP32 dims: [ 1 ] } ]'
    reason = model_server.refusal(SEQUENCE.replace("MORE", state), {"1/model.onnx": _sum_of_inputs()})
    assert 'sequence_batching has the implicit state "S"' in reason


def test_a_file_without_a_batch_axis_is_refused(model_server: ModelServer) -> None:
    """Otherwise every batch would fail."""
    reason = model_server.refusal(config("bad", "onnxruntime"), {"1/model.onnx": embedding(batch=1)})
    assert 'max_batch_size is 16, but input "IDS" of the file has no batch axis of any size in front: [1, -1]' in reason


def test_it_does_not_report_to_its_maker(tmp_path: Path) -> None:
    """Otherwise it leaves a file in /tmp of the container, and sends what it knows of the model."""
    code = "import triton_ensembles.runtime.backends.onnxruntime, onnxruntime"
    settings = {key: value for key, value in os.environ.items() if key not in ("CI", "ORT_DISABLE_TELEMETRY")}
    subprocess.run(
        [sys.executable, "-c", code], env={**settings, "TMPDIR": str(tmp_path)}, cwd=ROOT, check=True, timeout=120
    )
    assert not list(tmp_path.iterdir())
