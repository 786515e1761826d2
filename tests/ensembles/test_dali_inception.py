"""dali_inception on the real server against DALI and TensorFlow called directly, with real photographs."""

from __future__ import annotations

import io
import json
import urllib.request
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
from tests.ensembles.clients import PHOTOGRAPHS, classify
from tests.triton.test_server import wait_until
from triton_ensembles.triton.server import TritonServer

TOLERANCE = 1e-5


def encoded_photographs() -> dict[str, bytes]:
    """Real photographs as JPEG and PNG, from 97 to 1200 pixels wide."""
    images = {}
    for path in PHOTOGRAPHS:
        photograph = Image.open(path).convert("RGB")
        for width in (97, 299, 640, 1200):
            size = (width, round(width * photograph.height / photograph.width))
            stream = io.BytesIO()
            photograph.resize(size).save(stream, "PNG" if width == 97 else "JPEG", quality=90)
            images[f"{path.stem}-{width}"] = stream.getvalue()
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


def rows(images: list[bytes]) -> np.ndarray[Any, Any]:
    """Images of different lengths in one request: the shorter ones end in zeros, which decoders ignore."""
    batch = np.zeros((len(images), max(map(len, images))), np.uint8)
    for row, image in zip(batch, images, strict=True):
        row[: len(image)] = np.frombuffer(image, np.uint8)
    return batch


def infer(client: grpc.InferenceServerClient, images: list[bytes]) -> np.ndarray[Any, Any]:
    batch = rows(images)
    tensor = grpc.InferInput("INPUT", list(batch.shape), "UINT8")
    tensor.set_data_from_numpy(batch)
    result: np.ndarray[Any, Any] = client.infer("dali_inception", [tensor]).as_numpy("OUTPUT")
    return result


def test_answers_are_those_of_tensorflow_on_dalis_output(client: Any, expected: Any) -> None:
    for name, image in IMAGES.items():
        np.testing.assert_allclose(infer(client, [image])[0], expected[name], atol=TOLERANCE)
    # The network tells the two photographs apart; else agreement would prove nothing.
    first, second = (expected[f"{path.stem}-640"] for path in PHOTOGRAPHS)
    assert np.abs(first - second).max() > 100 * TOLERANCE


@pytest.mark.parametrize("batch", [1, 3, 32])
def test_http_json_http_binary_and_grpc_give_the_same_answer(
    server: TritonServer, client: Any, expected: Any, batch: int
) -> None:
    names = [name for name in IMAGES if not name.endswith("1200")]  # JSON writes an image at five times its size
    chosen = [names[number % len(names)] for number in range(batch)]
    images = [IMAGES[name] for name in chosen]
    answers = infer(client, images)
    np.testing.assert_allclose(answers, np.stack([expected[name] for name in chosen]), atol=TOLERANCE)
    data = rows(images)
    tensor = http.InferInput("INPUT", list(data.shape), "UINT8")
    tensor.set_data_from_numpy(data)
    with http.InferenceServerClient(server.http_url, network_timeout=120, connection_timeout=120) as other:
        binary = other.infer("dali_inception", [tensor]).as_numpy("OUTPUT")
    np.testing.assert_allclose(binary, answers, atol=TOLERANCE)
    if batch <= 3:
        body = {"inputs": [{"name": "INPUT", "shape": list(data.shape), "datatype": "UINT8", "data": data.tolist()}]}
        address = f"http://{server.http_url}/v2/models/dali_inception/infer"
        with urllib.request.urlopen(urllib.request.Request(address, json.dumps(body).encode())) as reply:
            (output,) = json.load(reply)["outputs"]
        np.testing.assert_allclose(np.array(output["data"]).reshape(output["shape"]), answers, atol=TOLERANCE)


def test_the_classification_extension_answers_with_names(server: TritonServer, expected: Any, built: Any) -> None:
    folder = built["dali_inception"].repository / "dali_inception.inception_graphdef"
    labels = (folder / "inception_labels.txt").read_text().splitlines()
    assert len(labels) == 1001
    name = next(iter(IMAGES))
    with http.InferenceServerClient(server.http_url) as client:
        answers = classify(client, IMAGES[name], top=5)
    best = np.argsort(expected[name])[::-1][:5]
    assert [index for _, index, _ in answers] == best.tolist()
    assert [label for _, _, label in answers] == [labels[index] for index in best]


def test_fifty_concurrent_clients_of_mixed_sizes_get_their_own_answers(server: TritonServer, expected: Any) -> None:
    names = list(IMAGES)

    def ask(number: int) -> float:
        chosen = [names[(number * 3 + offset) % len(names)] for offset in range(1 + number % 3)]
        with grpc.InferenceServerClient(server.grpc_url) as client:
            answers = infer(client, [IMAGES[name] for name in chosen])
        return float(np.abs(answers - np.stack([expected[name] for name in chosen])).max())

    with grpc.InferenceServerClient(server.grpc_url) as client:

        def executions() -> tuple[int, int]:
            (stats,) = client.get_inference_statistics("dali_inception.dali").model_stats
            return stats.inference_count, stats.execution_count

        before = executions()
        with ThreadPoolExecutor(50) as pool:
            assert max(pool.map(ask, range(50))) <= TOLERANCE
        images = sum(1 + number % 3 for number in range(50))
        wait_until(lambda: executions()[0] - before[0] == images)  # Triton counts an execution after its answers
        assert executions()[1] - before[1] < images / 2, "images of different lengths were not decoded in one batch"


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
        answers = list(pool.map(ask, range(36)))
    for number, answer in enumerate(answers):
        if number % 3 == 0:
            assert "row 1 of DALI_INPUT_0" in str(answer)
        else:
            assert isinstance(answer, float) and answer <= TOLERANCE


def test_a_wrong_dtype_is_refused_and_the_model_stays_healthy(client: Any, expected: Any) -> None:
    tensor = grpc.InferInput("INPUT", [1, 4], "FP32")
    tensor.set_data_from_numpy(np.zeros((1, 4), np.float32))
    with pytest.raises(InferenceServerException, match="data-type"):
        client.infer("dali_inception", [tensor])
    name = next(iter(IMAGES))
    np.testing.assert_allclose(infer(client, [IMAGES[name]])[0], expected[name], atol=TOLERANCE)
