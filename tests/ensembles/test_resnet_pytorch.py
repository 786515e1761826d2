"""resnet_pytorch on the real server against the same network run by torch in this process, with real photographs."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
import tritonclient.grpc as grpc
import tritonclient.http as http
from PIL import Image

from pipelines.make_resnet50 import ResNet50, fill
from tests.ensembles import clients
from tests.ensembles.clients import PHOTOGRAPHS, Array, answers_each_way, classify, executions, imagenet_pixels, saved
from triton_ensembles.building.built import Built
from triton_ensembles.building.places import Places
from triton_ensembles.project.recipe.reader import read_recipe
from triton_ensembles.triton.server import TritonServer

TOLERANCE = 1e-4  # of the largest logit


def views() -> Array:
    """The two photographs whole, their mirror images and their quarters, as clients preprocess them."""
    made = [imagenet_pixels(path.read_bytes()) for path in PHOTOGRAPHS]
    made += [image[:, :, ::-1] for image in made[:2]]
    for picture in (np.asarray(Image.open(path)) for path in PHOTOGRAPHS):
        height, width = picture.shape[0] // 2, picture.shape[1] // 2
        quarters = [picture[top : top + height, left : left + width] for top in (0, height) for left in (0, width)]
        made += [imagenet_pixels(saved(Image.fromarray(quarter), "PNG")) for quarter in quarters]
    return np.ascontiguousarray(np.stack(made))


IMAGES = views()


@pytest.fixture(scope="module")
def expected(built: dict[str, Built], places: Places) -> Array:
    """The network itself, not the file that was made of it, one image at a time."""
    network = ResNet50().eval()
    record = built["resnet_pytorch"].manifest["artifacts"]["resnet/1/model.pt"]
    if record["random"]:
        fill(network, record["facts"]["seed"])
    else:
        (sha256,) = read_recipe(places.ensembles / "resnet_pytorch").sources["torchvision"].files.values()
        network.load_state_dict(torch.load(places.downloads / sha256, weights_only=True))
    with torch.inference_mode():
        return np.concatenate([network(torch.from_numpy(image[None])).numpy() for image in IMAGES])


@pytest.fixture
def client(server: TritonServer) -> Iterator[grpc.InferenceServerClient]:
    with grpc.InferenceServerClient(server.grpc_url) as client:
        yield client


def infer(client: Any, images: Array) -> Array:
    return clients.infer(client, "resnet_pytorch", {"INPUT__0": images})["OUTPUT__0"]


def worst(answers: Array, expected: Array) -> float:
    return float(np.abs(answers - expected).max() / np.abs(expected).max())


def test_answers_are_those_of_torch(client: Any, expected: Array) -> None:
    for image, logits in zip(IMAGES, expected, strict=True):
        assert worst(infer(client, image[None])[0], logits) <= TOLERANCE
    # The network tells photographs apart; else agreement would prove nothing.
    assert worst(expected[1:], expected[:-1]) > 100 * TOLERANCE


@pytest.mark.parametrize("batch", [1, 5, 32])
def test_http_json_http_binary_and_grpc_give_the_same_answer(server: TritonServer, expected: Array, batch: int) -> None:
    chosen = [number % len(IMAGES) for number in range(batch)]
    answers = answers_each_way(server, "resnet_pytorch", "INPUT__0", IMAGES[chosen], with_json=batch == 1)
    assert all(worst(answer, expected[chosen]) <= TOLERANCE for answer in answers.values())


def test_concurrent_clients_are_batched_and_get_their_own_answers(server: TritonServer, expected: Array) -> None:
    def ask(number: int) -> float:
        chosen = [(number * 3 + offset) % len(IMAGES) for offset in range(1 + number % 3)]
        with grpc.InferenceServerClient(server.grpc_url) as client:
            return worst(infer(client, IMAGES[chosen]), expected[chosen])

    def send() -> None:
        with ThreadPoolExecutor(16) as pool:
            assert max(pool.map(ask, range(24))) <= TOLERANCE

    assert executions(server, "resnet_pytorch.resnet", 48, send) < 24, "requests were not joined"


def test_the_classification_extension_answers_with_names(
    server: TritonServer, expected: Array, built: dict[str, Built]
) -> None:
    folder = built["resnet_pytorch"].repository / "resnet_pytorch.resnet"
    labels = (folder / "imagenet_classes.txt").read_text().splitlines()
    assert len(labels) == 1000
    with http.InferenceServerClient(server.http_url) as client:
        answers = classify(client, "resnet_pytorch", "INPUT__0", IMAGES[0], "OUTPUT__0")
    best = np.argsort(expected[0])[::-1][:5]
    assert answers == [(index, labels[index]) for index in best]
