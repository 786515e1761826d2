"""dali_inception on the real server against DALI and TensorFlow called directly, with real photographs."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.http as http
from PIL import Image
from tritonclient.utils import InferenceServerException

from pipelines.dali_pipe import preprocess
from tests.ensembles import clients
from tests.ensembles.clients import PHOTOGRAPHS, Array, classify, rows, saved
from triton_ensembles.server.triton_server import TritonServer

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


def infer(client: Any, images: list[bytes]) -> Array:
    return clients.infer(client, "dali_inception", {"INPUT": rows(images)})["OUTPUT"]


def test_answers_are_those_of_tensorflow_on_dalis_output(client: Any, expected: Any) -> None:
    for name, image in IMAGES.items():
        np.testing.assert_allclose(infer(client, [image])[0], expected[name], atol=TOLERANCE)
    # The network tells the two photographs apart; else agreement would prove nothing.
    first, second = (expected[f"{path.stem}-640"] for path in PHOTOGRAPHS)
    assert np.abs(first - second).max() > 100 * TOLERANCE


def test_the_classification_extension_answers_with_names(client: Any, expected: Any, built: Any) -> None:
    folder = built["dali_inception"].repository / "dali_inception.inception_graphdef"
    labels = (folder / "inception_labels.txt").read_text().splitlines()
    assert len(labels) == 1001
    name = next(iter(IMAGES))
    answers = classify(client, "dali_inception", "INPUT", rows([IMAGES[name]])[0], "OUTPUT")
    best = np.argsort(expected[name])[::-1][:5]
    assert answers == [(index, labels[index]) for index in best]


BAD = {"text": b"this is not an image at all", "empty": bytes(64), "cut": IMAGES["china-640"][:2000]}


def test_bad_images_name_their_row_and_fail_alone(server: TritonServer, expected: Any) -> None:
    """Good requests sent at the same time, and so batched with the bad ones, get their own answers."""
    names = list(IMAGES)

    def ask(number: int) -> str | float:
        with http.InferenceServerClient(server.http_url, network_timeout=300, connection_timeout=300) as client:
            name = names[number % len(names)]
            if number % 3 == 0:
                bad = list(BAD.values())[number % len(BAD)]
                with pytest.raises(InferenceServerException) as caught:
                    infer(client, [IMAGES[name], bad])
                return str(caught.value)
            return float(np.abs(infer(client, [IMAGES[name]])[0] - expected[name]).max())

    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(ask, range(18)))
    for number, answer in enumerate(answers):
        if number % 3 == 0:
            assert "row 1 of DALI_INPUT_0" in str(answer)
        else:
            assert isinstance(answer, float) and answer <= TOLERANCE
