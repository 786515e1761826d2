"""Refuses what ``check`` finds faults in."""

import time
from collections.abc import Sequence
from pathlib import Path

from triton_ensembles.checking.checker import Run, report_on, repositories_at
from triton_ensembles.checking.formats import printed
from triton_ensembles.checking.repository import Repository
from triton_ensembles.ground.errors import EnsembleError, shown
from triton_ensembles.triton.destination import Destination


def refuse_faults(
    path: Path,
    destination: Destination,
    message: str,
    final_path: Path | None = None,
    repositories: Sequence[Repository] = (),
    run: Run | None = None,
) -> None:
    """Raises :class:`EnsembleError` with everything that ``check`` finds at ``path``, which will be at ``final_path``,
    if there is an error. ``repositories``: those at ``path``, if they were read already;
    ``run`` runs them."""
    started = time.perf_counter()
    report = report_on(repositories or repositories_at([path]), [path], destination, run)
    if report.errors:
        faults = printed("text", report, time.perf_counter() - started).replace(shown(path), shown(final_path or path))
        raise EnsembleError(f"{message}\n{faults}")
