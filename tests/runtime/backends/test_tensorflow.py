"""The tensorflow backend in the real server, on a small frozen graph."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tests.runtime.backends.conftest import Array, ModelServer, on_cpu

SOFTMAX = "InceptionV3/Predictions/Softmax"
CLASSES = 1001


def frozen_graph(batch: int | None = None) -> bytes:
    """A small graph with the tensors of InceptionV3: the image's 23 x 23 mean colors, one layer, softmax."""
    import tensorflow as tf

    weights = np.random.default_rng(0).standard_normal((13 * 13 * 3, CLASSES)).astype(np.float32) / 10
    with tf.Graph().as_default() as graph:
        images = tf.compat.v1.placeholder(tf.float32, [batch, 299, 299, 3], name="input")
        flat = tf.reshape(tf.nn.avg_pool2d(images, 23, 23, "VALID"), [-1, 13 * 13 * 3], name="colors")
        tf.nn.softmax(flat @ weights, name=SOFTMAX)
        content: bytes = graph.as_graph_def().SerializeToString()
    return content


@pytest.fixture(scope="module")
def directly() -> Any:
    """The graph run by TensorFlow without a server."""
    import tensorflow as tf

    definition = tf.compat.v1.GraphDef.FromString(frozen_graph())
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(definition, name="")
    session = tf.compat.v1.Session(graph=graph)
    yield lambda images: session.run(f"{SOFTMAX}:0", {"input:0": images})
    session.close()


@pytest.fixture(scope="module")
def server(model_server: ModelServer) -> ModelServer:
    labels = "".join(f"class {number}\n" for number in range(CLASSES)).encode()
    files = {"1/model.graphdef": frozen_graph(), "inception_labels.txt": labels}
    model_server.load("inception_graphdef", on_cpu("inception_graphdef"), files)
    return model_server


def images(seed: int, rows: int) -> Array:
    return np.random.default_rng(seed).uniform(-1, 1, (rows, 299, 299, 3)).astype(np.float32)


def test_answers_are_those_of_tensorflow(server: ModelServer, directly: Any) -> None:
    """Otherwise the server would compute something else than the graph, or mix up clients in a batch."""
    inputs = [images(seed, rows=1 + seed % 2) for seed in range(6)]
    answers = server.infer_together(
        "inception_graphdef", [SOFTMAX], [{"input": given} for given in inputs], more_than=2
    )
    for given, answer in zip(inputs, answers, strict=True):
        np.testing.assert_allclose(answer[SOFTMAX], directly(given), atol=1e-6)


def test_thread_counts_and_a_fixed_batch_axis_in_the_graph(server: ModelServer, directly: Any) -> None:
    """Otherwise a graph that was exported with batch size 1 could not be batched, as the native backend does."""
    text = on_cpu("inception_graphdef", "threads").replace('label_filename: "inception_labels.txt"', "")
    for key in ("TF_NUM_INTRA_THREADS", "TF_NUM_INTER_THREADS", "TF_SIGNATURE_DEF"):
        text += f'parameters {{ key: "{key}" value {{ string_value: "1" }} }}\n'
    server.load("threads", text, {"1/model.graphdef": frozen_graph(batch=1)})
    given = images(3, 2)
    np.testing.assert_allclose(server.infer("threads", [SOFTMAX], input=given)[SOFTMAX], directly(given), atol=1e-6)
    warning = "parameter TF_SIGNATURE_DEF of the config is unknown to this backend"
    assert warning in server.server.log.read_text()


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
