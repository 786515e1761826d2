"""Single steps of the ensembles in the real tritonserver, placed on the CPU or on a GPU.

Backends are this project's own, in the pip-only server: NVIDIA's image is a different proof.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import tritonclient.grpc as grpc

from triton_ensembles.building.artifact_builder import Workshop
from triton_ensembles.building.model_selection import artifacts_for, choose_models
from triton_ensembles.building.places import PLACES
from triton_ensembles.building.recipe import Artifact, read_recipe
from triton_ensembles.building.staging import read_models, stage
from triton_ensembles.building.store import Store
from triton_ensembles.triton.model_config import ModelInstanceGroup
from triton_ensembles.triton.server import TritonServer
from triton_ensembles.triton.targets import CPU, Target

ON_CPU = replace(CPU, name="cpu-proof", chooses_engines=False, pads_batches=False)
ON_GPU = replace(ON_CPU, name="gpu-proof", instance_kind=ModelInstanceGroup.KIND_GPU, dali_device="mixed")


@contextmanager
def served(ensemble: str, step: str, target: Target) -> Iterator[Any]:
    """One step, staged for ``target`` and loaded alone; yields a gRPC client."""
    folder = PLACES.ensembles / ensemble
    recipe = read_recipe(folder)
    chosen = choose_models(recipe, read_models(folder), target)
    builder = workshop(ensemble, target)
    made = {each.path: builder.make(each).path for each in artifacts_for(recipe, chosen) if each.step == step}
    with TemporaryDirectory() as scratch:
        place = Path(scratch) / "models"
        stage(folder, place, name=ensemble, recipe=recipe, target=target, artifacts=made, environments={})
        flags = ["--model-control-mode=explicit", f"--load-model={ensemble}.{step}"]
        with TritonServer([place], arguments=flags) as server, grpc.InferenceServerClient(server.grpc_url) as client:
            yield client


def workshop(ensemble: str, target: Target) -> Workshop:
    return Workshop(
        recipe=read_recipe(PLACES.ensembles / ensemble),
        target=target,
        store=Store(PLACES.store),
        downloads=PLACES.downloads,
        progress=print,
        allow_random=True,
    )


def model_file(ensemble: str, step: str, target: Target) -> Artifact:
    """The artifact that the engine of the step runs."""
    folder = PLACES.ensembles / ensemble
    return choose_models(read_recipe(folder), read_models(folder), target)[step].file
