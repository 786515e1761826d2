"""A search, from the ensemble's folder to its report."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from triton_ensembles.building.built import Built
from triton_ensembles.building.places import Weights
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import locked, remove
from triton_ensembles.ground.progress import Progress
from triton_ensembles.measuring.perf.facts import machine, versions
from triton_ensembles.measuring.perf.sweep import Load
from triton_ensembles.measuring.tuning.bench import ServedBench
from triton_ensembles.measuring.tuning.search import Budget, Outcome, RejectedError, Search
from triton_ensembles.measuring.tuning.subject import Subject
from triton_ensembles.measuring.tuning.tuning_report import TuningReport
from triton_ensembles.measuring.tuning.variants import Variants
from triton_ensembles.server.clients import http_client


@dataclass(frozen=True)
class Limits:
    """The limits of a search: its minutes, with all loads, the most concurrent requests, and the settings that stay."""

    minutes: float
    most: int
    keep: tuple[str, ...]


def tune(
    subject: Subject, built: Built, weights: Weights, limits: Limits, *, load: Load, progress: Progress
) -> TuningReport:
    """Search for better settings of an ensemble.

    Args:
        built: its present build, of which nothing changes.

    Raises:
        EnsembleError: the present settings cannot be measured.
    """
    date, facts = datetime.now(UTC), machine()
    for line in _announced(subject, limits):
        progress(line)
    budget, python = Budget(limits.minutes * 60), str(built.manifest["python"])
    with (
        _scratch(subject, progress) as scratch,
        ServedBench(subject, Variants(subject, scratch, weights), python, load, budget, progress) as bench,
    ):
        with http_client(bench.server) as client:
            server_versions = versions(client)
        outcome = _searched(subject, bench, budget, limits.most, progress)
    return TuningReport(
        name=built.name,
        target=subject.plan.target.name,
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
        subject=subject,
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


def _announced(subject: Subject, limits: Limits) -> Iterator[str]:
    """Yield what is to be searched, and what is not."""
    yield f"goal: {subject.goal}; searching {len(subject.settings)} settings for {limits.minutes:g} minutes:"
    for setting in subject.settings:
        alternatives = (str(value) for value in setting.values if value != setting.present)
        yield f"  {setting.name}: {setting.present}, or {', '.join(alternatives)}"
    yield from subject.notes
    if not subject.examples.load:
        yield "there are no example requests, so answers are not compared, and precisions stay"


@contextlib.contextmanager
def _scratch(subject: Subject, progress: Progress) -> Iterator[Path]:
    """An empty folder that no other search of this ensemble uses; what a killed one left is removed."""
    builds, name = subject.places.build / subject.plan.target.name, subject.plan.folder.name
    folder = builds / f".{name}.tune"
    with locked(builds / f".{name}.tune.lock", progress):
        remove(folder)
        folder.mkdir(parents=True)
        try:
            yield folder
        finally:
            remove(folder)
