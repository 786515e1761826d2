"""The report on an imported ensemble: notes, and the faults that `check` finds in it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from triton_ensembles.checking.checker import report_on, repositories_at
from triton_ensembles.checking.fault import Fault, Severity
from triton_ensembles.ground.errors import EnsembleError, shown
from triton_ensembles.ground.paths import COMMAND
from triton_ensembles.triton.backends import ENSEMBLE
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.model_config import ModelConfig
from triton_ensembles.triton.model_formats import PLATFORMS, TENSORFLOW, file_of

_MOST = 40  # lines


@dataclass
class Notes:
    """Lines for the user."""

    assumed: list[str] = field(default_factory=list)  # what was imported, and what was decided
    # what the user has to do before it builds, or before its answers can be trusted
    left: list[str] = field(default_factory=list)


def add_faults(notes: Notes, folder: Path, configs: Mapping[str, ModelConfig], final: Path, target: str) -> None:
    """Add what `check` finds in the ensemble in ``folder``, which will lie at ``final``, to what is left to do before a
    build for ``target``."""
    missing = [name for name, config in configs.items() if config.platform != ENSEMBLE and not _versions(folder / name)]
    notes.left += [_missing(shown(final / name), configs[name]) for name in missing]
    try:
        repositories = [replace(repository, shown=shown(final)) for repository in repositories_at([folder])]
        report = report_on(repositories, [folder], Destination(target))  # as a build does
    except EnsembleError as error:
        notes.left.append(error.headline)
        return
    errors = [fault for fault in report.faults if _counts(fault, missing)]
    lines = [f"{fault.place}: {'; '.join(filter(None, (fault.message, fault.cure)))}" for fault in errors]
    notes.left += lines[:_MOST]
    if len(lines) > _MOST:
        notes.left.append(f"{len(lines) - _MOST} more errors: {COMMAND} check {final.name}")
    if report.warnings:
        count = f"{report.warnings} warning" + ("s" if report.warnings > 1 else "")
        notes.left.append(f"look at {count}: {COMMAND} check {final.name}")


def _missing(model: str, config: ModelConfig) -> str:
    """The line for a model without a version folder."""
    backend = config.backend or PLATFORMS.get(config.platform, "")
    known = TENSORFLOW[config.platform].file if config.platform in TENSORFLOW else file_of(backend)
    file = config.default_model_filename or known or "the file of the model"
    return f"{model}/1/{file} is missing: put it there, or let an artifact of the recipe make it"


def _versions(model: Path) -> list[Path]:
    return [path for path in model.iterdir() if path.is_dir() and path.name.strip()[:1].isdecimal()]


def _counts(fault: Fault, missing: Collection[str]) -> bool:
    """Return whether it is an error that no other line has."""
    has_no_version = fault.rule == "version-not-available" and fault.place.path.rpartition("/")[2] in missing
    return fault.severity is Severity.ERROR and fault.rule != "sagemaker-bls" and not has_no_version
