"""resnet_pytorch on the real server against the same network run by torch in this process, with real photographs."""

from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from pipelines.make_resnet50 import ResNet50, fill
from tests.ensembles.clients import PHOTOGRAPHS, Array, infer, saved
from triton_ensembles.building.built import Built
from triton_ensembles.building.places import Places
from triton_ensembles.project.examples.tensor import pixels
from triton_ensembles.project.recipe.reader import read_recipe

pytestmark = pytest.mark.slow

TOLERANCE = 1e-4  # of the largest logit


def views() -> Array:
    """The two photographs whole and their quarters, as clients preprocess them: FP32 [10, 3, 224, 224]."""
    files = [path.read_bytes() for path in PHOTOGRAPHS]
    for picture in (np.asarray(Image.open(path)) for path in PHOTOGRAPHS):
        height, width = picture.shape[0] // 2, picture.shape[1] // 2
        quarters = [picture[top : top + height, left : left + width] for top in (0, height) for left in (0, width)]
        files += [saved(Image.fromarray(quarter), "PNG") for quarter in quarters]
    mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    return np.stack([pixels(file, height=224, width=224, mean=mean, std=std) for file in files])


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


def worst(answers: Array, expected: Array) -> float:
    return float(np.abs(answers - expected).max() / np.abs(expected).max())


def test_answers_are_those_of_torch(client: Any, expected: Array) -> None:
    for chosen in (slice(0, 1), slice(None)):
        answers = infer(client, "resnet_pytorch", {"INPUT__0": IMAGES[chosen]})["OUTPUT__0"]
        assert max(map(worst, answers, expected[chosen])) <= TOLERANCE
    # The network tells photographs apart; else agreement would prove nothing.
    assert worst(expected[1:], expected[:-1]) > 100 * TOLERANCE
