"""``check``: the checker on the command line."""

import time
from dataclasses import replace
from pathlib import Path

import click

from triton_ensembles.checking.baseline import Baseline
from triton_ensembles.checking.checker import Run, check, report_on, repositories_at
from triton_ensembles.checking.explanation import explain, rule_list
from triton_ensembles.checking.fixes import Fixes, exact_fixes
from triton_ensembles.checking.formats import FORMATS, printed
from triton_ensembles.checking.places import FilePlaces
from triton_ensembles.checking.registry import RULES
from triton_ensembles.checking.report import Report
from triton_ensembles.checking.rule import Scope
from triton_ensembles.commands.common import options, output
from triton_ensembles.commands.common.arguments import path_of
from triton_ensembles.deploy.image import PIP_SERVER
from triton_ensembles.ground.errors import EnsembleError, shown
from triton_ensembles.project.recipe.places import RECIPE
from triton_ensembles.server.home import Installation
from triton_ensembles.triton.destination import UNDECIDED, Destination
from triton_ensembles.triton.dockerfile import dockerfile_of

_OF_RUNS = frozenset(rule.id for rule in RULES if rule.scope is Scope.PROBE)


@click.command("check")
@click.argument("paths", nargs=-1, metavar="[PATH|ENSEMBLE]...")
@options.setting("target", "Where the models will run.")
@options.setting("instance", "The SageMaker instance type, such as ml.g5.xlarge.")
@options.setting(
    "image",
    "The Triton release or image, such as 24.09. An image of your own that names no release, such as name:tag, gets a "
    "warning: what it holds is unknown.",
    ", or that of a Dockerfile FROM …tritonserver… beside the PATH or above it",
)
@click.option(
    "--run",
    "runs",
    is_flag=True,
    help="Then load every model once in the server on this machine, and send each a request: its examples, or one that "
    "is made up from its config. Models in which the rules find errors are left out. What they execute is their code.",
)
@click.option("--timeout", default=300.0, type=click.FloatRange(1), help="--run: seconds for a load, or an answer.")
@options.server
@options.single
@click.option("--strict", is_flag=True, help="Also exit with 1 for warnings.")
@click.option(
    "--format",
    "style",
    type=click.Choice(FORMATS),
    default="text",
    help="How to print the faults. github: annotations of GitHub Actions. sarif: code scanning. junit: test results.",
)
@click.option("--baseline", metavar="FILE", type=options.NEW_FILE, help="Faults in FILE are known, and do not count.")
@click.option(
    "--write-baseline",
    "new_baseline",
    metavar="FILE",
    type=options.NEW_FILE,
    help="Write all faults into FILE for --baseline, and exit with 0.",
)
@click.option("--fix", is_flag=True, help="Print the fixes that are exact, as a diff. Archives are left alone.")
@click.option("--write", is_flag=True, help="With --fix: write them, and check again.")
@click.option(
    "--explain",
    "explained",
    metavar="[RULE]",
    is_flag=False,
    flag_value="",
    help="Explain a rule: a bad and a good example, what the server says, the fix. Without RULE: list all rules.",
)
@click.pass_context
def check_command(
    context: click.Context,
    paths: tuple[str, ...],
    target: str | None,
    instance: str | None,
    image: str | None,
    runs: bool,
    timeout: float,
    server: Installation | None,
    single: bool,
    strict: bool,
    style: str,
    baseline: Path | None,
    new_baseline: Path | None,
    fix: bool,
    write: bool,
    explained: str | None,
) -> None:
    """Find every fault of model repositories and archives, before anything is built or deployed.

    A PATH is a model repository (a folder whose folders are the models), a folder of such, or a .tar.gz archive;
    several archives are checked as the members of one multi-model endpoint. An ENSEMBLE is the name of one of the
    project; a path of the same name wins (write ./NAME to be clear). Without any, all of ensembles/ is checked.
    Without --run nothing is executed, imported or unpacked, and neither a server nor a GPU is needed.

    \b
      check                                      all of ensembles/
      check bert_trt                             one of them
      check path/to/model_repository             any repository that Triton can read
      check --target fused                       whether each can be fused, and if not, which step is why
      check dist/gpu/a.tar.gz dist/gpu/b.tar.gz  one endpoint of two models
      check --image 25.03 --format github        for another release, as annotations
      check --run models/                        and then load and ask every model in the real server
      check --strict                             for CI: warnings also fail
      check --format sarif > check.sarif         for code scanning; docs/ci.md has whole workflows
      check --write-baseline known.json          from now on, --baseline known.json shows new faults only
      check --fix                                a diff of the fixes that only one spelling, name or place allows
      check --fix --write                        write it, and check again
      check --explain step-input-unknown         what this rule means, with examples

    Steps may import what a Dockerfile installs that is beside a PATH or above it, up to the root of its git repository.

    A comment accepts a fault, on its line or alone on the line before: "# check: ignore[RULE] reason". So does
    pyproject.toml: ignore = ["RULE"] in [tool.triton-ensembles.check].

    \b
    Exit codes:
      0  no error; there may be warnings and notes, suppressed and known faults
      1  an error, or with --strict a warning; notes never count
      2  wrong usage, and nothing was checked: a path without models, an image or an instance type that does not
         exist, a baseline or a pyproject.toml that cannot be read; with --run an engine or a Python that is missing

    Each fault names its rule in brackets; docs/rules.md lists all rules with their sources.
    """
    if explained is not None:
        click.echo(_explanation(explained))
        return
    if baseline and new_baseline:
        raise click.UsageError("--baseline and --write-baseline exclude each other")
    if (write and not fix) or (fix and (new_baseline or runs or style != "text")):
        raise click.UsageError("--write goes with --fix, and --fix with none of --run, --write-baseline and --format")
    if server and not runs:
        raise click.UsageError("--server goes with --run: without it, nothing is started, and --image says for what")
    started = time.perf_counter()
    destination = Destination(target or "", instance or "", "" if not image or image == PIP_SERVER else image)
    if single:
        destination = replace(destination, single=UNDECIDED)
    try:
        chosen = [path_of(text) for text in paths] or [options.current_places().ensembles]
        if paths and target != "cpu" and (not image or options.is_of_project("image")):
            destination = _with_dockerfile(destination, chosen)
        known = Baseline.read(baseline) if baseline else None
        repositories = repositories_at(chosen)
        run = _running(target, image, timeout, server, single=single) if runs else None
        report = _compared(report_on(repositories, chosen, destination, run), known, destination, has_run=runs)
        if fix:
            fixes = exact_fixes(repositories, report.faults, lambda read: report_on(read, chosen, destination).faults)
            click.echo(fixes.diff, nl=False)
            if write and fixes.faults:
                fixes.write()
                report = _compared(check(chosen, destination), known, destination)
            click.echo(_of_fixes(fixes, report, write))
        report = replace(report, strict=strict)
        if new_baseline:
            Baseline.of(report.faults, FilePlaces(report.roots), destination).write(new_baseline)
    except EnsembleError as error:
        raise click.UsageError(str(error)) from error
    if new_baseline:
        faults = "1 fault is" if len(report.faults) == 1 else f"{len(report.faults):,} faults are"
        click.echo(f"{faults} in {shown(new_baseline)}; from now on: check --baseline {shown(new_baseline)}")
        return
    click.echo(printed(style, report, time.perf_counter() - started))
    context.exit(1 if report.failed else 0)


def _of_fixes(fixes: Fixes, report: Report, written: bool) -> str:
    count, files = len(fixes.faults), " and ".join(shown(file.path) for file in fixes.files[:3])
    faults = "1 fault" if count == 1 else f"{count:,} faults"
    left = any(fault.edits for fault in report.faults)
    if not count and left:
        return "no file is changed: what has an exact fix is in an archive, or the fix would collide with another"
    if not count:
        return "no fault has an exact fix: the cures are for a person to choose" if report.faults else "nothing to fix"
    more = f" and {len(fixes.files) - 3} more files" if len(fixes.files) > 3 else ""
    again = "; once more for what is left" if left else ""
    return f"fixed {faults} in {files}{more}{again}" if written else f"--write fixes {faults} in {files}{more}"


def _running(
    target: str | None, image: str | None, seconds: float, server: Installation | None, *, single: bool
) -> Run:
    from triton_ensembles.serving.running import Running  # which needs more than the light core

    served_here = options.BuildTarget(target or "cpu", image or "", "").served_here(server)
    return Running(replace(served_here, single=single), seconds, output.progress(), server)


def _compared(report: Report, baseline: Baseline | None, destination: Destination, *, has_run: bool = False) -> Report:
    """The report with the faults of the baseline taken out."""
    if baseline is None:
        return report
    places = FilePlaces(report.roots)
    new, known = baseline.split(report.faults, places)
    gone = baseline.gone(report.faults, places, report.roots, destination)
    if not has_run:
        gone = [entry for entry in gone if entry.fingerprint.rule not in _OF_RUNS]
    return replace(report, faults=tuple(new), known=tuple(known), gone=tuple(gone))


def _with_dockerfile(destination: Destination, paths: list[Path]) -> Destination:
    """The destination with the image that a Dockerfile beside the paths is made from, if it is one for all of them and
    the project names none, and with the packages that it installs."""
    files = {None if (path / RECIPE).is_file() else dockerfile_of(path) for path in paths}
    file = files.pop() if len(files) == 1 else None
    if file is None:
        return destination
    image = destination.image or file.image
    click.echo(f"image: {image}, packages of {file.path}:{file.line}; --image chooses another", err=True)
    return replace(destination, image=image, dockerfile=file)


def _explanation(id: str) -> str:
    if not id:
        return rule_list()
    try:
        return explain(id)
    except EnsembleError as error:
        raise click.BadParameter(str(error), param_hint="'--explain'") from error
