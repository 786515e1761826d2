"""``check``: the checker on the command line."""

import time
from dataclasses import replace
from pathlib import Path

import click

from triton_ensembles.checking.baseline import Baseline
from triton_ensembles.checking.check_report import Report
from triton_ensembles.checking.checker import report_on, repositories_at
from triton_ensembles.checking.explanation import explain, rule_list
from triton_ensembles.checking.fixes import Fixes, exact_fixes
from triton_ensembles.checking.places import FilePlaces
from triton_ensembles.checking.registry import RULES
from triton_ensembles.checking.repository import Repository
from triton_ensembles.checking.rule import Scope
from triton_ensembles.checking.rules.model_py.step_imports import steps_with_packages
from triton_ensembles.commands.common import check_options, options
from triton_ensembles.commands.common.arguments import asked, checked_paths, with_packages
from triton_ensembles.commands.common.option_rules import excludes, needs
from triton_ensembles.ground.errors import EnsembleError, shown
from triton_ensembles.ground.spelling import most_of
from triton_ensembles.project.recipe.places import find_ensembles
from triton_ensembles.triton.destination import Destination

_OF_RUNS = frozenset(rule.id for rule in RULES if rule.scope is Scope.PROBE)


def _explain(context: click.Context, _option: click.Parameter, id: str | None) -> None:
    """Print about a rule, or the list of all without an ``id``, and end the command."""
    if id is None or context.resilient_parsing:
        return
    try:
        click.echo(explain(id) if id else rule_list())
    except EnsembleError as error:
        raise click.BadParameter(str(error), param_hint="'--explain'") from error
    context.exit()


@click.command("check")
@excludes("--baseline", "--write-baseline")
@excludes("--fix", "--run", "--write-baseline", "--format", because="it prints a diff")
@needs("--write", "--fix")
@needs("--server", "--run", because="without it, nothing is started, and --image says for what")
@click.argument("paths", nargs=-1, metavar="[PATH|ENSEMBLE]...")
@with_packages
@options.group("where", check_options.Where)
@options.group("running", check_options.Running)
@options.group("printing", check_options.Printing)
@options.group("known", check_options.Known)
@options.group("fixing", check_options.Fixing)
@click.option(
    "--explain",
    metavar="[RULE]",
    is_flag=False,
    flag_value="",
    is_eager=True,
    shell_complete=lambda _context, _option, start: [rule.id for rule in RULES if rule.id.startswith(start)],
    expose_value=False,
    callback=_explain,
    help="Explain a rule: a bad and a good example, what the server says, the fix. Without RULE: list all rules.",
)
def check_command(
    paths: tuple[str, ...],
    where: check_options.Where,
    running: check_options.Running,
    printing: check_options.Printing,
    known: check_options.Known,
    fixing: check_options.Fixing,
) -> None:
    """Find every fault of model repositories and archives, before anything is built or deployed.

    A PATH is a model repository (a folder whose folders are the models), a folder of such, or a .tar.gz archive;
    several archives are checked as the members of one multi-model endpoint. An ENSEMBLE is the name of one of the
    project; a path of the same name wins (write ./NAME to be clear). Without any, all of ensembles/ is checked, or,
    where there is no project, the current folder.
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

    Steps may import what is declared for them: in a requirements.txt of the model, of the repository or beside it, an
    environment.yml, a Dockerfile beside a PATH or above it, up to the root of its git repository, or a pyproject.toml.
    serve and build put these packages beside model.py.

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
    started = time.perf_counter()
    try:
        report = _report(checked_paths(paths), where, running, known, fixing)
        if known.new_baseline:
            click.echo(_written(known.new_baseline, report))
            return
    except EnsembleError as error:
        raise click.UsageError(str(error)) from error
    printing.end(report, started)


def _report(
    chosen: list[Path],
    where: check_options.Where,
    running: check_options.Running,
    known: check_options.Known,
    fixing: check_options.Fixing,
) -> Report:
    """Check what is chosen, print the fixes that are exact, or write them, and say what is read besides."""
    destination = where.beside(chosen)
    baseline = Baseline.read(known.baseline) if known.baseline else None
    packages = asked()

    def read() -> list[Repository]:
        return [replace(repository, asked=packages.of) for repository in repositories_at(chosen)]

    repositories = read()
    if not {repository.path for repository in repositories} <= {*chosen, *find_ensembles(chosen[0])}:
        click.echo(f"found: {most_of([repository.shown for repository in repositories])}", err=True)
    run = running.run(where)
    report = _compared(report_on(repositories, chosen, destination, run), baseline, destination, has_run=bool(run))
    if fixing.fix:
        fixes = exact_fixes(repositories, report.faults, lambda read: report_on(read, chosen, destination).faults)
        click.echo(fixes.diff, nl=False)
        if fixing.write and fixes.faults:
            fixes.write()
            report = _compared(report_on(read(), chosen, destination), baseline, destination)
        click.echo(_of_fixes(fixes, report, fixing.write))
    declared = (packages.place for read in repositories for packages in steps_with_packages(read, destination))
    for place in dict.fromkeys(declared):
        click.echo(f"packages: those of {place}", err=True)
    if known.new_baseline:
        Baseline.of(report.faults, FilePlaces(report.roots), destination).write(known.new_baseline)
    return report


def _written(baseline: Path, report: Report) -> str:
    count, file = len(report.faults), shown(baseline)
    faults = "1 fault is" if count == 1 else f"{count:,} faults are"
    return f"{faults} in {file}; from now on: check --baseline {file}"


def _of_fixes(fixes: Fixes, report: Report, written: bool) -> str:
    count, files = len(fixes.faults), " and ".join(shown(file.path) for file in fixes.files[:3])
    faults = "1 fault" if count == 1 else f"{count:,} faults"
    left = any(fault.edits or fault.makes for fault in report.faults)
    if not count and left:
        return "no file is changed: what has an exact fix is in an archive, or the fix would collide with another"
    if not count:
        return "no fault has an exact fix: the cures are for a person to choose" if report.faults else "nothing to fix"
    more = f" and {len(fixes.files) - 3} more files" if len(fixes.files) > 3 else ""
    again = "; once more for what is left" if left else ""
    return f"fixed {faults} in {files}{more}{again}" if written else f"--write fixes {faults} in {files}{more}"


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
