"""``engines``: the requests for TensorRT plans, to be built on another machine."""

from pathlib import Path

import click

from triton_ensembles.artifacts.tensorrt.plan_request import docker_image, write_request
from triton_ensembles.artifacts.tensorrt_plan import plan_request_for
from triton_ensembles.building.built import choose
from triton_ensembles.building.made.artifact_builder import ArtifactBuilder
from triton_ensembles.building.made.sources import Sources
from triton_ensembles.building.made.store import Store
from triton_ensembles.building.made.tensorrt_plans import PLAN, plan_name
from triton_ensembles.building.places import Weights
from triton_ensembles.building.planned.plan import plan_build
from triton_ensembles.building.planned.refusal import refuse_faults
from triton_ensembles.commands.common import options
from triton_ensembles.commands.common.builds import timed_progress
from triton_ensembles.ground.errors import EnsembleError, shown
from triton_ensembles.ground.paths import COMMAND
from triton_ensembles.project.recipe.plan_precision import refuse_precision
from triton_ensembles.triton.targets import gpu


@click.command()
@options.names
@options.with_weights
@options.image
@click.option("--output", type=options.NEW_FOLDER, required=True, help="Folder for ONNX files, test inputs, scripts.")
def engines(names: tuple[str, ...], weights: Weights, image: str, output: Path) -> None:
    """Write the files that a machine with the GPU needs to build the TensorRT plans. This machine needs no GPU.

    Copy the folder there and run its scripts with trtexec of the image's TensorRT. Copy the folder back, and build with
    `--engines-from`.
    """
    target, places = gpu(image), options.current_places()
    scripts, sources = [], Sources(weights.weights_dir, places.downloads)
    with places.building(lambda line: click.echo(line, err=True)):
        for folder in choose(places.ensembles, names, leading=True):
            refuse_faults(folder, target.destination, f"{folder.name} has faults, so nothing was written for it")
            plan = plan_build(folder, target, places.root)
            builder = ArtifactBuilder(
                plan, Store(places.store), sources, timed_progress(folder.name), weights.allow_random
            )
            tensorrt = target.release.tensorrt
            artifacts = [artifact for artifact in plan.artifacts if artifact.maker == PLAN]
            for artifact in artifacts:
                refuse_precision(artifact.path, artifact.options, tensorrt)
                inputs = builder.inputs_of(artifact)
                if inputs.file is None:
                    raise EnsembleError(f"{artifact.path} is made from an ONNX file", cure="set `needs` in the recipe")
                onnx = inputs.files[inputs.file]
                name = plan_name(plan.name, artifact)
                request = plan_request_for(name, onnx, inputs.files, artifact.options, plan.root, tensorrt)
                scripts.append(write_request(request, onnx, output))
    if not scripts:
        raise EnsembleError("none of these ensembles has a TensorRT plan", cure="build them without --engines-from")
    click.echo(f"{len(scripts)} in {shown(output)}: {', '.join(script.name for script in scripts)}")
    click.echo("on the machine with the GPU, in that folder, for each of them:")
    click.echo(
        f'  docker run --rm --gpus all -v "$PWD":/engines {docker_image(target.image)} sh /engines/{scripts[0].name}'
    )
    click.echo(f"or, with trtexec of the same TensorRT on PATH:  sh {scripts[0].name}")
    click.echo(f"then:  {COMMAND} build --target gpu --image {target.image} --engines-from {shown(output)}")
