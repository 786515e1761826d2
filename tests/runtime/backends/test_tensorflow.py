"""The tensorflow backend in the real server, on a small frozen graph."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.http as http
from google.protobuf.json_format import MessageToJson

from tests.configs import ON_CPU, tensors
from tests.ensembles.clients import infer
from tests.files import write_files
from tests.running import serving
from tests.runtime.backends.conftest import ModelServer, on_cpu
from tests.runtime.backends.embedding import parameter
from triton_ensembles.runtime.backends.tensorflow.completion import complete
from triton_ensembles.server.triton_server import TritonServer
from triton_ensembles.triton.model_config import parse_config

SOFTMAX = "InceptionV3/Predictions/Softmax"
CLASSES = 1001
WEIGHTS = np.random.default_rng(0).standard_normal((13 * 13 * 3, CLASSES)).astype(np.float32) / 10


def frozen_graph(batch: int | None = None) -> bytes:
    """A small graph with the tensors of InceptionV3: the image's 23 x 23 mean colors, one layer, softmax."""
    import tensorflow as tf

    with tf.Graph().as_default() as graph:
        images = tf.compat.v1.placeholder(tf.float32, [batch, 299, 299, 3], name="input")
        flat = tf.reshape(tf.nn.avg_pool2d(images, 23, 23, "VALID"), [-1, 13 * 13 * 3], name="colors")
        tf.nn.softmax(flat @ WEIGHTS, name=SOFTMAX)
        content: bytes = graph.as_graph_def().SerializeToString()
    return content


def test_answers_are_those_of_the_graph(model_server: ModelServer) -> None:
    """Otherwise the server would compute something else than the graph, mix up clients in a batch, or not batch a graph
    that was exported with batch size 1, as the native backend does."""
    labels = "".join(f"class {number}\n" for number in range(CLASSES)).encode()
    files = {"1/model.graphdef": frozen_graph(batch=1), "inception_labels.txt": labels}
    keys = ("TF_NUM_INTRA_THREADS", "TF_NUM_INTER_THREADS")
    name = "inception_graphdef"
    model_server.load(name, on_cpu(name) + "".join(parameter(key, "1") for key in keys), files)
    random = np.random.default_rng(0)
    inputs = [random.uniform(-1, 1, (1 + number % 2, 299, 299, 3)).astype(np.float32) for number in range(6)]
    answers = model_server.infer_together(name, [SOFTMAX], [{"input": given} for given in inputs], more_than=2)
    for given, answer in zip(inputs, answers, strict=True):
        colors = given.reshape(-1, 13, 23, 13, 23, 3).mean(axis=(2, 4)).reshape(len(given), -1)
        powers = np.exp(colors @ WEIGHTS)
        np.testing.assert_allclose(answer[SOFTMAX], powers / powers.sum(axis=1, keepdims=True), atol=1e-6)


@pytest.fixture(scope="module")
def saved_model(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a SavedModel that multiplies by a variable, as AWS's notebooks of TensorFlow have one of MNIST."""
    import tensorflow as tf

    class Triple(tf.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.factor = tf.Variable(3.0)

        @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, name="input_1")])  # type: ignore[untyped-decorator]
        def __call__(self, input_1: Any) -> dict[str, Any]:
            return {"output_1": input_1 * self.factor}

    folder = tmp_path_factory.mktemp("saved")
    module = Triple()
    tf.saved_model.save(module, str(folder), signatures=module.__call__)
    files = (path for path in folder.rglob("*") if path.is_file())
    return {f"1/model.savedmodel/{path.relative_to(folder)}": path.read_bytes() for path in files}


SAVED = f"""platform: "tensorflow_savedmodel" dynamic_batching {{ }}
{tensors("input_1:FP32:-1,2", "output_1:FP32:-1,2")}{ON_CPU}"""


def test_a_saved_model_without_a_config_answers_by_the_names_of_its_signature(
    saved_model: dict[str, bytes], tmp_path: Path
) -> None:
    """Otherwise a folder that AWS's container takes does not load here."""
    write_files(tmp_path / "saved", saved_model)
    with (
        serving(TritonServer([tmp_path], completes=True)) as server,
        http.InferenceServerClient(server.http_url) as client,
    ):
        completed = client.get_model_config("saved")
        assert [tensor["dims"] for tensor in completed["input"]] == [[2]]
        assert "dynamic_batching" in completed and completed["max_batch_size"] == 4
        given = np.array([[1, 2], [3, 4]], np.float32)
        np.testing.assert_array_equal(infer(client, "saved", {"input_1": given})["output_1"], given * 3)


@pytest.mark.parametrize(
    ("config", "batch_size"),
    [
        ("", 4),
        ("max_batch_size: 8", 8),
        ('input [ { name: "input_1" data_type: TYPE_FP32 dims: [ 2 ] } ]', 4),
        ('input [ { name: "input_1" data_type: TYPE_FP32 dims: [ -1, 2 ] } ]', 0),
    ],
)
def test_its_config_is_completed_from_the_signature(
    saved_model: dict[str, bytes], config: str, batch_size: int, tmp_path: Path
) -> None:
    """Each start of a model imports TensorFlow twice, so the server is not asked about each config."""
    write_files(tmp_path, saved_model)
    completed = json.loads(MessageToJson(parse_config(config, "config.pbtxt"), preserving_proto_field_name=True))
    complete(completed, tmp_path / "1" / "model.savedmodel")
    dims = [2] if batch_size else [-1, 2]
    for kind, name in (("input", "input_1"), ("output", "output_1")):
        (tensor,) = completed[kind]
        assert (tensor["name"], [int(size) for size in tensor["dims"]]) == (name, dims)
    assert ("dynamic_batching" in completed, completed.get("max_batch_size", 0)) == (batch_size > 0, batch_size)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("input_1", "input", 'has input "input", but the file has "input_1"'),
        ("-1, 2", "-1, 3", r"is \[-1, 3\] in the config, but \[-1, 2\]"),
        ("TF_", "TF_SIGNATURE_DEF", 'model.savedmodel has no signature "x" .*: it has .*serving_default'),
        ("TF_", "TF_GRAPH_TAG", "cannot load model.savedmodel: MetaGraphDef associated with tags"),
    ],
)
def test_a_config_that_does_not_match_the_saved_model_is_refused(
    model_server: ModelServer, saved_model: dict[str, bytes], old: str, new: str, message: str
) -> None:
    text = SAVED + 'default_model_filename: "model.savedmodel" parameters { key: "TF_" value { string_value: "x" } }'
    reason = model_server.refusal(text.replace(old, new), saved_model)
    assert re.search(message, reason), reason


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name: "input"', 'name: "image"', 'has input "image", but the file has "input"'),
        (SOFTMAX, "Softmax", f'output "Softmax", but the graph has no such tensor; it ends in "{SOFTMAX}"'),
        ("dims: [ 1001 ]", "dims: [ 1000 ]", r"is \[-1, 1000\] with the batch axis in the config, but \[-1, 1001\]"),
        ("", "", "model.graphdef is not a TensorFlow GraphDef"),
    ],
)
def test_a_config_or_a_file_that_does_not_match_is_refused(
    model_server: ModelServer, old: str, new: str, message: str
) -> None:
    """Otherwise a wrong config would load and fail at the first request, or give an unreadable error of protobuf."""
    text = on_cpu("inception_graphdef", "bad").replace('label_filename: "inception_labels.txt"', "")
    assert old in text
    content = frozen_graph() if old else b"junk"
    reason = model_server.refusal(text.replace(old, new, 1), {"1/model.graphdef": content})
    assert re.search(message, reason), reason
