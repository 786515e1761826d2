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
from tests.runtime.backends.conftest import ModelServer
from tests.runtime.backends.embedding import config, embedding
from tests.runtime.backends.networks import model_of


def identity_of_text() -> bytes:
    given, answer = (helper.make_tensor_value_info(name, TensorProto.STRING, ["batch", 1]) for name in ("IN", "OUT"))
    return model_of([helper.make_node("Identity", ["IN"], ["OUT"])], [given], [answer], {})


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
