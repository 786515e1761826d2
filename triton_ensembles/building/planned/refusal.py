"""Refuses what ``check`` finds faults in."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from triton_ensembles.checking.check_report import Report
from triton_ensembles.checking.checker import Run, report_on, repositories_at
from triton_ensembles.checking.fault import Place, Severity
from triton_ensembles.checking.formats import printed
from triton_ensembles.checking.repository import Repository
from triton_ensembles.ground.errors import EnsembleError, shown
from triton_ensembles.triton.destination import Destination


def refuse_faults(
    path: Path,
    destination: Destination,
    message: str,
    known_as: Mapping[Path, Path] = {},
    repositories: Sequence[Repository] = (),
    run: Run | None = None,
) -> Report:
    """Return what ``check`` finds at ``path``, or raise :class:`EnsembleError` with all of it if there is an error.
    ``known_as``: ``path``, and files that a build has written, by the paths by which people know them.
    ``repositories``: those there, if they were read already; ``run`` runs them."""
    started = time.perf_counter()
    repositories = repositories or repositories_at([path])
    if path in known_as:
        repositories = [replace(repository, shown=shown(known_as[path])) for repository in repositories]
    report = report_on(repositories, [path], destination, run)
    known = {shown(written): Place(shown(by)) for written, by in known_as.items()}
    faults = (replace(fault, place=known.get(fault.place.path, fault.place)) for fault in report.faults)
    report = replace(report, faults=tuple(faults))
    if report.errors:
        raise EnsembleError(f"{message}\n{printed('text', report, time.perf_counter() - started)}")
    return report


def warnings_of(report: Report) -> Iterator[str]:
    """Yield a line for each warning."""
    for fault in report.faults:
        if fault.severity is Severity.WARNING:
            yield f"{fault.place}: warning[{fault.rule}]: {fault.message}"
