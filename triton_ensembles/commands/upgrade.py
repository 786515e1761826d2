"""``upgrade``: what changes for a repository between two images."""

import time
from dataclasses import replace

import click

from triton_ensembles.checking.baseline import Baseline
from triton_ensembles.checking.checker import report_on, repositories_at
from triton_ensembles.checking.fault import Fault
from triton_ensembles.checking.places import FilePlaces
from triton_ensembles.checking.registry import RULES_BY_ID
from triton_ensembles.commands.common import check_options, options
from triton_ensembles.commands.common.arguments import checked_paths
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.targets import NAMES


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH|ENSEMBLE]...")
@click.option("--from", "old", metavar="RELEASE", type=options.IMAGE, required=True, help="The present image.")
@click.option("--to", "new", metavar="RELEASE", type=options.IMAGE, required=True, help="The image that replaces it.")
@click.option("--target", type=click.Choice(NAMES), help="Where the models run.")
@click.option("--instance", metavar="TYPE", type=options.INSTANCE, help="Their SageMaker instance type.")
@options.group("printing", check_options.Printing)
def upgrade(
    paths: tuple[str, ...],
    old: str,
    new: str,
    target: str | None,
    instance: str | None,
    printing: check_options.Printing,
) -> None:
    """Show what changes for a repository when a newer image serves it, and nothing else.

    PATHs and ENSEMBLEs are those of check. What check finds for the new image and not for the old one is a fault here:
    the Python of environments and steps, numpy, TensorRT plans, backends that are gone, fields, what the new release
    refuses. So is what it does otherwise by its release notes, where the repository uses it. Nothing is executed.

    \b
      upgrade --from 24.09 --to 26.05                 all of ensembles/
      upgrade --from 24.09 --to sagemaker models/     to the newest image that SageMaker has

    The exit codes are those of check: 1 for an error, or with --strict a warning, and 2 for wrong usage.
    """
    started = time.perf_counter()
    before, after = (Destination(target or "", instance or "", image) for image in (old, new))
    _refuse_older(before, after)
    try:
        chosen = checked_paths(paths)
        repositories = repositories_at(chosen)
        present = report_on(repositories, chosen, before)
        report = report_on(repositories, chosen, replace(after, replaces=before.release_name))
    except EnsembleError as error:
        raise click.UsageError(str(error)) from error
    places = FilePlaces(report.roots)
    changed, same = Baseline.of(present.faults, places, before).split(report.faults, places)
    # What the new release refuses is said for any image, because a rule does not always know which one it will be.
    begun = [fault for fault in same if before.release_name < RULES_BY_ID[fault.rule].since <= after.release_name]
    faults = tuple(sorted([*changed, *begun], key=Fault.sort_key))
    printing.end(replace(report, faults=faults, accepted=()), started)


def _refuse_older(before: Destination, after: Destination) -> None:
    if unknown := [image.image for image in (before, after) if not image.image_names_release]:
        raise click.UsageError(f"{unknown[0]} names no release of Triton: write one, such as 24.09")
    if before.release >= after.release:
        message = f"--to {after.release_name} is not newer than --from {before.release_name}"
        raise click.UsageError(f"{message}: check --image {after.release_name} finds what an older one lacks")
