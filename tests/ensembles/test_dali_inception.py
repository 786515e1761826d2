"""dali_inception on the real server against DALI and TensorFlow called directly, with real photographs."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from pipelines.dali_pipe import preprocess
from tests.ensembles.clients import PHOTOGRAPHS, infer, rows, saved

SERVED = ("dali_inception",)
TOLERANCE = 1e-5


def encoded_photographs() -> dict[str, bytes]:
    """Real photographs as JPEG and PNG, from 97 to 1200 pixels wide."""
    images = {}
    for path in PHOTOGRAPHS:
        photograph = Image.open(path).convert("RGB")
        for width in (97, 299, 640, 1200):
            size = (width, round(width * photograph.height / photograph.width))
            kind = "PNG" if width == 97 else "JPEG"
            images[f"{path.stem}-{width}"] = saved(photograph.resize(size), kind, quality=90)
    return images


IMAGES = encoded_photographs()


@pytest.fixture(scope="module")
def expected(inception_graph: Path) -> dict[str, Any]:
    """TensorFlow's answer to DALI's output, both called in this process, one image at a time."""
    import tensorflow as tf

    graph_def = tf.compat.v1.GraphDef()
    graph_def.ParseFromString(inception_graph.read_bytes())
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
        with tf.compat.v1.Session(graph=graph) as session:
            return {
                name: session.run("InceptionV3/Predictions/Softmax:0", {"input:0": preprocess(image)[None]})[0]
                for name, image in IMAGES.items()
            }


def test_answers_are_those_of_tensorflow_on_dalis_output(client: Any, expected: Any) -> None:
    for name, image in IMAGES.items():
        (answer,) = infer(client, "dali_inception", {"INPUT": rows([image])})["OUTPUT"]
        np.testing.assert_allclose(answer, expected[name], atol=TOLERANCE)
    # The network tells the two photographs apart; else agreement would prove nothing.
    first, second = (expected[f"{path.stem}-640"] for path in PHOTOGRAPHS)
    assert np.abs(first - second).max() > 100 * TOLERANCE
