"""``build.py build``"""

from __future__ import annotations

from pathlib import Path

import click

from triton_ensembles.commands import options
from triton_ensembles.commands.builds import build_all
from triton_ensembles.triton.targets import target_of


@click.command()
@options.building
@options.target
@options.image
@click.option("--instance", metavar="TYPE", help="gpu: where it will run, such as ml.g5.xlarge.")
@click.option(
    "--engines-from",
    type=options.FOLDER,
    help="gpu: a folder with TensorRT plans that the scripts of `build.py engines` have built elsewhere.",
)
def build(
    names: tuple[str, ...],
    weights: str,
    weights_dir: Path | None,
    target: str,
    image: str,
    instance: str | None,
    engines_from: Path | None,
) -> None:
    """Build ensembles (all of them, or those named) into dist/TARGET/NAME.tar.gz.

    What has not changed is not made again; content decides, not time stamps.

    \b
      build                                         for the pip-only server
      build --target gpu --image 24.09              for a GPU, in NVIDIA's image of Triton 24.09
      build bert_trt --target gpu --image 24.09 --engines-from DIR
    """
    if engines_from and target != "gpu":
        raise click.UsageError("--engines-from has TensorRT plans, which --target gpu needs and no other does")
    build_all(names, weights, weights_dir, target_of(target, image, instance or ""), engines_from)
