"""The report on an imported ensemble: the faults that `check` finds in it."""

from dataclasses import replace
from pathlib import Path

from triton_ensembles.checking.checker import report_on, repositories_at
from triton_ensembles.checking.fault import Severity
from triton_ensembles.ground.errors import EnsembleError, shown
from triton_ensembles.ground.paths import COMMAND
from triton_ensembles.starter.project import Notes
from triton_ensembles.triton.destination import Destination

_MOST = 40  # lines


def add_faults(notes: Notes, folder: Path, final: Path, target: str) -> None:
    """Add what `check` finds in the ensemble in ``folder``, which will lie at ``final``, to what is left to do before a
    build for ``target``."""
    try:
        repositories = [replace(repository, shown=shown(final)) for repository in repositories_at([folder])]
        report = report_on(repositories, [folder], Destination(target))  # as a build does
    except EnsembleError as error:
        notes.left.append(error.headline)
        return
    errors = [fault for fault in report.faults if fault.severity is Severity.ERROR and fault.rule != "sagemaker-bls"]
    lines = [f"{fault.place}: {'; '.join(filter(None, (fault.message, fault.cure)))}" for fault in errors]
    notes.left += lines[:_MOST]
    if len(lines) > _MOST:
        notes.left.append(f"{len(lines) - _MOST} more errors: {COMMAND} check {final.name}")
    if report.warnings:
        count = f"{report.warnings} warning" + ("s" if report.warnings > 1 else "")
        notes.left.append(f"look at {count}: {COMMAND} check {final.name}")
