"""``build``: ensembles into dist/."""

from dataclasses import dataclass, replace
from pathlib import Path

import click

from triton_ensembles.building.places import Weights
from triton_ensembles.building.request import BuildRequest, Proof
from triton_ensembles.commands.common import options, output
from triton_ensembles.commands.common.arguments import argument, chosen


@dataclass(frozen=True)
class Making:
    """How archives are made and proven: the values of --engines-from, --prove, --model and --locked."""

    engines_from: Path | None = options.option(
        "--engines-from", type=options.FOLDER, help="gpu: TensorRT plans that the scripts of `engines` built."
    )
    prove: bool = options.option(
        "--prove",
        is_flag=True,
        help="cpu, fused: load each archive once in the server on this machine, and send each of its models a request, "
        "as check --run does; one that fails is not put into dist/. One that was proven and is unchanged is not loaded "
        "again.",
    )
    model: str = options.option(
        "--model", metavar="MODEL", default="", help="PATH: the ensemble or model to build, of several."
    )
    locked: bool = options.option(
        "--locked", is_flag=True, help="For CI: refuse to write or renew the locks of the environments."
    )

    def of(self, request: BuildRequest) -> BuildRequest:
        """Return the request for an ensemble, made so. Raises :class:`click.UsageError`: that is not for its target."""
        if self.model:
            raise click.UsageError("--model is for a PATH")
        if self.engines_from and request.target.name != "gpu":
            raise click.UsageError("--engines-from is for --target gpu: no other target uses TensorRT plans")
        if self.prove and request.target.name == "gpu":
            raise click.UsageError("--prove is for the server on this machine, which has no GPU: use NVIDIA's image")
        proof = Proof.ANSWERS if self.prove else Proof.NONE
        return replace(request, engines_from=self.engines_from, proof=proof, keep_locks=self.locked)


@click.command()
@argument
@options.with_weights
@options.for_target
@options.single
@output.quiet
@output.json_format
@options.group("making", Making)
def build(
    names: tuple[str, ...], weights: Weights, chosen_target: options.BuildTarget, single: bool, making: Making
) -> None:
    """Build ensembles (all of them, or those named) into dist/TARGET/NAME.tar.gz.

    A PATH, a model repository without ensemble.toml, is packed into dist/NAME.tar.gz as it is, or fused: checked, and
    put there once the server on this machine has loaded it (and with --prove, once its models have answered). Files of
    tools (.git, __pycache__) and example requests stay out.

    Unchanged files are not made again; their content counts, not their time stamps. An ensemble that fails does not
    stop the others; the last lines then sum up which failed and why, and the exit code is 1. Commands that serve what
    they build (serve, demo, perf) do not start with a part missing: name the ensembles that are to be served.

    \b
      build                                         for the server on this machine, as drawn
      build --target fused                          one model that runs all steps, for the server on this machine
      build --prove                                 load each archive once, and ask each model
      build --single                                also what only a single-model endpoint of SageMaker takes
      build --target fused --image 24.09            the same for NVIDIA's image of Triton 24.09, on CPU instances
      build --target gpu --image 24.09              for a GPU, in NVIDIA's image of Triton 24.09
      build bert_trt --target gpu --image 24.09 --engines-from DIR
      build path/to/models                          dist/models.tar.gz, from any model repository
      build path/to/models --target fused           dist/fused/models.tar.gz, its ensemble as one model
      build path/to/models --target fused --model a dist/fused/a.tar.gz, one of several

    \b
    --format json: {"archives": [{name, archive, size, sha256, weights, changed}],
                    "failed": [{name, error}]}
    """
    from triton_ensembles.commands.common import builds  # all that a build needs, which no Tab does

    selected = chosen(names, fuses=chosen_target.target == "fused")
    target = replace(chosen_target.built(), single=single)
    if selected.paths:
        if selected.ensembles:
            raise click.UsageError(f"build ensembles and paths apart: {selected.ensembles[0]} is an ensemble")
        builds.pack_all(selected, target, Proof.ANSWERS if making.prove else Proof.LOADS, making.model)
        return
    requests = builds.requests_for(selected.ensembles, weights, target)
    builds.build_all([making.of(request) for request in requests], is_result=True)
