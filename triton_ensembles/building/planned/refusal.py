"""Refuses what ``check`` finds faults in."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from triton_ensembles.checking.checker import Run, report_on, repositories_at
from triton_ensembles.checking.fault import Place, Severity
from triton_ensembles.checking.formats import printed
from triton_ensembles.checking.repository import Repository
from triton_ensembles.ground.errors import EnsembleError, shown
from triton_ensembles.ground.progress import Progress
from triton_ensembles.triton.destination import Destination


def refuse_faults(
    path: Path,
    destination: Destination,
    message: str,
    shown_as: Path | None = None,
    repositories: Sequence[Repository] = (),
    run: Run | None = None,
    progress: Progress | None = None,
    written_for: Mapping[Path, Path] | None = None,
) -> None:
    """Raise :class:`EnsembleError` with everything that ``check`` finds at ``path`` if there is an error. ``shown_as``:
    the path by which people know it. ``repositories``: those there, if they were read already; ``run`` runs them, and
    ``progress`` is told the warnings. ``written_for``: files that a build has written, by the user's own."""
    started = time.perf_counter()
    repositories = repositories or repositories_at([path])
    if shown_as:
        repositories = [replace(repository, shown=shown(shown_as)) for repository in repositories]
    report = report_on(repositories, [path], destination, run)
    known = {shown(written): Place(shown(by)) for written, by in (written_for or {}).items()}
    faults = (replace(fault, place=known.get(fault.place.path, fault.place)) for fault in report.faults)
    report = replace(report, faults=tuple(faults))
    if report.errors:
        raise EnsembleError(f"{message}\n{printed('text', report, time.perf_counter() - started)}")
    for fault in report.faults if progress else ():
        if progress and fault.severity is Severity.WARNING:
            progress(f"{fault.place}: warning[{fault.rule}]: {fault.message}")
