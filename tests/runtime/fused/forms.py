"""An ensemble staged both ways: as drawn, and fused. Packages are left out: random steps need only numpy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from triton_ensembles.building.packed.fused_staging import stage_fused
from triton_ensembles.building.packed.staging import stage
from triton_ensembles.building.planned.fusion import fuse
from triton_ensembles.building.planned.plan import plan_build
from triton_ensembles.triton.targets import CPU, fused


@dataclass(frozen=True)
class Forms:
    """Two repositories with the same ensembles."""

    drawn: Path
    fused: Path


def stage_both(folder: Path, forms: Forms) -> None:
    """Add the ensemble in ``folder`` to both."""
    stage(plan_build(folder, CPU), forms.drawn, artifacts={}, environments={})
    stage_fused_form(folder, forms.fused)


def stage_fused_form(folder: Path, repository: Path) -> None:
    plan = plan_build(folder, fused())
    packages = folder.parent / ".packages"
    packages.mkdir(exist_ok=True)
    stage_fused(plan, repository, fusion=fuse(plan), artifacts={}, packages=packages)
