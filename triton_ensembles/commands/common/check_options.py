"""The options of ``check``: where the models will run, whether they are run, and which faults are known."""

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

import click

from triton_ensembles.checking.check_report import Report
from triton_ensembles.checking.checker import Run
from triton_ensembles.checking.formats import FORMATS, printed
from triton_ensembles.commands.common import options, output
from triton_ensembles.deploy.image import PIP_SERVER
from triton_ensembles.project.recipe.places import RECIPE, find_ensembles
from triton_ensembles.server.home import Installation
from triton_ensembles.triton.destination import UNDECIDED, Destination
from triton_ensembles.triton.dockerfile import dockerfile_of


@dataclass(frozen=True)
class Where:
    """The place where the models will run: the values of --target, --instance, --image and --single."""

    target: str | None = options.field(options.setting("target", "Where the models will run."))
    instance: str | None = options.field(
        options.setting("instance", "The SageMaker instance type, such as ml.g5.xlarge.")
    )
    image: str | None = options.field(
        options.setting(
            "image",
            "The Triton release or image, such as 24.09. An image of your own that names no release, such as name:tag, "
            "gets a warning: what it holds is unknown.",
            ", or that of a Dockerfile FROM …tritonserver… beside the PATH or above it",
        )
    )
    single: bool = options.field(options.single)

    def destination(self) -> Destination:
        image = "" if not self.image or self.image == PIP_SERVER else self.image
        destination = Destination(self.target or "", self.instance or "", image)
        return replace(destination, single=UNDECIDED) if self.single else destination

    def beside(self, paths: list[Path]) -> Destination:
        """Return the destination with the image and the packages of a Dockerfile beside ``paths``, if it is one for
        all of them and neither the command line nor the project names an image."""
        destination = self.destination()
        if self.target == "cpu" or (self.image and not options.is_of_project("image")):
            return destination
        files = {None if _has_recipes(path) else dockerfile_of(path) for path in paths}
        file = files.pop() if len(files) == 1 else None
        if file is None:
            return destination
        image = destination.image or file.image
        click.echo(f"image: {image}, packages of {file.path}:{file.line}; --image chooses another", err=True)
        return replace(destination, image=image, dockerfile=file)


def _has_recipes(path: Path) -> bool:
    return (path / RECIPE).is_file() or any(find_ensembles(path))


@dataclass(frozen=True)
class Running:
    """The loads of the models, if any: the values of --run, --timeout and --server."""

    runs: bool = options.option(
        "--run",
        is_flag=True,
        help="Then load every model once in the server on this machine, and send each a request: its examples, or one "
        "that is made up from its config. Models in which the rules find errors are left out. What they execute is "
        "their code.",
    )
    timeout: float = options.option(
        "--timeout", default=300.0, type=click.FloatRange(1), help="--run: seconds for a load, or an answer."
    )
    server: Installation | None = options.field(options.server)

    def run(self, where: Where) -> Run | None:
        if not self.runs:
            return None
        from triton_ensembles.serving import running  # which needs more than the light core

        served_here = options.BuildTarget(where.target or "cpu", where.image or "", "").served_here(self.server)
        return running.Running(replace(served_here, single=where.single), self.timeout, output.progress(), self.server)


@dataclass(frozen=True)
class Printing:
    """How faults are printed, and which of them fail: the values of --strict and --format."""

    strict: bool = options.option("--strict", is_flag=True, help="Also exit with 1 for warnings.")
    style: str = options.option(
        "--format",
        type=click.Choice(FORMATS),
        default="text",
        help="How to print the faults. github: annotations of GitHub Actions. sarif: code scanning. junit: test "
        "results.",
    )

    def end(self, report: Report, started: float) -> NoReturn:
        """Print the report of a check that has begun at ``started``, by the performance counter, and exit by it."""
        report = replace(report, strict=self.strict)
        click.echo(printed(self.style, report, time.perf_counter() - started))
        click.get_current_context().exit(1 if report.failed else 0)


@dataclass(frozen=True)
class Fixing:
    """The fixes that are exact: the values of --fix and --write."""

    fix: bool = options.option(
        "--fix", is_flag=True, help="Print the fixes that are exact, as a diff. Archives are left alone."
    )
    write: bool = options.option("--write", is_flag=True, help="With --fix: write them, and check again.")


@dataclass(frozen=True)
class Known:
    """Known faults: the values of --baseline and --write-baseline."""

    baseline: Path | None = options.option(
        "--baseline", metavar="FILE", type=options.NEW_FILE, help="Faults in FILE are known, and do not count."
    )
    new_baseline: Path | None = options.option(
        "--write-baseline",
        metavar="FILE",
        type=options.NEW_FILE,
        help="Write all faults into FILE for --baseline, and exit with 0.",
    )
