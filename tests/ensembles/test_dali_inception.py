"""dali_inception on the real server against DALI and TensorFlow called directly, with real photographs."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as grpc
import tritonclient.http as http
from PIL import Image
from tritonclient.utils import InferenceServerException

from pipelines.dali_pipe import preprocess
from tests.ensembles import clients
from tests.ensembles.clients import PHOTOGRAPHS, Array, answers_each_way, classify, executions, rows, saved
from triton_ensembles.triton.server import TritonServer

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


@pytest.fixture
def client(server: TritonServer) -> Iterator[grpc.InferenceServerClient]:
    with grpc.InferenceServerClient(server.grpc_url) as client:
        yield client


def infer(client: Any, images: list[bytes]) -> Array:
    return clients.infer(client, "dali_inception", {"INPUT": rows(images)})["OUTPUT"]


def test_answers_are_those_of_tensorflow_on_dalis_output(client: Any, expected: Any) -> None:
    for name, image in IMAGES.items():
        np.testing.assert_allclose(infer(client, [image])[0], expected[name], atol=TOLERANCE)
    # The network tells the two photographs apart; else agreement would prove nothing.
    first, second = (expected[f"{path.stem}-640"] for path in PHOTOGRAPHS)
    assert np.abs(first - second).max() > 100 * TOLERANCE


@pytest.mark.parametrize("batch", [1, 3, 32])
def test_http_json_http_binary_and_grpc_give_the_same_answer(server: TritonServer, expected: Any, batch: int) -> None:
    names = [name for name in IMAGES if not name.endswith("1200")]  # JSON writes an image at five times its size
    chosen = [names[number % len(names)] for number in range(batch)]
    data = rows([IMAGES[name] for name in chosen])
    for answer in answers_each_way(server, "dali_inception", "INPUT", data, with_json=batch <= 3).values():
        np.testing.assert_allclose(answer, np.stack([expected[name] for name in chosen]), atol=TOLERANCE)


def test_the_classification_extension_answers_with_names(server: TritonServer, expected: Any, built: Any) -> None:
    folder = built["dali_inception"].repository / "dali_inception.inception_graphdef"
    labels = (folder / "inception_labels.txt").read_text().splitlines()
    assert len(labels) == 1001
    name = next(iter(IMAGES))
    with http.InferenceServerClient(server.http_url) as client:
        answers = classify(client, "dali_inception", "INPUT", rows([IMAGES[name]])[0], "OUTPUT")
    best = np.argsort(expected[name])[::-1][:5]
    assert answers == [(index, labels[index]) for index in best]


def test_fifty_concurrent_clients_of_mixed_sizes_get_their_own_answers(server: TritonServer, expected: Any) -> None:
    names = list(IMAGES)

    def ask(number: int) -> float:
        chosen = [names[(number * 3 + offset) % len(names)] for offset in range(1 + number % 3)]
        with grpc.InferenceServerClient(server.grpc_url) as client:
            answers = infer(client, [IMAGES[name] for name in chosen])
        return float(np.abs(answers - np.stack([expected[name] for name in chosen])).max())

    def send() -> None:
        with ThreadPoolExecutor(50) as pool:
            assert max(pool.map(ask, range(50))) <= TOLERANCE

    count = sum(1 + number % 3 for number in range(50))
    joined = executions(server, "dali_inception.dali", count, send) < count / 2
    assert joined, "images of different lengths were not decoded in one batch"


BAD = {"text": b"this is not an image at all", "empty": bytes(64), "cut": IMAGES["china-640"][:2000]}


def test_bad_images_name_their_row_and_fail_alone(server: TritonServer, expected: Any) -> None:
    """Good requests sent at the same time, and so batched with the bad ones, get their own answers."""
    names = list(IMAGES)

    def ask(number: int) -> str | float:
        with grpc.InferenceServerClient(server.grpc_url) as client:
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
