"""What is said about an ensemble that was taken in: the faults of `check` as a list of what is left to do."""

from dataclasses import dataclass, field
from pathlib import Path

from triton_ensembles.check.checker import check
from triton_ensembles.check.fault import Severity
from triton_ensembles.errors import EnsembleError, shown
from triton_ensembles.paths import COMMAND
from triton_ensembles.triton.backends import KNOWN, PLATFORMS
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.targets import CPU

_MOST = 40  # lines


@dataclass
class Notes:
    """Lines for the user.

    Attributes:
        assumed: what was taken in, and what was decided.
        left: what the user has to do before it builds, or before its answers can be trusted.
    """

    assumed: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


def add_faults(notes: Notes, folder: Path, final: Path) -> None:
    """Add each error of the ensemble in ``folder``, which is going to lie at ``final``, to what is left to do."""
    try:
        report = check([folder], Destination(CPU.name))  # as a build does
    except EnsembleError as error:
        notes.left.append(error.headline)
        return
    written, place = shown(folder), shown(final)
    errors = [fault for fault in report.faults if fault.severity is Severity.ERROR]
    lines = [f"{fault.place}: {fault.message}" + (f"; {fault.cure}" if fault.cure else "") for fault in errors]
    notes.left += [line.replace(written, place) for line in lines[:_MOST]]
    if len(lines) > _MOST:
        notes.left.append(f"{len(lines) - _MOST} more errors: {COMMAND} check {final.name}")
    if report.warnings:
        count = f"{report.warnings} warning" + ("s" if report.warnings > 1 else "")
        notes.left.append(f"look at {count}: {COMMAND} check {final.name}")
