"""Ensembles staged as drawn and as fused. Packages are left out: the steps of these tests need only numpy."""

from pathlib import Path

from tests.files import write_files
from tests.hosting.archives import CONFIG, ensemble
from triton_ensembles.building.packed.fused_staging import stage_fused
from triton_ensembles.building.packed.staging import stage
from triton_ensembles.building.planned.fusion import fuse
from triton_ensembles.building.planned.plan import plan_build
from triton_ensembles.triton.targets import CPU, fused


def stage_both(folder: Path, repositories: Path) -> None:
    """Add the ensemble in ``folder`` to two repositories, ``drawn`` and ``fused``."""
    stage(plan_build(folder, CPU), repositories / "drawn", artifacts={}, environments={})
    stage_fused_form(folder, repositories / "fused")


def stage_fused_form(folder: Path, repository: Path) -> None:
    plan = plan_build(folder, fused())
    packages = folder.parent / ".packages"
    packages.mkdir(exist_ok=True)
    stage_fused(plan, repository, fusion=fuse(plan), artifacts={}, packages=packages)


def stage_chain(folder: Path, repository: Path, instances: int = 1, weights: bytes = b"", **steps: str) -> Path:
    """Write steps, one after the other, with these model.py and weights beside the first, and stage them fused: the
    version folder."""
    files: dict[str, str | bytes] = {
        "ensemble.toml": 'description = "A chain"\n',
        "ensemble/config.pbtxt": ensemble("ensemble", *steps)["ensemble/config.pbtxt"],
        f"{next(iter(steps))}/1/weights.bin": weights,
    }
    for name, source in steps.items():
        config = CONFIG.format(name=name).replace("count: 1", f"count: {instances}")
        files |= {f"{name}/1/model.py": source, f"{name}/config.pbtxt": config}
    write_files(folder, files)
    stage_fused_form(folder, repository)
    return repository / folder.name / "1"
