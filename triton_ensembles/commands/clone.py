"""``clone``: many archives of one ensemble."""

import time
from pathlib import Path

import click

from triton_ensembles.archive.clones import clone as write_clones
from triton_ensembles.archive.clones import clone_names
from triton_ensembles.building.built import last_built
from triton_ensembles.commands import options
from triton_ensembles.commands import output as output_of
from triton_ensembles.commands.reports import warn_of_random_weights
from triton_ensembles.errors import EnsembleError, shown
from triton_ensembles.paths import COMMAND

_REPORT_SECONDS = 2.0


@click.command()
@click.argument("ensemble", metavar="ENSEMBLE|ARCHIVE")
@options.target
@output_of.quiet
@click.option("--count", type=click.IntRange(min=1), required=True, help="The number of archives.")
@click.option("--prefix", required=True, help="The beginning of their names: PREFIX_0000.tar.gz and so on.")
@click.option(
    "--common-environments",
    is_flag=True,
    help="For SageMaker: put the environments of Python steps beside the models, under a name that all clones share, "
    "so that upload sends them once. SageMaker ignores such a folder beside an ensemble; a tritonserver in its default "
    "mode does not start with it.",
)
@click.option("--output", type=options.NEW_FOLDER, help="The folder to write them to.  [default: that of the archive]")
def clone(ensemble: str, target: str, count: int, prefix: str, common_environments: bool, output: Path | None) -> None:
    """Write COUNT archives of one built ENSEMBLE, or of any ARCHIVE, under other names: an endpoint of many variants.

    Every model in them is renamed (PREFIX_0000, PREFIX_0000.preprocess and so on), so that they can be loaded at the
    same time: in folders, in each config.pbtxt, and in an EXECUTION_ENV_PATH through another model's folder. Names in
    the code of a model.py stay.
    Weights and environments are compressed once and copied.

    \b
      clone bert_trt --count 100 --prefix customer           dist/cpu/bert_trt.tar.gz, as the build left it
      clone path/to/model.tar.gz --count 100 --prefix customer
    """
    archive, is_random = _archive_of(ensemble, target)
    folder = output or archive.parent
    began = reported = time.monotonic()
    size, say = 0, output_of.progress()
    written = write_clones(archive, clone_names(prefix, count), folder, say, common=common_environments)
    for number, path in enumerate(written, 1):
        size += path.stat().st_size
        if (now := time.monotonic()) - reported > _REPORT_SECONDS:
            reported = now
            say(f"{number} of {count}, {size / 1e9:.1f} GB")
    seconds = time.monotonic() - began
    click.echo(f"{count} archives in {shown(folder)}, {size / 1e9:.2f} GB in {seconds:.1f} s")
    warn_of_random_weights(ensemble, random=is_random)


def _archive_of(ensemble: str, target: str) -> tuple[Path, bool]:
    """The archive that the user names by its path or by its ensemble, and whether it has random weights."""
    if ensemble.endswith(".tar.gz") or Path(ensemble).is_file():
        from triton_ensembles.deploy.archives import read_archive  # imports the rules of check

        return Path(ensemble), read_archive(Path(ensemble)).weights == "random"
    built = last_built(ensemble, target, options.current_places())
    if built is None:
        raise EnsembleError(
            f"there is no complete archive of {ensemble!r}",
            cure=f"run: {COMMAND} build {ensemble} --target {target}, or name an archive",
        )
    return built.archive, built.random
