"""``new``: an ensemble, and a project for it."""

from pathlib import Path

import click

from triton_ensembles.commands.common import output
from triton_ensembles.commands.common.arguments import asked, with_packages
from triton_ensembles.ground.errors import shown
from triton_ensembles.ground.paths import COMMAND
from triton_ensembles.project.declared import NOTHING
from triton_ensembles.project.location import ENSEMBLES
from triton_ensembles.starter.project import Written, root_of, write_small_ensemble


@click.command()
@click.argument("name")
@output.quiet
@click.option(
    "--from",
    "source",
    metavar="REPOSITORY",
    type=click.Path(exists=True, path_type=Path),
    help="Import what exists: a model repository, a folder that has one, a single model, or a .tar.gz of these.",
)
@click.option(
    "--model", metavar="MODEL", default="", help="--from: the ensemble to import, or the model to become one."
)
@with_packages
@click.pass_context
def new(context: click.Context, name: str, source: Path | None, model: str) -> None:
    """Write the ensemble NAME into the project; in an empty folder, write a whole project.

    Without --from it is a small complete one: texts to a label, by a Python step, an ONNX network that a script makes,
    and a Python step, with a recipe, an environment file, an example request and a test. A project also gets a
    Makefile, a CI workflow, a pre-commit config and pinned requirements.

    With --from the models are copied, and nothing of the REPOSITORY is changed. What was assumed is said line by line,
    and so is what is left to do: a file that is missing, a package that is unknown. Models that the ensemble does not
    need are left out. The packages that a requirements.txt or the like declares for the steps go into envs/; what is
    declared nowhere is proposed. A single model becomes the only step of a new ensemble.

    \b
      mkdir serving && cd serving && triton-ensembles new moods     a project with one ensemble
      new reviews --from ~/triton/model_repository                  one that exists
      new reviews --from models --model review_ensemble             one of several
      new reviews --from model.tar.gz                               what SageMaker serves

    Nothing is overwritten, and after an error nothing was written.
    """
    packages = asked()
    if (model or packages != NOTHING) and not source:
        raise click.UsageError("--model, --requirements and --with are for --from")
    root, whole = root_of(context.find_object(Path), Path.cwd())
    if source:
        from triton_ensembles.starter.from_repository import write_from_repository  # imports the rules of check

        written = write_from_repository(root, name, source, model, packages, whole=whole)
    else:
        written = write_small_ensemble(root, name, whole=whole)
    _say(root, written)
    ensemble = shown(root / ENSEMBLES / name)
    if written.notes.left:
        click.echo(f"{ensemble} is imported; do what is left, then: {COMMAND} build {name} --prove")
    else:
        click.echo(f"{ensemble} is ready: {COMMAND} demo {name}")


def _say(root: Path, written: Written) -> None:
    """Say what was written, what was assumed for that, and what is left to do."""
    say = output.progress()
    for path in written.paths:
        say(f"wrote {shown(root / path)}")
    for path in written.kept:
        say(f"kept {shown(root / path)}, which was there")
    for line in written.notes.assumed:
        click.echo(f"assumed: {line}")
    for line in written.notes.left:
        click.echo(f"left to do: {line}")
