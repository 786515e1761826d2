"""The difference between what is staged of one ensemble for two targets. Nothing is built."""

import difflib
from pathlib import Path

from triton_ensembles.building.planned.fusion import Fusion, fuse
from triton_ensembles.building.planned.plan import plan_build
from triton_ensembles.building.planned.refusal import refuse_faults
from triton_ensembles.runtime.fused.plan import PLAN
from triton_ensembles.triton.model_config import CONFIG, format_config
from triton_ensembles.triton.targets import Target


def difference(folder: Path, one: Target, other: Target) -> list[str]:
    """The lines of a unified diff of what is staged for two targets. Raises :class:`EnsembleError` as a build does."""
    before, after = (_staged(folder, target) for target in (one, other))
    return list(difflib.unified_diff(before, after, one.name, other.name, lineterm="", n=3))


def _staged(folder: Path, target: Target) -> list[str]:
    """The artifacts and the configs, as lines. Raises :class:`EnsembleError` for an ensemble that is not built."""
    refuse_faults(folder, target.destination, f"{folder.name} has faults for the target {target.name}")
    plan = plan_build(folder, target)
    lines = [f"{artifact.path}  made by {artifact.maker}" for artifact in plan.artifacts]
    if target.fuses:
        return lines + _fused(fuse(plan), plan.name)
    for config in plan.configs.values():
        lines += ["", f"{config.name}/{CONFIG}", *format_config(config).splitlines()]
    return lines


def _fused(fusion: Fusion, name: str) -> list[str]:
    """The config of the one model, and what its plan says of each step."""
    lines = ["", f"{name}/{CONFIG}", *format_config(fusion.config).splitlines()]
    lines += ["", f"{name}/{fusion.version}/{PLAN}"]
    for step in fusion.models:
        inputs, outputs = (", ".join(map("=".join, names.items())) for names in (step.inputs, step.outputs))
        lines.append(f"{step.name} ({step.backend}): {inputs} -> {outputs}")
    return lines
