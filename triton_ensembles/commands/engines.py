"""``build.py engines``"""

from __future__ import annotations

from pathlib import Path

import click

from triton_ensembles.artifacts.tensorrt_plan import order_for
from triton_ensembles.building.artifact_builder import Workshop
from triton_ensembles.building.build import choose
from triton_ensembles.building.model_selection import artifacts_for, choose_models
from triton_ensembles.building.recipe import read_recipe
from triton_ensembles.building.staging import read_models
from triton_ensembles.building.store import Store
from triton_ensembles.building.tensorrt_plans import PLAN, plan_name, refuse_fp16
from triton_ensembles.commands import options
from triton_ensembles.commands.builds import timed_progress
from triton_ensembles.errors import EnsembleError, shown
from triton_ensembles.tensorrt.plan_builders import docker_image
from triton_ensembles.tensorrt.plan_request import write_order
from triton_ensembles.triton.targets import gpu


@click.command()
@options.building
@options.image
@click.option(
    "--output",
    type=options.NEW_FOLDER,
    required=True,
    help="The folder for the ONNX files, the inputs to try the plans with, and the scripts.",
)
def engines(names: tuple[str, ...], weights: str, weights_dir: Path | None, image: str, output: Path) -> None:
    """Write what a machine with the GPU needs to build the TensorRT plans; this machine needs none.

    Copy the folder there, run its scripts (they want trtexec of the image's TensorRT), copy it back, and build with
    `--engines-from` it.
    """
    target, places = gpu(image), options.current_places()
    scripts = []
    for folder in choose(places.ensembles, names):
        recipe = read_recipe(folder)
        artifacts = artifacts_for(recipe, choose_models(recipe, read_models(folder), target))
        workshop = Workshop(
            recipe=recipe,
            target=target,
            store=Store(places.store),
            downloads=places.downloads,
            progress=timed_progress(folder.name),
            allow_random=weights == "auto",
            weights_dir=weights_dir,
            root=places.root,
        )
        plans = [artifact for artifact in artifacts if artifact.maker == PLAN]
        refuse_fp16(plans, target)
        for artifact in plans:
            materials = workshop.materials(artifact)
            assert materials.file is not None, "a plan needs an ONNX file"
            model = materials.files[materials.file]
            order = order_for(plan_name(folder.name, artifact), model, materials.files, artifact.options)
            scripts.append(write_order(order, model, output))
    if not scripts:
        raise EnsembleError("none of these ensembles has a TensorRT plan", cure="build them as they are")
    click.echo(f"{len(scripts)} in {shown(output)}: {', '.join(script.name for script in scripts)}")
    click.echo("on the machine with the GPU, in that folder, for each of them:")
    click.echo(
        f'  docker run --rm --gpus all -v "$PWD":/engines {docker_image(target.image)} sh /engines/{scripts[0].name}'
    )
    click.echo(f"or, with trtexec of the same TensorRT on PATH:  sh {scripts[0].name}")
    click.echo(f"then:  ./build.py build --target gpu --image {target.image} --engines-from {shown(output)}")
