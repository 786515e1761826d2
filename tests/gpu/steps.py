"""Single steps of the ensembles in the real tritonserver, placed on the CPU or on a GPU.

Backends are this project's own, in the pip-only server: NVIDIA's image is a different proof.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import tritonclient.http as http

from checkout import PLACES
from tests.running import serving
from triton_ensembles.building.made.artifact_builder import ArtifactBuilder
from triton_ensembles.building.made.sources import Sources
from triton_ensembles.building.made.store import Store
from triton_ensembles.building.packed.staging import stage
from triton_ensembles.building.planned.plan import plan_build
from triton_ensembles.project.recipe.artifact import Artifact
from triton_ensembles.triton.model_config import ModelInstanceGroup
from triton_ensembles.triton.server import TritonServer
from triton_ensembles.triton.targets import CPU, Target

ON_CPU = replace(CPU, name="cpu-proof", chooses_engines=False, pads_batches=False)
ON_GPU = replace(ON_CPU, name="gpu-proof", instance_kind=ModelInstanceGroup.KIND_GPU, dali_device="mixed")


@contextmanager
def served(ensemble: str, step: str, target: Target) -> Iterator[http.InferenceServerClient]:
    """One step, staged for ``target`` and loaded alone."""
    builder = builder_of(ensemble, target)
    made = {each.path: builder.make(each).path for each in builder.plan.artifacts if each.step == step}
    with TemporaryDirectory() as scratch:
        place = Path(scratch) / "models"
        stage(builder.plan, place, artifacts=made, environments={})
        flags = ["--model-control-mode=explicit", f"--load-model={ensemble}.{step}"]
        with (
            serving(TritonServer([place], arguments=flags)) as server,
            http.InferenceServerClient(server.http_url) as client,
        ):
            yield client


def builder_of(ensemble: str, target: Target) -> ArtifactBuilder:
    return ArtifactBuilder(
        plan=plan_build(PLACES.ensembles / ensemble, target),
        store=Store(PLACES.store),
        sources=Sources(None, PLACES.downloads),
        progress=print,
        allow_random=True,
    )


def model_file(ensemble: str, step: str, target: Target) -> Artifact:
    """The artifact that the engine of the step runs."""
    return plan_build(PLACES.ensembles / ensemble, target).selected[step].file
