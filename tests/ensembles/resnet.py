"""The network of resnet_pytorch as torch has it, with the weights that the build took."""

from __future__ import annotations

import torch

from pipelines.make_resnet50 import ResNet50, fill
from triton_ensembles.building.built import Built
from triton_ensembles.building.places import Places
from triton_ensembles.project.recipe.reader import read_recipe


def eager_network(built: Built, places: Places) -> ResNet50:
    """Ready to run. Raises KeyError when the manifest does not say where the weights are from."""
    network = ResNet50().eval()
    record = built.manifest["artifacts"]["resnet/1/model.pt"]
    if record["random"]:
        fill(network, record["facts"]["seed"])
        return network
    (sha256,) = read_recipe(places.ensembles / built.name).sources["torchvision"].files.values()
    network.load_state_dict(torch.load(places.downloads / sha256, weights_only=True))
    return network
