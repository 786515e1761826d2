"""One search from the ensemble's folder to its report."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from triton_ensembles.building.built import Built
from triton_ensembles.building.places import Places, Weights
from triton_ensembles.building.planned.plan import BuildPlan, plan_build
from triton_ensembles.ground.errors import EnsembleError, UsageError
from triton_ensembles.ground.files import locked, remove
from triton_ensembles.ground.progress import Progress
from triton_ensembles.ground.spelling import choices
from triton_ensembles.measuring.perf.facts import machine, versions
from triton_ensembles.measuring.perf.sweep import Load
from triton_ensembles.measuring.tuning.bench import ServedBench
from triton_ensembles.measuring.tuning.edits import Files
from triton_ensembles.measuring.tuning.goal import Goal
from triton_ensembles.measuring.tuning.knobs import Knobs
from triton_ensembles.measuring.tuning.search import Budget, Outcome, RejectedError, Search
from triton_ensembles.measuring.tuning.space import Setting
from triton_ensembles.measuring.tuning.tuning_report import TuningReport
from triton_ensembles.measuring.tuning.variants import Variants
from triton_ensembles.project.examples.folder import Examples, read_examples
from triton_ensembles.server.clients import http_client
from triton_ensembles.triton.targets import Target


@dataclass(frozen=True)
class Limits:
    """The limits of a search: its minutes, with all loads, the most concurrent requests, and the settings that stay."""

    minutes: float
    most: int
    keep: tuple[str, ...]


@dataclass(frozen=True)
class Subject:
    """The ensemble that is tuned.

    Attributes:
        settings: what may be set; ``notes`` is what may not, and why.
        files: that the settings are written in, as they are now.
    """

    plan: BuildPlan
    places: Places
    goal: Goal
    examples: Examples
    settings: tuple[Setting, ...]
    notes: tuple[str, ...]
    files: Files


def read_subject(folder: Path, target: Target, places: Places, goal: Goal, keep: Sequence[str]) -> Subject:
    """The ensemble in ``folder``, before anything is built.

    Args:
        keep: settings that stay as they are: ``STEP.KEY``, or a key for all steps.

    Raises:
        EnsembleError: it cannot be read, or nothing can be set.
    """
    plan, examples = plan_build(folder, target, places.root), read_examples(folder)
    cores = len(os.sched_getaffinity(0))
    knobs = Knobs(plan, cores, goal.p99_ms, lower_precision=bool(list(examples.rows())))
    settings = _without(keep, knobs, folder)
    return Subject(plan, places, goal, examples, settings, tuple(knobs.notes), Files(plan, settings))


def tune(
    subject: Subject, built: Built, weights: Weights, limits: Limits, *, load: Load, progress: Progress
) -> TuningReport:
    """Search for better settings of an ensemble.

    Args:
        built: its present build, of which nothing changes.

    Raises:
        EnsembleError: the present settings cannot be measured.
    """
    plan, settings = subject.plan, subject.settings
    date, facts = datetime.now(UTC), machine()
    progress(f"goal: {subject.goal}; searching {len(settings)} settings for {limits.minutes:g} minutes:")
    for line in _announced(subject):
        progress(line)
    budget = Budget(limits.minutes * 60)
    with _scratch(subject.places, plan.target, plan.folder.name, progress) as scratch:
        variants = Variants(scratch, plan.folder, plan.target, subject.places, subject.files, weights)
        bench = ServedBench(
            variants,
            subject.examples,
            budget,
            scratch=scratch,
            log=subject.places.build / "tritonserver.log",
            python=str(built.manifest["python"]),
            load=load,
            progress=progress,
        )
        with bench:
            with http_client(bench.server) as client:
                server_versions = versions(client)
            outcome = _searched(subject, bench, budget, limits.most, progress)
    return TuningReport(
        name=plan.folder.name,
        target=plan.target.name,
        weights=built.weights,
        date=date.isoformat(timespec="seconds"),
        input=bench.about,
        protocol=load.protocol,
        batch=load.batch,
        seconds=load.seconds,
        minutes=limits.minutes,
        spent_minutes=round(budget.spent / 60, 2),
        machine=facts,
        versions=server_versions,
        goal=subject.goal,
        settings=settings,
        notes=subject.notes,
        outcome=outcome,
        diff=subject.files.diff(outcome.best),
    )


def _searched(subject: Subject, bench: ServedBench, budget: Budget, most: int, progress: Progress) -> Outcome:
    def timed(line: str) -> None:
        progress(f"[{budget.spent / 60:4.1f} min] {line}")

    try:
        return Search(subject.settings, subject.goal, bench, budget, most, timed).run()
    except RejectedError as error:
        message = f"the present settings cannot be measured: {error}"
        raise EnsembleError(message, path=subject.plan.folder) from error


def _announced(subject: Subject) -> Iterator[str]:
    """Yield what is to be searched, and what is not."""
    for setting in subject.settings:
        alternatives = (str(value) for value in setting.values if value != setting.present)
        yield f"  {setting.name}: {setting.present}, or {', '.join(alternatives)}"
    yield from subject.notes
    if not subject.examples.load:
        yield "there are no example requests, so answers are not compared, and precisions stay"


def _without(keep: Sequence[str], knobs: Knobs, folder: Path) -> tuple[Setting, ...]:
    """The settings without those in ``keep``."""
    known = {name for setting in knobs.settings for name in (setting.name, setting.key)}
    for name in keep:
        if name not in known:
            message = f"there is no setting {name!r} to keep"
            raise UsageError(message, path=folder, cure=f"there are {choices(known)}")
    settings = tuple(setting for setting in knobs.settings if not {setting.name, setting.key} & set(keep))
    if not settings:
        raise EnsembleError("there is nothing to search: no setting has a second value", path=folder)
    return settings


@contextlib.contextmanager
def _scratch(places: Places, target: Target, name: str, progress: Progress) -> Iterator[Path]:
    """An empty folder that no other search of this ensemble uses; what a killed one left is removed."""
    folder = places.build / target.name / f".{name}.tune"
    with locked(places.build / target.name / f".{name}.tune.lock", progress):
        remove(folder)
        folder.mkdir(parents=True)
        try:
            yield folder
        finally:
            remove(folder)
