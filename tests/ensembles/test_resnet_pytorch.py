"""resnet_pytorch on the real server against the same network run by torch in this process, with real photographs."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
import tritonclient.grpc as grpc
import tritonclient.http as http
from sklearn.datasets import load_sample_images
from tritonclient.utils import InferenceServerException

from tests.ensembles.clients import PHOTOGRAPHS, classify_pixels, imagenet_pixels
from tests.ensembles.resnet import eager_network
from tests.triton.test_server import wait_until
from triton_ensembles.building.built import Built
from triton_ensembles.building.places import Places
from triton_ensembles.triton.server import TritonServer

TOLERANCE = 1e-4  # of the largest logit

Array = np.ndarray[Any, Any]


def views() -> Array:
    """The two photographs whole, their mirror images and their quarters, as clients preprocess them."""
    from PIL import Image

    made = [imagenet_pixels(path.read_bytes()) for path in PHOTOGRAPHS]
    made += [image[:, :, ::-1] for image in made[:2]]
    for picture in load_sample_images().images:
        height, width = picture.shape[0] // 2, picture.shape[1] // 2
        for top in (0, height):
            for left in (0, width):
                made.append(imagenet_pixels(_png(Image.fromarray(picture[top : top + height, left : left + width]))))
    return np.ascontiguousarray(np.stack(made))


def _png(image: Any) -> bytes:
    import io

    stream = io.BytesIO()
    image.save(stream, "PNG")
    return stream.getvalue()


IMAGES = views()


@pytest.fixture(scope="module")
def expected(built: dict[str, Built], places: Places) -> Array:
    """The network itself, not the file that was made of it, one image at a time."""
    network = eager_network(built["resnet_pytorch"], places)
    with torch.inference_mode():
        return np.concatenate([network(torch.from_numpy(image[None])).numpy() for image in IMAGES])


@pytest.fixture
def client(server: TritonServer) -> Iterator[grpc.InferenceServerClient]:
    with grpc.InferenceServerClient(server.grpc_url) as client:
        yield client


def infer(client: Any, images: Array, module: Any = grpc, name: str = "resnet_pytorch") -> Array:
    tensor = module.InferInput("INPUT__0", list(images.shape), "FP32")
    tensor.set_data_from_numpy(images)
    result: Array = client.infer(name, [tensor]).as_numpy("OUTPUT__0")
    return result


def worst(answers: Array, expected: Array) -> float:
    return float(np.abs(answers - expected).max() / np.abs(expected).max())


def test_answers_are_those_of_torch(client: Any, expected: Array) -> None:
    for image, logits in zip(IMAGES, expected, strict=True):
        assert worst(infer(client, image[None])[0], logits) <= TOLERANCE
    # The network tells photographs apart; else agreement would prove nothing.
    assert worst(expected[1:], expected[:-1]) > 100 * TOLERANCE


@pytest.mark.parametrize("batch", [1, 5, 32])
def test_http_json_http_binary_and_grpc_give_the_same_answer(
    server: TritonServer, client: Any, expected: Array, batch: int
) -> None:
    chosen = [number % len(IMAGES) for number in range(batch)]
    images = IMAGES[chosen]
    assert worst(infer(client, images), expected[chosen]) <= TOLERANCE
    with http.InferenceServerClient(server.http_url, network_timeout=120, connection_timeout=120) as other:
        assert worst(infer(other, images, http), expected[chosen]) <= TOLERANCE
    if batch == 1:
        tensor = {"name": "INPUT__0", "shape": list(images.shape), "datatype": "FP32", "data": images.tolist()}
        address = f"http://{server.http_url}/v2/models/resnet_pytorch/infer"
        body = json.dumps({"inputs": [tensor]}).encode()
        with urllib.request.urlopen(urllib.request.Request(address, body)) as reply:
            (output,) = json.load(reply)["outputs"]
        assert worst(np.array(output["data"]).reshape(output["shape"]), expected[chosen]) <= TOLERANCE


def test_concurrent_clients_are_batched_and_get_their_own_answers(server: TritonServer, expected: Array) -> None:
    def ask(number: int) -> float:
        chosen = [(number * 3 + offset) % len(IMAGES) for offset in range(1 + number % 3)]
        with grpc.InferenceServerClient(server.grpc_url) as client:
            return worst(infer(client, IMAGES[chosen]), expected[chosen])

    with grpc.InferenceServerClient(server.grpc_url) as client:

        def executions() -> tuple[int, int]:
            (stats,) = client.get_inference_statistics("resnet_pytorch.resnet").model_stats
            return stats.inference_count, stats.execution_count

        before = executions()
        with ThreadPoolExecutor(16) as pool:
            assert max(pool.map(ask, range(24))) <= TOLERANCE
        wait_until(lambda: executions()[0] - before[0] == 48)  # Triton counts an execution after its answers
        assert executions()[1] - before[1] < 24, "requests were not joined"


def test_the_classification_extension_answers_with_names(
    server: TritonServer, expected: Array, built: dict[str, Built]
) -> None:
    labels = (built["resnet_pytorch"].repository / "resnet_pytorch.resnet" / "imagenet_classes.txt").read_text()
    assert len(labels.splitlines()) == 1000
    with http.InferenceServerClient(server.http_url) as client:
        answers = classify_pixels(client, IMAGES[0], top=5)
    best = np.argsort(expected[0])[::-1][:5]
    assert [index for _, index, _ in answers] == best.tolist()
    assert [label for _, _, label in answers] == [labels.splitlines()[index] for index in best]


def test_a_wrong_shape_or_dtype_is_refused_and_the_model_stays_healthy(client: Any, expected: Array) -> None:
    with pytest.raises(InferenceServerException, match="unexpected shape for input 'INPUT__0'"):
        infer(client, np.zeros((1, 3, 225, 224), np.float32))
    with pytest.raises(InferenceServerException, match="batch-size must be <= 32"):
        infer(client, np.zeros((33, 3, 224, 224), np.float32))
    tensor = grpc.InferInput("INPUT__0", [1, 3, 224, 224], "FP64")
    tensor.set_data_from_numpy(np.zeros((1, 3, 224, 224)))
    with pytest.raises(InferenceServerException, match="data-type"):
        client.infer("resnet_pytorch", [tensor])
    assert worst(infer(client, IMAGES[:1]), expected[:1]) <= TOLERANCE
